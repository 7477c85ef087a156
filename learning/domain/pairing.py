"""Find which of the lines that went are older versions of which of the lines that came."""

from collections.abc import Sequence

import regex
from rapidfuzz.distance import Indel

from learning.domain import inline, words

_PAIRS = 40_000  # lines compared with lines at once; a larger block is cut into parts of about this size
_BLOCK = 40_000_000  # beyond so many possible pairs a block is not paired at all
_SAMPLE = 300  # words of a line that are looked at
_FLOOR = 0.25  # of the words; lower than `inline.ALIKE`, which then decides on the characters
_GROWN = 0.5  # how alike a line is to one that begins or ends with it
_BLANK = 0.2  # how alike two blank lines of different white space are: enough to pair, too little to pull others apart

_WORDY = regex.compile(r"\w")


def pair(was: Sequence[str], now: Sequence[str]) -> list[tuple[int, int]] | None:
    """Pair the lines of `was` with the most similar lines of `now`, in order and without crossing.

    Returns positions, ascending on both sides; a line without a similar one is in no pair. None means that the block is
    too large to look.
    """
    if len(was) == len(now) == 1:
        return [(0, 0)]
    cells = len(was) * len(now)
    if cells > _BLOCK:
        return None
    parts = -(-cells // _PAIRS)
    pairs: list[tuple[int, int]] = []
    old, new = _signs(was, now)
    for part in range(parts):
        rows = range(len(was) * part // parts, len(was) * (part + 1) // parts)
        columns = range(len(now) * part // parts, len(now) * (part + 1) // parts)
        scores = [[_similarity(was[i], now[j], old[i], new[j]) for j in columns] for i in rows]
        pairs += [(rows[i], columns[j]) for i, j in _best(scores)]
    return pairs


def _signs(was: Sequence[str], now: Sequence[str]) -> tuple[list[str], list[str]]:
    """Write each line as a string with one character per word, the same for the same word."""
    numbers: dict[str, int] = {}

    def sign(line: str) -> str:
        pieces = [piece for piece in words.tokens(line) if not piece.isspace()]
        chosen = [piece for piece in pieces if _WORDY.search(piece)] or pieces
        return "".join(chr(numbers.setdefault(piece, len(numbers))) for piece in chosen[:_SAMPLE])

    return [sign(line) for line in was], [sign(line) for line in now]


def _similarity(was: str, now: str, old: str, new: str) -> float:
    """Say how alike two lines are, 0 to 1, by the words `old` and `new` they hold; 0 when below the floor."""
    if not old and not new:
        return _BLANK
    if not old or not new:
        return 0.0
    score = Indel.normalized_similarity(old, new, score_cutoff=_FLOOR)
    if score < _GROWN:
        short, long = sorted((was.strip(), now.strip()), key=len)
        if len(short) >= inline.KEPT_WHOLE and (long.startswith(short) or long.endswith(short)):
            return _GROWN
    return score


def _best(scores: list[list[float]]) -> list[tuple[int, int]]:
    """Choose the cells, going down and right only, with the greatest sum."""
    width = len(scores[0]) if scores else 0
    best = [[0.0] * (width + 1)]  # best[i][j]: the sum for the first i rows and j columns
    for row in scores:
        above, line, left = best[-1], [0.0], 0.0
        for column, score in enumerate(row):
            left = max(left, above[column + 1], above[column] + score)
            line.append(left)
        best.append(line)
    chosen: list[tuple[int, int]] = []
    i, j = len(scores), width
    while i and j:
        if best[i][j] == best[i - 1][j]:
            i -= 1
        elif best[i][j] == best[i][j - 1]:
            j -= 1
        else:
            i, j = i - 1, j - 1
            chosen.append((i, j))
    return chosen[::-1]
