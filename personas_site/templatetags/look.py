"""What templates draw again and again."""

from datetime import UTC, datetime

from django import template
from django.templatetags.static import static
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag
def icon(name: str, width: int = 16, height: int = 16) -> SafeString:
    """One icon of the sheet; it never stands alone, so it is hidden from screen readers."""
    return format_html(
        '<svg width="{}" height="{}" aria-hidden="true"><use href="{}#{}"/></svg>',
        width,
        height,
        static("icons.svg"),
        name,
    )


@register.filter
def initials(name: str) -> str:
    """At most two letters that stand for a name."""
    words = str(name).replace("-", " ").replace("_", " ").split()
    return "".join(word[0] for word in words[:2]).upper() or "?"


@register.filter
def ago(moment: datetime | None) -> str:
    """How long ago, short: 14 min, 5 h, yesterday, 3 days, else the date."""
    if moment is None:
        return ""
    seconds = (timezone.now() - moment).total_seconds()
    if seconds < 60:
        return "just now"
    if seconds < 3600:
        return f"{int(seconds // 60)} min"
    if seconds < 86_400:
        return f"{int(seconds // 3600)} h"
    if seconds < 172_800:
        return "yesterday"
    if seconds < 2_592_000:
        return f"{int(seconds // 86_400)} days"
    return f"{moment:%-d %b %Y}"


@register.simple_tag
def moment(at: datetime) -> SafeString:
    """A time element the other way round: the exact time (UTC) to read, how long ago on hover. For records."""
    exact = f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
    return format_html('<time datetime="{}" title="{}">{}</time>', at.isoformat(timespec="seconds"), ago(at), exact)


@register.simple_tag
def when(moment: datetime | None, short: bool = False) -> SafeString:
    """A time element: how long ago to read, the exact time (UTC) on hover and for machines.

    ``short`` leaves out the word "ago", for columns and rows.
    """
    if moment is None:
        return SafeString("")
    words = ago(moment)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        moment.isoformat(timespec="seconds"),
        f"{moment:%Y-%m-%d %H:%M:%S} UTC",
        f"{words} ago" if not short and words.endswith((" min", " h", " days")) else words,
    )
