"""Pages for what went wrong. They say what to do, and lose nothing that was typed."""

from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

# Never shown back: they are secrets, or mean nothing to a person.
NOT_TYPED = {"csrfmiddlewaretoken", "password", "seen_sha256", "expected_revision", "base_revision", "next"}
NOT_TYPED |= {"code", "proof", "old_password", "new_password1", "new_password2"}


def typed_texts(request: HttpRequest, status: int) -> list[str]:
    """What a person had written in the form that could not be taken."""
    if request.method != "POST" or status == 413:
        return []
    return [str(value) for name, value in request.POST.items() if name not in NOT_TYPED and len(str(value)) > 3]


def page(request: HttpRequest, status: int, title: str, what: str) -> HttpResponse:
    context = {"title": title, "what": what, "typed": typed_texts(request, status), "status": status}
    return render(request, "error.html", context, status=status)


def bad_request(request: HttpRequest, exception: Any = None) -> HttpResponse:
    if isinstance(exception, RequestDataTooBig):
        most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE // 1024 // 1024
        what = f"More than {most} MB were sent, and nothing of it was read. Go back and shorten the text."
        return page(request, 413, "Too much at once", what)
    return page(request, 400, "Not understood", "What was sent is not what a browser sends. Go back and try again.")


def not_found(request: HttpRequest, exception: Any = None) -> HttpResponse:
    return page(
        request, 404, "Nothing here", "This page does not exist, or it belongs to a tenant that you may not see."
    )


def forbidden(request: HttpRequest, exception: Any = None) -> HttpResponse:
    return page(request, 403, "Not permitted", str(exception or "") or "You may look at this, but not do that.")


def broken(request: HttpRequest) -> HttpResponse:
    ident = getattr(request, "request_id", "")
    return page(request, 500, "Something broke", f"It is our fault, and it is logged. If you report it, name {ident}.")


@login_not_required
def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return page(
        request,
        403,
        "This form is too old",
        "You logged in or out since the page was loaded, so it was not sent. Load the page again and send it anew.",
    )
