"""Real files, what every reader does with ugly ones, and the readers of CSV and of edits."""

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from personas.domain.imports import (
    Fault,
    New,
    Notice,
    PersonaRecord,
    Reading,
    Same,
    allocate_names,
    read_csv,
    read_edits,
    read_folder,
    read_subagent,
    records,
)
from personas.domain.text import digest
from tests.domain.reports import only_fault

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the real files are not here")


def pairs(reading: Reading[PersonaRecord]) -> list[tuple[str, str]]:
    return [(record.name, record.instructions) for record in reading.records]


@needs_data
class TestRealFiles:
    def test_the_csv_file(self):
        reading = read_csv((DATA / "prompts.csv").read_bytes(), "prompts.csv")
        assert (len(reading.records), reading.faults, reading.notices) == (175, (), ())
        assert {name for name, count in Counter(name for name, _ in pairs(reading)).items() if count > 1} == {
            "Life Coach"
        }
        assert reading.records[0].name == "An Ethereum Developer"
        assert reading.records[0].line == 2

    def test_the_second_life_coach_gets_a_number(self):
        reading = read_csv((DATA / "prompts.csv").read_bytes(), "prompts.csv")
        wanted = [(name, digest(text)) for name, text in pairs(reading)]
        nothing: dict[tuple[str, str], str] = {}
        answers = [answer for answer in allocate_names(wanted, nothing, set()) if isinstance(answer, New)]
        assert [answer for answer in answers if answer.renamed_from] == [New("Life Coach (2)", "Life Coach")]
        existing = {(answer.name, text): answer.name for answer, (_, text) in zip(answers, wanted, strict=True)}
        again = allocate_names(wanted, existing, {name for name, _ in existing})
        assert again == [Same(answer.name) for answer in answers]

    def test_the_subagents(self):
        files = [(path.name, path.read_bytes()) for path in sorted((DATA / "subagents").glob("*.md"))]
        reading = read_folder(files)
        assert len(reading.records) == 26
        assert reading.faults == ()
        assert {notice.source for notice in reading.notices} == {"assumption-mapping.md", "growth-loops.md"}
        assert all("description" in notice.text and notice.line == 3 for notice in reading.notices)
        by_name = {record.name: record for record in reading.records}
        mapping = by_name["assumption-mapping"]
        assert mapping.description.endswith("'riskiest assumption', 'de-risk', 'assumption map'.")
        assert mapping.hints == {}
        researcher = by_name["scientific-literature-researcher"]
        assert researcher.tools == ("Read", "WebFetch", "WebSearch", "mcp__bgpt__search_papers")
        assert researcher.hints == {"model": "sonnet"}
        assert by_name["powershell-5.1-expert"].instructions.startswith("You are a PowerShell 5.1 specialist")
        assert "\nExamples: delve" in by_name["ai-writing-auditor"].instructions

    def test_the_edits(self):
        reading = read_edits((DATA / "prompt_edits.jsonl").read_bytes(), "prompt_edits.jsonl")
        assert (len(reading.records), reading.faults, reading.notices) == (98, (), ())
        first = reading.records[0]
        assert (first.key, first.name) == ("5fd538e27f4c", "Midjourney Prompt Generator")
        assert first.date == datetime(2022, 12, 14, 11, 41, 10, tzinfo=UTC)
        assert max(len(record.proposed) for record in reading.records) > 20_000


READERS = [read_csv, read_subagent, read_edits]


