"""The one way in: a form for name and password, a second one for the code. And the way out."""

import time

from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render, resolve_url
from django.urls import reverse
from django.utils.crypto import constant_time_compare
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from personas import audit
from personas.models import User
from personas.services.second_factor import check_code, factor_stamp, has_second_factor, seconds_to_wait
from personas_site.login_forms import CodeForm, LogInForm
from personas_site.login_limits import actor_for, count_failure, is_locked_out, person_of
from personas_site.login_proof import note_proof, open_without_second_factor, owes_second_factor

BACKEND = "personas.permissions.PersonBackend"
PENDING = "log_in"  # in the session, between password and code
SECONDS_FOR_CODE = 600
WRONG_CODE = "This code is wrong, or was used already. Wait for the next one, or use a recovery code."


@open_without_second_factor
@login_not_required
@sensitive_post_parameters("password")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def log_in(request: HttpRequest) -> HttpResponse:
    """Ask for name and password. Who has a second factor is asked for a code before being let in."""
    wanted = safe_next(request)
    if request.user.is_authenticated:
        return HttpResponseRedirect(wanted)
    form = LogInForm(request, data=request.POST or None)
    if request.method != "POST":
        return render(request, "accounts/login.html", {"form": form, "next": wanted})
    if not form.is_valid():
        return render(request, "accounts/login.html", {"form": form, "next": wanted}, status=422)
    person = form.get_user()
    if not has_second_factor(person):
        enter(request, person, proved=False)
        return HttpResponseRedirect(wanted)
    request.session.cycle_key()
    request.session[PENDING] = {
        "person": str(person.pk),
        "password": person.get_session_auth_hash(),
        "until": time.time() + SECONDS_FOR_CODE,
    }
    return HttpResponseRedirect(f"{reverse('login_code')}?{urlencode({'next': wanted})}")


@open_without_second_factor
@login_not_required
@sensitive_post_parameters("code")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def log_in_code(request: HttpRequest) -> HttpResponse:
    """Ask who gave the right password for a code of the app, or for a recovery code."""
    person, wanted = _who_owes_a_code(request), safe_next(request)
    if person is None:
        target = wanted if request.user.is_authenticated else f"{reverse('login')}?{urlencode({'next': wanted})}"
        return HttpResponseRedirect(target)
    if is_locked_out(request, person):
        return HttpResponse(status=429)  # the middleware of axes puts the page in its place
    form = CodeForm(request.POST or None)
    fault, status = "", 200
    if request.method == "POST":
        if form.is_valid() and check_code(person, form.cleaned_data["code"], actor=actor_for(request, person)):
            enter(request, person, proved=True)
            return HttpResponseRedirect(wanted)
        fault, status = code_fault(request, person), 422
    return render(request, "accounts/code.html", {"fault": fault, "next": wanted}, status=status)


def enter(request: HttpRequest, person: User, *, proved: bool) -> None:
    """Log the person in, in a session with a new key. ``proved`` says whether a second factor was given."""
    if request.user.is_authenticated:
        request.session.cycle_key()  # Django does it for who was not logged in
    login(request, person, backend=BACKEND)
    request.session.pop(PENDING, None)
    note_proof(request, factor_stamp(person) if proved else "")
    audit.record(
        "person.logged_in", person, actor=actor_for(request, person), tenant=None, after={"second factor": proved}
    )


def code_fault(request: HttpRequest, person: User) -> str:
    """Count a wrong code, and say what to do about it."""
    count_failure(request, person)
    wait = seconds_to_wait(person)
    return f"{WRONG_CODE} The next code is taken in {wait} second{'' if wait == 1 else 's'}." if wait else WRONG_CODE


def proves(request: HttpRequest, person: User, proof: str) -> bool:
    """Whether who is logged in proves it again, by the password or by a code. A wrong proof is counted."""
    if is_locked_out(request, person):
        return False
    if person.check_password(proof) or check_code(person, proof, actor=actor_for(request, person)):
        return True
    count_failure(request, person)
    return False


def safe_next(request: HttpRequest) -> str:
    """Where the person wanted to go, if that is on this host; else the start page."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    good = url_has_allowed_host_and_scheme(
        wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return wanted if good else resolve_url(settings.LOGIN_REDIRECT_URL)


def _who_owes_a_code(request: HttpRequest) -> User | None:
    if request.user.is_authenticated:
        owes = has_second_factor(person_of(request)) and owes_second_factor(request)
        return person_of(request) if owes else None
    pending = request.session.get(PENDING) or {}
    if pending.get("until", 0) < time.time():
        return None
    person = User.objects.filter(pk=pending["person"], is_active=True, kind=User.Kind.PERSON).first()
    if person is None or not constant_time_compare(pending["password"], person.get_session_auth_hash()):
        return None
    return person
