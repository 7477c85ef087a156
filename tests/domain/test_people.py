"""What an account may be called."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from personas.domain.people import clean_address, clean_person_name, clean_username, former_names
from personas.domain.text import TextFault


@given(st.text(max_size=60))
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    for clean in (clean_address, clean_username, clean_person_name):
        try:
            once = clean(text)
        except TextFault:
            continue
        assert clean(once) == once


@given(st.text(max_size=60))
def test_an_address_has_one_spelling(text: str) -> None:
    try:
        clean = clean_address(text)
    except TextFault:
        return
    assert clean_address(unicodedata.normalize("NFD", text)) == clean
    assert clean == clean.strip() and not [c for c in clean if unicodedata.category(c) in ("Cc", "Cf")]


@pytest.mark.parametrize(("text", "clean"), [
    (" Ada@Example.TEST ", "ada@example.test"), ("A\u0301@x.test", "\u00e1@x.test"),
])  # fmt: skip
def test_addresses(text: str, clean: str) -> None:
    assert clean_address(text) == clean


@pytest.mark.parametrize(("name", "code"), [
    ("a@b", "at_sign"), ("a\uff20b", "at_sign"),
    ("svc-x", "reserved"), ("SVC-x", "reserved"), ("former-member-1", "reserved"),
    ("ｓvc-x", "reserved"), ("a\u200db", "invisible_character"), ("a\nb", "control_character"), ("", "empty"),
])  # fmt: skip
def test_user_names_that_are_kept_or_hidden(name: str, code: str) -> None:
    with pytest.raises(TextFault) as fault:
        clean_username(name)
    assert fault.value.code == code


@pytest.mark.parametrize("name", ["svc-", "runtime", "former-member-1", "asvc-x"])
def test_a_service_account_has_its_prefix(name: str) -> None:
    with pytest.raises(TextFault):
        clean_username(name, prefix="svc-")
    assert clean_username("svc-x", prefix="svc-") == "svc-x"


@given(st.integers(1, 10**9))
def test_nobody_chooses_the_name_of_a_former_member(number: int) -> None:
    username, name = former_names(number)
    for clean, taken in ((clean_username, username), (clean_person_name, name), (clean_person_name, name.title())):
        with pytest.raises(TextFault):
            clean(taken)