class TestEveryReader:
    @pytest.mark.parametrize("read", READERS)
    @pytest.mark.parametrize("data", [b"", b"\r\n \n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"])
    def test_an_empty_file(self, read, data):
        assert only_fault(read(data, "f")) == Fault("f", None, "The file is empty.")

    @pytest.mark.parametrize("read", READERS)
    @pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32", "utf-32-be"])
    def test_a_wide_encoding_is_named(self, read, encoding):
        fault = only_fault(read("\ufeffact,prompt\na,b\n".encode(encoding), "f"))
        assert encoding[:6].upper() in fault.reason
        assert "UTF-8" in fault.reason

    @pytest.mark.parametrize("read", READERS)
    def test_a_file_that_is_too_large_is_refused_before_it_is_read(self, read, monkeypatch):
        monkeypatch.setattr(records, "MAX_FILE_BYTES", 10)
        fault = only_fault(read(b"act,prompt\na,b", "f"))
        assert "14 bytes" in fault.reason
        assert fault.line is None

    def test_the_limit_is_64_megabytes(self):
        assert only_fault(read_csv(b"\0" * (64 * 1024**2 + 1), "f")).reason.startswith("The file has 67,108,865 bytes")

    @pytest.mark.parametrize("read", READERS)
    @given(data=st.binary(max_size=300))
    def test_no_bytes_make_a_reader_raise(self, read, data):
        reading = read(data, "f")
        assert reading.faults or reading.records or reading.notices


def csv_of(*rows: bytes, header: bytes = b"act,prompt") -> bytes:
    return b"\n".join((header, *rows))


class TestCsv:
    def test_quotes_line_ends_and_byte_order_mark(self):
        data = b'\xef\xbb\xbf"act","prompt"\r\n"A ""b""","one,\r\ntwo\rthree"\r\nPlain,"four"\r\n'
        reading = read_csv(data, "f")
        assert pairs(reading) == [('A "b"', "one,\ntwo\nthree"), ("Plain", "four")]
        assert (reading.faults, reading.notices) == ((), ())

    def test_the_line_is_where_the_row_starts(self):
        reading = read_csv(csv_of(b'a,"1\n2\n3"', b"", b' ,"  "', b"b,", b'c,"x\ny"'), "f")
        assert [record.line for record in reading.records] == [2, 8]
        assert only_fault(reading).line == 7
        assert "instructions must not be empty" in only_fault(reading).reason

    def test_columns_in_any_order_and_case_others_reported(self):
        reading = read_csv(csv_of(b"no,text,A,x", header=b"for_devs,Prompt, ACT ,type"), "f")
        assert pairs(reading) == [("A", "text")]
        assert reading.notices == (Notice("f", 1, "These columns were not read: 'for_devs', 'type'."),)

    @pytest.mark.parametrize(
        ("header", "said"),
        [
            (b"name,text", "'name', 'text'"),
            (b"act,prompt,act", "each once"),
            (b"act;prompt", "separated by ';'"),
            (b"act\tprompt", "separated by '\\t'"),
            (b"a\0c\0t\0,\0p\0r\0", "UTF-16"),
            (b"act," + b"x," * 1000, "and 982 more"),
        ],
    )
    def test_a_header_without_the_columns_is_one_fault(self, header, said):
        reading = read_csv(csv_of(b"a,b", b"c,d", header=header), "f")
        assert reading.records == ()
        assert said in only_fault(reading).reason
        assert "“act” and “prompt”" in only_fault(reading).reason
        assert only_fault(reading).line == 1

    def test_blank_lines_before_the_header(self):
        assert [record.line for record in read_csv(b"\n,\nact,prompt\na,b", "f").records] == [4]
        assert "blank rows only" in only_fault(read_csv(b",,\n,\n", "f")).reason

    def test_a_header_alone_is_said_to_be_alone(self):
        assert read_csv(b"act,prompt\n\n", "f").notices == (Notice("f", 1, "There are no rows below the header."),)

    def test_a_huge_prompt_costs_its_row_alone(self):
        reading = read_csv(csv_of(b"a,1", b'b,"' + b"x\n" * 5_000_000 + b'"', b"c,3"), "f")
        assert pairs(reading) == [("a", "1"), ("c", "3")]
        assert only_fault(reading).line == 3
        assert "10,000,000 characters" in only_fault(reading).reason

    def test_ragged_rows_cost_themselves_alone(self):
        reading = read_csv(csv_of(b"a,1", b"b", b"c,3,4", b"d,5"), "f")
        assert pairs(reading) == [("a", "1"), ("d", "5")]
        assert [(fault.line, fault.reason[:20]) for fault in reading.faults] == [
            (3, "The row has 1 fields"),
            (4, "The row has 3 fields"),
        ]

    def test_bad_bytes_and_nul_cost_their_row_alone(self):
        reading = read_csv(csv_of(b"a,caf\xe9", b"b,x\0y", b"c\0,z", b"\xed\xa0\x80,z", "d,é".encode()), "f")
        assert pairs(reading) == [("d", "é")]
        assert [fault.line for fault in reading.faults] == [2, 3, 4, 5]
        assert "0xE9 is not UTF-8" in reading.faults[0].reason
        assert "NUL" in reading.faults[1].reason

    def test_both_faults_of_a_row_are_reported(self):
        reading = read_csv(csv_of(b"\xe2\x80\x8b,\0"), "f")
        assert [fault.line for fault in reading.faults] == [2, 2]

    @pytest.mark.parametrize("row", [b'b,"never closed\nc,3', b'b,"he said "hi" to\nme", c', b'b,"text\n"c","3"'])
    def test_after_unmatched_quotes_nothing_is_guessed(self, row):
        reading = read_csv(csv_of(b"a,1", row, b"d,4"), "f")
        assert pairs(reading) == [("a", "1")]
        assert only_fault(reading).line == 3
        assert "quotes" in only_fault(reading).reason
        assert "Nothing after this was read" in only_fault(reading).reason

    def test_reports_and_records_are_bounded(self, monkeypatch):
        reading = read_csv(csv_of(*[b"x"] * 5000), "f")
        assert len(reading.faults) == records.MAX_REPORTS + 1
        assert "more than 1,000 faults" in reading.faults[-1].reason
        monkeypatch.setattr(records, "MAX_RECORDS", 3)
        reading = read_csv(csv_of(*[b"x,y"] * 5), "f")
        assert len(reading.records) == 3
        assert "more than 3 records" in only_fault(reading).reason

    @given(st.lists(st.tuples(st.text(), st.text()), max_size=4))
    def test_what_a_csv_writer_writes_is_read_or_reported(self, rows):
        cells = [
            "act,prompt",
            *(f'"{a.replace(chr(34), chr(34) * 2)}","{p.replace(chr(34), chr(34) * 2)}"' for a, p in rows),
        ]
        reading = read_csv("\n".join(cells).encode(), "f")
        blank = sum(not (act.strip() or prompt.strip()) for act, prompt in rows)
        faulty_lines = {fault.line for fault in reading.faults}
        assert len(reading.records) + len(faulty_lines) + blank == len(rows)


