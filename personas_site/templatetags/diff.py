"""The rows of a comparison as markup. In Python: a text of 100 kB has thousands of marks, too many for a template."""

from collections.abc import Iterable

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from learning.domain.diff import Comparison, Row, Side, compare
from learning.domain.marks import pieces, trailing

register = template.Library()


@register.filter
def seen(text: str) -> SafeString:
    """A text with every character that cannot be seen drawn as a named mark."""
    return mark_safe("".join(_pieces(text)))  # noqa: S308 - every piece is escaped


@register.simple_tag
def compared(before: str | None, after: str | None) -> Comparison:
    """The comparison of two texts, of which one may not be there."""
    return compare(before or "", after or "")


@register.filter
def join_lines(lines: Iterable[str]) -> str:
    """Lines as one text."""
    return "\n".join(lines)


@register.filter
def rows(given: Iterable[Row]) -> SafeString:
    """The list items of a diff, each side isolated for its direction."""
    return mark_safe("\n".join(map(_row, given)))  # noqa: S308 - every text in it is escaped


def _row(row: Row) -> str:
    ident = f' id="change-{row.change}"' if row.change else ""
    hidden = ' aria-hidden="true"' if row.kind == "same" else ""
    was = _side("was", row.was, row.kind, hidden) if row.was else ""
    now = _side("now", row.now, row.kind) if row.now else ""
    return f'<li class="{row.kind}"{ident}>{was}{now}</li>'


def _side(name: str, side: Side, kind: str, hidden: str = "") -> str:
    return f'<div class="{name}" data-n="{side.number}"{hidden}><bdi>{_line(side, kind)}</bdi></div>'


def _line(side: Side, kind: str) -> str:
    """One line: its segments with their marks, trailing spaces and an empty line made visible where it changed."""
    if not side.segments:
        if kind == "same":
            return ""
        mark = "ins" if kind == "add" else "del"
        return f'<{mark}><span class="space" title="empty line">¶</span></{mark}>'
    spaces = trailing(side.text) if kind != "same" else 0
    parts = []
    for index, segment in enumerate(side.segments):
        last = index == len(side.segments) - 1
        text = "".join(_pieces(segment.text, min(spaces, len(segment.text)) if last else 0))
        parts.append(text if segment.kind == "same" else f"<{segment.kind}>{text}</{segment.kind}>")
    return "".join(parts)


def _pieces(text: str, spaces: int = 0) -> Iterable[str]:
    end = text[len(text) - spaces :] if spaces else ""
    for piece in pieces(text[: len(text) - spaces]):
        ghost = piece.ghost
        if ghost is None:
            yield escape(piece.text)
        else:
            yield f'<abbr class="ghost" title="{escape(f"{ghost.code} {ghost.name}")}">{escape(ghost.label)}</abbr>'
    if end:
        plural = "space" if spaces == 1 else "spaces"
        yield f'<span class="space" title="{spaces} trailing {plural}">{"·" * spaces}</span>'
