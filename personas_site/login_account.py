"""A person's own pages: the account, the password, the second factor."""

import re
from typing import Any

import segno
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth import views as auth
from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils.safestring import SafeString
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from personas.domain.errors import Refused
from personas.http import actor_of
from personas.models import User
from personas.services import second_factor
from personas.services.passwords import change_password, reset_password
from personas_site.login import proves, safe_next
from personas_site.login_forms import CodeForm, ForgottenForm, ProofForm
from personas_site.login_limits import actor_for, count_failure, is_locked_out, person_of
from personas_site.login_proof import note_proof, open_without_second_factor, owes_second_factor

NEW_KEY = "new_second_factor"  # in the session, until a code proves that the app has it
RECOVERY_CODE = re.compile(r"[a-z2-7]{4}(?:-[a-z2-7]{4}){3}")
WRONG_PROOF = "This is neither your password nor a code that works now."


@require_safe
def account(request: HttpRequest) -> HttpResponse:
    """Who I am here, and how I log in."""
    context = {
        "section": "account",
        "has_factor": second_factor.has_second_factor(person_of(request)),
        "needs_factor": second_factor.needs_second_factor(person_of(request)),
    }
    return render(request, "accounts/me.html", context)


@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def password(request: HttpRequest) -> HttpResponse:
    """Change the password. Other sessions of the person end, this one goes on."""
    person, fault = person_of(request), None
    form = PasswordChangeForm(person, request.POST or None)
    if request.method == "POST":
        if is_locked_out(request, person):
            return HttpResponse(status=429)
        if form.is_valid():
            change_password(person, form.cleaned_data["new_password1"], actor=actor_of(request))
            update_session_auth_hash(request, person)
            messages.success(request, "The password is changed. Everywhere else you are logged out.")
            return redirect("account")
        if form.has_error("old_password", "password_incorrect"):
            count_failure(request, person)
        fault = next(iter(form.errors.values()))[0]
    return render(
        request, "accounts/password.html", {"section": "account", "fault": fault}, status=422 if fault else 200
    )


class PasswordForgotten(auth.PasswordResetView):
    """Asks for the address and sends a link there. The answer is the same for an address nobody has."""

    form_class = ForgottenForm
    template_name = "accounts/forgotten.html"
    subject_template_name = "accounts/reset_subject.txt"
    email_template_name = "accounts/reset_mail.txt"
    success_url = reverse_lazy("password_reset_done")

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "request": self.request}


class PasswordReset(auth.PasswordResetConfirmView):
    """A new password for who followed the link. It works once, and ends every session of the person."""

    template_name = "accounts/reset.html"
    success_url = reverse_lazy("login")

    def get_user(self, uidb64: str) -> User | None:
        """Whose link it is; of an account that was stopped meanwhile the link does not work."""
        person: User | None = super().get_user(uidb64)
        return person if person is not None and person.is_active else None

    def form_valid(self, form: "SetPasswordForm[Any]") -> HttpResponse:
        person = self.user
        assert person is not None
        reset_password(person, form.cleaned_data["new_password1"], actor=actor_for(self.request, person))
        self.request.session.flush()
        messages.success(self.request, "The password is changed. Log in with the new one.")
        return redirect(self.get_success_url())


@open_without_second_factor
@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def two_factor(request: HttpRequest) -> HttpResponse:
    """The state of the second factor; or, without one, the QR code and the form that set it up."""
    if second_factor.has_second_factor(person_of(request)):
        return redirect("login_code") if owes_second_factor(request) else _state(request)
    return _enrol(request, replace=False)


@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def two_factor_move(request: HttpRequest) -> HttpResponse:
    """Move to another app or phone: the same form, which asks for the password or a code of the old one as well."""
    if not second_factor.has_second_factor(person_of(request)):
        return redirect("two_factor")
    return _enrol(request, replace=True)


@sensitive_post_parameters("proof")
@never_cache
@require_POST
def two_factor_codes(request: HttpRequest) -> HttpResponse:
    """Replace the recovery codes, after the password or a code."""
    if not second_factor.has_second_factor(person_of(request)):
        return redirect("two_factor")
    fault = _proof_fault(request)
    if fault is not None:
        return _state(request, fault, at="codes")
    codes = second_factor.renew_recovery_codes(person_of(request), actor=actor_of(request))
    return _codes(request, codes, "The old recovery codes no longer work.")


