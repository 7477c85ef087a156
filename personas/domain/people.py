"""What an account may be called: e-mail addresses, user names, and the names that are kept for special accounts."""

import re
import unicodedata

from personas.domain.text import TextFault, clean_name, shown

SERVICE_PREFIX = "svc-"
FORMER_PREFIX = "former-member-"
FORMER_NAME = "former member"
_FORMER_NAMED = re.compile(rf"{FORMER_NAME}\s*\d+", re.IGNORECASE)


def clean_address(text: str) -> str:
    """Return an e-mail address in NFC and lower case, without white space around it.

    Two spellings of one address are equal after this. Raises TextFault for an empty or too long one, and for characters
    that cannot be seen. Whether it has the form of an address is not looked at here.
    """
    return unicodedata.normalize("NFC", clean_name(text, what="e-mail address").lower())


def clean_username(text: str, *, prefix: str = "") -> str:
    """Return a user name in NFKC, so that one name has one spelling. A service account's starts with ``prefix``.

    Raises TextFault for invisible characters, for “@”, since people log in with their address too, for a name without
    its prefix, and for one that only service accounts or former members have.
    """
    name = clean_name(unicodedata.normalize("NFKC", text), what="user name")
    if "@" in name:
        raise TextFault("at_sign", "Choose a user name without “@”: the e-mail address works at the log-in as it is.")
    folded = name.casefold()
    if prefix and not (folded.startswith(prefix) and len(name) > len(prefix)):
        raise TextFault("prefix", f"Start the user name with “{prefix}” and write something behind it.")
    kept = [other for other in (SERVICE_PREFIX, FORMER_PREFIX) if other != prefix and folded.startswith(other)]
    if kept:
        raise TextFault("reserved", f"Choose another user name: {shown(name)} starts with “{kept[0]}”.")
    return name


def clean_person_name(text: str) -> str:
    """Return a display name as `clean_name` does. Raises TextFault as it does, and for the name of a former member."""
    name = clean_name(text, what="name")
    if _FORMER_NAMED.fullmatch(name):
        raise TextFault("reserved", f"Choose another name: {shown(name)} stands for somebody who was removed.")
    return name


def former_names(number: int) -> tuple[str, str]:
    """The user name and the name that a removed account gets, the ``number``-th of its kind."""
    return f"{FORMER_PREFIX}{number}", f"{FORMER_NAME} {number}"
