"""The changed regions of a comparison, as line numbers alone."""

from dataclasses import dataclass

from learning.domain.diff import Comparison


@dataclass(frozen=True, slots=True)
class Hunk:
    """A run of changed lines: where it starts in either text and how many lines it has there.

    Lines count from 1. Where one side has none, its start is the line after which the others stand, 0 for the top.
    """

    was_start: int
    was_lines: int
    now_start: int
    now_lines: int


def hunks(comparison: Comparison) -> list[Hunk]:
    """The changed regions in order, without any text. Between two of them is at least one unchanged line."""
    found: list[Hunk] = []
    was = now = was_lines = now_lines = 0  # lines passed; lines of the region at hand

    def close() -> None:
        if was_lines or now_lines:
            starts = (was - was_lines + (was_lines > 0), now - now_lines + (now_lines > 0))
            found.append(Hunk(starts[0], was_lines, starts[1], now_lines))

    for row in comparison.rows:
        if row.kind == "same":
            close()
            was_lines = now_lines = 0
        else:
            was_lines += row.was is not None
            now_lines += row.now is not None
        was += row.was is not None
        now += row.now is not None
    close()
    return found