EDIT = {"id": "e1", "persona": "P", "date": "2026-01-31T09:30:00+02:00", "note": "", "current": "a", "proposed": "b"}


def edit(**changes) -> bytes:
    return json.dumps({key: value for key, value in {**EDIT, **changes}.items() if value is not ...}).encode()


class TestEdits:
    def test_byte_order_mark_windows_line_ends_and_blank_lines(self):
        data = (
            b"\xef\xbb\xbf" + edit(current="1\r\n2") + b"\r\n\r\n  \r\n" + edit(id="e2", proposed="😀 \u202e") + b"\r\n"
        )
        reading = read_edits(data, "f")
        assert (reading.faults, reading.notices) == ((), ())
        assert [(record.key, record.line) for record in reading.records] == [("e1", 1), ("e2", 4)]
        assert reading.records[0].current == "1\n2"
        assert reading.records[0].date == datetime(2026, 1, 31, 7, 30, tzinfo=UTC)
        assert reading.records[1].proposed == "😀 \u202e"

    @pytest.mark.parametrize(
        ("line", "said"),
        [
            (edit()[:-10], "no JSON"),
            (b"{", "no JSON"),
            (edit() + edit(), "no JSON"),
            (b"[1]", "The line is a list"),
            (b"null", "The line is null"),
            (b"1.5", "The line is a number"),
            (b"NaN", "The line is a number"),
            (b'"x"', "The line is text"),
            (b"9" * 5000, "number that is too long"),
            (b"[" * 100_000, "nested too deeply"),
            (b'{"a": ' * 100_000, "nested too deeply"),
            (b'{"id": "a", "id": "b"}', "'id' stands twice"),
            (edit(note=...), "“note” is missing"),
            (edit(current=None), "“current” holds null"),
            (edit(proposed=["a"]), "“proposed” holds a list"),
            (edit(id=5), "“id” holds a number"),
            (edit(note=True), "“note” holds true or false"),
            (edit(id=" "), "id must not be empty"),
            (edit(persona="a\nb"), "of the persona"),
            (edit(persona="\u200b"), "invisible"),
            (edit(current=" "), "current text must not be empty"),
            (edit(proposed=""), "proposed text must not be empty"),
            (edit(proposed="x\n\0"), "NUL character in line 2 of the proposed text"),
            (edit(current="\ud83d"), "surrogate"),
            (edit(note="\udc00"), "surrogate"),
            (edit(proposed="x" * 100_001), "100,001"),
            (edit(proposed="x" * 5_000_000), "bytes"),
            (edit(proposed="a"), "changes nothing"),
            (edit(current="a\r\nb", proposed="a\nb"), "changes nothing"),
            (edit(date="yesterday"), "'yesterday'"),
            (edit(date="2026-02-30"), "'2026-02-30'"),
            (edit(date="0001-01-01T00:00:00+05:00"), "The date"),
            (edit(date=""), "The date"),
            (edit(date=1700000000), "“date” holds a number"),
            (edit().replace(b'"b"', b'"\xe9"'), "0xE9 is not UTF-8"),
        ],
    )
    def test_a_bad_line_costs_itself_alone(self, line, said):
        reading = read_edits(b"\n".join([edit(id="before"), line, edit(id="after")]), "f")
        assert [record.key for record in reading.records] == ["before", "after"]
        assert said in only_fault(reading).reason
        assert only_fault(reading).line == 2

    def test_texts_of_the_greatest_length_fit_whatever_the_escapes(self):
        assert len(read_edits(edit(current="😀" * 100_000, proposed="🚀" * 100_000), "f").records) == 1

    def test_every_fault_of_a_line_is_reported(self):
        assert len(read_edits(b"{}", "f").faults) == 6
        assert len(read_edits(edit(id="", date="x", current=1), "f").faults) == 3

    def test_unknown_keys_are_reported_once(self):
        reading = read_edits(edit(mood=1) + b"\n" + edit(id="e2", mood=2, x=3), "f")
        assert len(reading.records) == 2
        assert sorted((notice.line, notice.text[:14]) for notice in reading.notices) == [
            (1, "The key 'mood'"),
            (2, "The key 'x' wa"),
        ]

    def test_a_repeated_id_names_the_first_line(self):
        reading = read_edits(edit() + b"\n" + edit(proposed="c"), "f")
        assert [record.proposed for record in reading.records] == ["b"]
        assert only_fault(reading).line == 2
        assert "line 1" in only_fault(reading).reason

    def test_a_date_without_a_zone_is_utc_and_said_so(self):
        reading = read_edits(edit(date="2026-01-31"), "f")
        assert reading.records[0].date == datetime(2026, 1, 31, tzinfo=UTC)
        assert "read as UTC" in reading.notices[0].text

    json_values = st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(), st.lists, max_leaves=3
    )

    @given(st.dictionaries(st.sampled_from([*EDIT, "x"]), json_values))
    def test_no_object_makes_the_reader_raise(self, changes):
        reading = read_edits(edit(**changes), "f")
        assert bool(reading.records) != bool(reading.faults)