@sensitive_post_parameters("proof")
@never_cache
@require_POST
def two_factor_off(request: HttpRequest) -> HttpResponse:
    """Turn the second factor off, after the password or a code."""
    if not second_factor.has_second_factor(person_of(request)):
        return redirect("two_factor")
    if second_factor.needs_second_factor(person_of(request)):  # said before anything is asked of the person
        second_factor.disable_second_factor(person_of(request), actor=actor_of(request))
    fault = _proof_fault(request)
    if fault is not None:
        return _state(request, fault, at="off")
    second_factor.disable_second_factor(person_of(request), actor=actor_of(request), keep=_session(request))
    request.session.cycle_key()
    note_proof(request, "")
    messages.success(request, "Two-factor log-in is off. The password alone lets you in.")
    return redirect("two_factor")


@sensitive_post_parameters()
@never_cache
@require_POST
def two_factor_file(request: HttpRequest) -> HttpResponse:
    """The recovery codes that the page has just shown, as a file: it sends them, since they are not kept here."""
    codes = [code for code in request.POST.getlist("code") if RECOVERY_CODE.fullmatch(code)]
    lines = [
        f"Recovery codes of {person_of(request).username} at {request.get_host()}. Each works once.",
        "",
        *codes,
        "",
    ]
    response = HttpResponse("\r\n".join(lines), content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="recovery-codes.txt"'
    return response


def _enrol(request: HttpRequest, *, replace: bool) -> HttpResponse:
    key = request.session.setdefault(NEW_KEY, second_factor.new_key())
    if request.method != "POST":
        return _set_up(request, key, replace=replace)
    fault = _proof_fault(request)
    if fault is not None:
        return _set_up(request, key, fault, at="proof", replace=replace)
    form, person = CodeForm(request.POST), person_of(request)
    try:
        code = form.cleaned_data["code"] if form.is_valid() else ""
        codes = second_factor.enable_second_factor(
            person, key, code, actor=actor_of(request), replace=replace, keep=_session(request)
        )
    except Refused as refused:
        return _set_up(request, key, refused.message, at="code", replace=replace)
    request.session.cycle_key()
    del request.session[NEW_KEY]
    note_proof(request, second_factor.factor_stamp(person))
    return _codes(request, codes, "Two-factor log-in is on.")


def _proof_fault(request: HttpRequest) -> str | None:
    """What is wrong with the password, or the code of the app that is set up so far; None if it is right."""
    form, person = ProofForm(request.POST), person_of(request)
    has_app = second_factor.has_second_factor(person)
    if not form.is_valid():
        return str(form.errors["proof"][0]) if has_app else "Type your password."
    if proves(request, person, form.cleaned_data["proof"]):
        return None
    return WRONG_PROOF if has_app else "This is not your password."


def _session(request: HttpRequest) -> str:
    return request.session.session_key or ""


def _state(request: HttpRequest, fault: str = "", at: str = "") -> HttpResponse:
    context = {
        "section": "account",
        "left": second_factor.recovery_codes_left(person_of(request)),
        "needs_factor": second_factor.needs_second_factor(person_of(request)),
        "fault": fault,
        "at": at,
    }
    return render(request, "accounts/two_factor_on.html", context, status=422 if fault else 200)


def _set_up(request: HttpRequest, key: str, fault: str = "", *, at: str = "", replace: bool = False) -> HttpResponse:
    picture = segno.make(second_factor.setup_address(person_of(request), key), error="m")
    context = {
        "section": "account",
        # Made by segno of our own address: shapes, and no style.
        "qr": SafeString(picture.svg_inline(scale=4, dark="#000", light="#fff", omitsize=True)),
        "key": second_factor.readable_key(key),
        "needs_factor": second_factor.needs_second_factor(person_of(request)),
        "next": safe_next(request),
        "issuer": settings.OTP_TOTP_ISSUER,
        "fault": fault,
        "at": at,
        "replace": replace,
    }
    return render(request, "accounts/two_factor.html", context, status=422 if fault else 200)


def _codes(request: HttpRequest, codes: list[str], what: str) -> HttpResponse:
    context = {"section": "account", "codes": codes, "what": what, "next": safe_next(request)}
    return render(request, "accounts/two_factor_codes.html", context)
