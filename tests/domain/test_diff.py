"""The comparison of two texts, as the review page draws it."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learning.domain import align, diff
from learning.domain.diff import Comparison, Fold, Lines, Row, Side, compare

EDITS = Path(__file__).parents[3] / "shared" / "data" / "prompt_edits.jsonl"
LINES = [
    "",
    "  ",
    "# Head",
    "Be kind.",
    "Be very kind.",
    "Answer in three short sentences.",
    "请用中文回答。",
    "e\u0301 👩\u200d🚒",
]
TEXTS = st.lists(st.one_of(st.sampled_from(LINES), st.text("ab c.", max_size=12)), max_size=25).map("\n".join)


def marked(comparison: Comparison) -> list[str]:
    """Write the changed rows as text: [-removed-] and {+added+}."""
    shapes = {"same": "%s", "del": "[-%s-]", "ins": "{+%s+}"}
    return [
        "".join(shapes[segment.kind] % segment.text for segment in side.segments)
        for row in comparison.rows
        if row.kind != "same"
        for side in (row.was, row.now)
        if side
    ]


def kinds(side: Side | None) -> set[str]:
    """Return the kinds of segments on a side; a segment is never empty."""
    segments = side.segments if side else ()
    assert all(segment.text for segment in segments)
    return {segment.kind for segment in segments}


def check_row(row: Row) -> None:
    """Assert that a row has the sides and the segments of its kind."""
    was, now = kinds(row.was), kinds(row.now)
    assert (row.was is None) == (row.kind == "add")
    assert (row.now is None) == (row.kind == "cut")
    if row.kind in ("same", "edit"):
        assert row.was
        assert row.now
        assert (row.was.text == row.now.text) == (row.kind == "same")
    if row.kind == "edit" and row.was and row.was.text.strip():
        assert "same" in was & now
    allowed = {"same": "same", "edit": "same del ins", "cut": "del", "add": "ins"}[row.kind].split()
    assert was <= {*allowed} - {"ins"}
    assert now <= {*allowed} - {"del"}


def check(before: str, after: str, comparison: Comparison) -> None:
    """Assert everything that holds for every comparison."""
    rows = list(comparison.rows)
    was, now = [row.was for row in rows if row.was], [row.now for row in rows if row.now]
    assert "\n".join(side.text for side in was) == before
    assert "\n".join(side.text for side in now) == after
    assert [side.number for side in was] == list(range(1, len(was) + 1))
    assert [side.number for side in now] == list(range(1, len(now) + 1))
    starts = []
    for at, row in enumerate(rows):
        check_row(row)
        if row.kind != "same" and (at == 0 or rows[at - 1].kind == "same"):
            starts.append(row.change)
        else:
            assert row.change is None
    assert starts == list(range(1, comparison.changes + 1))
    assert comparison.added == sum(row.kind in ("add", "edit") for row in rows)
    assert comparison.removed == sum(row.kind in ("cut", "edit") for row in rows)
    assert comparison.identical == (before == after) == (not comparison.changes)
    assert len(comparison.overview) == min(len(rows), 55)
    assert all(row.kind == "same" for block in comparison.blocks if block.folded for row in block.rows)


@given(TEXTS, TEXTS, st.integers(0, 4))
def test_both_texts_come_back_and_every_row_is_well_formed(before: str, after: str, context: int) -> None:
    check(before, after, compare(before, after, context=context))


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_comes_back(before: str, after: str) -> None:
    check(before, after, compare(before, after))


@pytest.mark.skipif(not EDITS.exists(), reason="the collected edits are not here")
def test_real_edits_come_back_and_are_not_coarse() -> None:
    edits = [json.loads(line) for line in EDITS.read_text(encoding="utf-8").splitlines()]
    assert len(edits) == 98
    for edit in edits:
        comparison = compare(edit["current"], edit["proposed"])
        check(edit["current"], edit["proposed"], comparison)
        assert not comparison.coarse


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (
            "<!-- Last Modified: 2026-01-22 -->",
            "<!-- Last Modified: 2026-02-13 -->",
            ["<!-- Last Modified: 2026-[-01-22-] -->", "<!-- Last Modified: 2026-{+02-13+} -->"],
        ),
        (
            "In Star Trek. Your task is to gather facts, tradeoffs, and budget-conscious alternatives.",
            "In Star Trek. Gather facts, tradeoffs, budget-conscious alternatives, and realistic plans.",
            [
                "In Star Trek. [-Your task is to gather-] facts, tradeoffs, [-and -]budget-conscious alternatives.",
                "In Star Trek. {+Gather+} facts, tradeoffs, budget-conscious alternatives{+, and realistic plans+}.",
            ],
        ),
        (
            "如果客户询问退款，请先核对订单编号，再说明退款需要五个工作日。",
            "如果客户询问退款，请先核对订单编号和购买日期，再说明退款需要七个工作日，节假日顺延。",
            [
                "如果客户询问退款，请先核对订单编号，再说明退款需要[-五-]个工作日。",
                "如果客户询问退款，请先核对订单编号{+和购买日期+}，再说明退款需要{+七+}个工作日{+，节假日顺延+}。",
            ],
        ),
        (
            "あなたは日本語で答えるサポート担当です。",
            "あなたは英語で丁寧に答えるカスタマーサポート担当です。",
            [
                "あなたは[-日本-]語で答える[-サポート-]担当です。",
                "あなたは{+英+}語で{+丁寧に+}答える{+カスタマーサポート+}担当です。",
            ],
        ),
        (
            "أجب بالعربية الفصحى المبسطة، وحافظ على الأسماء.",
            "أجب بالعربية الفصحى المبسطة وبجمل قصيرة، وحافظ على الأسماء.",
            [
                "أجب بالعربية الفصحى المبسطة، وحافظ على الأسماء.",
                "أجب بالعربية الفصحى المبسطة{+ وبجمل قصيرة+}، وحافظ على الأسماء.",
            ],
        ),
        ("Un cafe noir", "Un cafe\u0301 noir", ["Un [-cafe-] noir", "Un {+cafe\u0301+} noir"]),
        (
            "Sign with 👩\u200d🚒 always",
            "Sign with 👩\u200d🔬 always",
            ["Sign with [-👩\u200d🚒-] always", "Sign with {+👩\u200d🔬+} always"],
        ),
        ("| Router | 250 |", "| Router | 300 | new |", ["| Router | [-250-] |", "| Router | {+300 | new+} |"]),
        (
            "    return kb.search(query, limit=5)",
            "    return kb.find(query, limit=10)",
            ["    return [-kb.search-](query, limit=[-5-])", "    return {+kb.find+}(query, limit={+10+})"],
        ),
        ("Be brief.", "Be brief.  ", ["Be brief.", "Be brief.{+  +}"]),
    ],
)
def test_the_marks_read_well(before: str, after: str, expected: list[str]) -> None:
    assert marked(compare(before, after)) == expected


def test_a_space_between_two_changed_words_is_marked_with_them() -> None:
    assert marked(compare("We offer short answers to all.", "We offer long replies to all.")) == [
        "We offer [-short answers-] to all.",
        "We offer {+long replies+} to all.",
    ]


def test_an_invisible_character_that_stays_is_not_marked_as_new() -> None:
    assert marked(compare("It weighs 10\u00a0kg now", "It weighs 12\u00a0lb now")) == [
        "It weighs [-10-]\u00a0[-kg-] now",
        "It weighs {+12+}\u00a0{+lb+} now",
    ]


def test_lines_that_share_too_little_are_a_removal_and_an_addition() -> None:
    comparison = compare("Never mention prices to anyone.", "Always greet people in their own language first.")
    assert [row.kind for row in comparison.rows] == ["cut", "add"]


def test_a_line_that_only_grew_is_still_that_line() -> None:
    before = "Answer politely."
    after = before + " Then" + " offer a long list of further ideas" * 5
    assert [row.kind for row in compare(before, after).rows] == ["edit"]
    assert [row.kind for row in compare(f"zz\n{before}", f"{after}\nqq").rows] == ["cut", "edit", "add"]


def test_versions_of_lines_find_one_another_inside_a_block() -> None:
    before = "Say hello to the customer.\nClose with a polite greeting."
    after = "Completely unrelated text.\nSay good morning to the customer.\nClose with a short polite greeting."
    rows = list(compare(before, after).rows)
    assert [row.kind for row in rows] == ["add", "edit", "edit"]
    assert [row.change for row in rows] == [1, None, None]


def test_a_new_section_starts_at_its_heading() -> None:
    before = "# One\n\ntext\n\n# Three\n\nend"
    after = "# One\n\ntext\n\n# Two\n\nmore\n\n# Three\n\nend"
    added = [row.now.text for row in compare(before, after).rows if row.kind == "add" and row.now]
    assert added == ["# Two", "", "more", ""]


@pytest.mark.parametrize(
    ("before", "after", "kinds"),
    [
        ("a", "a\n", ["same", "add"]),
        ("a\n", "a", ["same", "cut"]),
        ("a\n\n", "a\n", ["same", "same", "cut"]),
        ("", "a\nb", ["add", "add"]),
        ("a\nb", "", ["cut", "cut"]),
        ("", "", []),
        ("a\u2028b\x0bc", "a\u2028b\x0bc\r", ["edit"]),
    ],
)
def test_only_newlines_end_lines_and_the_last_one_is_visible(before: str, after: str, kinds: list[str]) -> None:
    comparison = compare(before, after)
    assert [row.kind for row in comparison.rows] == kinds
    check(before, after, comparison)


def test_white_space_alone_is_told() -> None:
    assert compare("a b\n", "a  b").whitespace_only
    assert [row.kind for row in compare("a\n  \nb", "a\n\t\nb").rows] == ["same", "edit", "same"]
    assert not compare("a b", "a c").whitespace_only
    assert not compare("a", "a").whitespace_only
    assert not compare("ab", "a\u200bb").whitespace_only


def shape(comparison: Comparison) -> list[tuple[str, int]]:
    return [("fold" if block.folded else "lines", len(block.rows)) for block in comparison.blocks]


def test_unchanged_lines_are_folded_but_for_the_context() -> None:
    lines = [f"line {number}" for number in range(30)]
    changed = [*lines[:10], "something else", *lines[11:]]
    assert shape(compare("\n".join(lines), "\n".join(changed))) == [("fold", 7), ("lines", 8), ("fold", 16)]
    assert shape(compare("\n".join(lines), "\n".join(changed), context=0)) == [("fold", 10), ("lines", 2), ("fold", 19)]
    assert shape(compare("\n".join(lines), "\n".join(lines))) == [("fold", 30)]


@pytest.mark.parametrize(("between", "expected"), [(7, [("lines", 9)]), (8, [("lines", 4), ("fold", 2), ("lines", 4)])])
def test_a_single_line_is_not_folded(between: int, expected: list[tuple[str, int]]) -> None:
    middle = [f"line {number}" for number in range(between)]
    before, after = "\n".join(["", *middle, ""]), "\n".join([" ", *middle, " "])
    assert shape(compare(before, after)) == expected


def test_a_fold_names_the_headings_inside() -> None:
    hidden = ["## Tone ##", "```", "# no heading", "~~~", "```", "#tag", "####### deep", "   ### Rules", "    # code"]
    hidden += ["x", "y", "z"]
    comparison = compare("\n".join([*hidden, "end"]), "\n".join([*hidden, "fin"]))
    fold, lines = comparison.blocks
    assert isinstance(fold, Fold)
    assert isinstance(lines, Lines)
    assert fold.headings == ("Tone", "Rules")


def test_the_overview_loses_no_change() -> None:
    lines = [f"line {number}" for number in range(1000)]
    changed = list(lines)
    changed[500] = "line five hundred"
    del changed[900]
    changed.insert(100, "new")
    overview = compare("\n".join(lines), "\n".join(changed)).overview
    assert len(overview) == 55
    assert sorted(set(overview)) == ["add", "both", "cut", "rest"]
    assert compare("a\nb c", "a\nb d").overview == ("rest", "both")


def test_very_long_lines_keep_word_marks() -> None:
    words = [f"w{number**3 % 15_485_863 % 5000}" for number in range(20_000)]
    before = " ".join(words)
    after = "First " + " ".join(words[:10_000]) + " inserted " + " ".join(words[10_000:]) + " last"
    assert len(before) > 100_000
    comparison = compare(before, after)
    sides = [row.now for row in comparison.rows if row.now]
    inserted = [segment.text for side in sides for segment in side.segments if segment.kind == "ins"]
    assert inserted == ["First ", "inserted ", " last"]
    assert not comparison.coarse


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a\nb\n" * 25_000, "b\na\n" * 25_000),
        ("a b " * 30_000, "b a " * 30_000),
        ("\n".join(f"k {n} a" for n in range(9000)), "\n".join(f"k {n} b" for n in range(9000))),
        ("x" * (diff.LONGEST + 1) + "\nsame\ny", "z\nsame\ny"),
    ],
)
def test_what_is_too_large_is_shown_as_replaced_with_a_note(before: str, after: str) -> None:
    comparison = compare(before, after)
    rows = list(comparison.rows)
    assert "\n".join(row.was.text for row in rows if row.was) == before
    assert "\n".join(row.now.text for row in rows if row.now) == after
    assert comparison.coarse


def test_the_bounds_are_those_that_were_measured() -> None:
    assert (align.CELLS_PER_BLOCK, align.CELLS_IN_ALL, diff.LONGEST) == (200_000_000, 400_000_000, 262_144)
