"""What a session proved beyond the password, and what is open before it did."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from personas.services.second_factor import factor_stamp, needs_second_factor
from personas_site.login_limits import person_of

PROVED = "second_factor"  # in the session: the stamp of the factor whose code was given
OWES = "_owes_second_factor"  # on the request: what was found out, so that it is asked once

View = Callable[..., HttpResponse]


def open_without_second_factor(view: View) -> View:
    """Marks a view that people reach before they have given a code: those that let them do so, or leave."""
    view.open_without_second_factor = True  # type: ignore[attr-defined]
    return view


def owes_second_factor(request: HttpRequest) -> bool:
    """Whether who is logged in must give a code first, or set a second factor up.

    A code counts for the factor it was given for: after another is set up, it is owed again.
    """
    if not hasattr(request, OWES):
        person = person_of(request)
        stamp = factor_stamp(person)
        owes = request.session.get(PROVED) != stamp if stamp else needs_second_factor(person)
        setattr(request, OWES, owes)
    return bool(getattr(request, OWES))


def note_proof(request: HttpRequest, stamp: str) -> None:
    """Keep in the session for which factor a code was given; the empty stamp says none was."""
    request.session[PROVED] = stamp
    if hasattr(request, OWES):
        delattr(request, OWES)
