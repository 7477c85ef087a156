"""What the review pages accept. The rules are the services'; here text becomes clean values."""

from typing import Any

from django import forms

from personas.domain.text import MAX_INSTRUCTIONS


def text_field(**options: Any) -> forms.CharField:
    """A text that is kept to the letter: no stripping. The service checks its length and characters."""
    return forms.CharField(strip=False, **options)


class ApproveForm(forms.Form):
    expected_revision = forms.IntegerField(min_value=1)
    seen_sha256 = forms.RegexField(r"\A[0-9a-f]{64}\Z")
    seen_invisible = forms.BooleanField(required=False)
    note = forms.CharField(required=False, max_length=5000)


class NoteForm(forms.Form):
    note = forms.CharField(max_length=5000, error_messages={"required": "Write a sentence first."})


class RejectForm(NoteForm):
    seen_sha256 = forms.RegexField(r"\A[0-9a-f]{64}\Z")


class MergeForm(forms.Form):
    expected_revision = forms.IntegerField(min_value=1)
    instructions = text_field(error_messages={"required": "Write the merged text first."})


class ProposeForm(forms.Form):
    base_revision = forms.IntegerField(min_value=1)
    instructions = text_field(
        error_messages={"required": f"Write something: between 1 and {MAX_INSTRUCTIONS:,} characters."}
    )
    note = forms.CharField(required=False, max_length=5000)


class ReasonForm(forms.Form):
    expected_revision = forms.IntegerField(min_value=1)
    seen_invisible = forms.BooleanField(required=False)
    note = forms.CharField(required=False, max_length=2000)


def first_error(form: forms.Form) -> tuple[str, str]:
    """The first field at fault and its message."""
    name, messages = next(iter(form.errors.items()))
    return name, str(messages[0])
