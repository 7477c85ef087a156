"""The reader of Markdown files with front matter, and of folders of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from personas.domain.imports import Fault, PersonaRecord, Reading, read_folder, read_subagent, records
from tests.domain.reports import only_fault


def agent(front: str, body: str = "You help.") -> bytes:
    return f"---\n{front}\n---\n{body}".encode()


class TestSubagent:
    def test_a_whole_file(self):
        data = "\ufeff---\r\nname: a b\r\ndescription: 'It''s: fine'\r\ntools: Read, mcp__x__y , Read,\r\n"
        data += "model: opus\r\n---\r\n\r\n  \r\n  You\r\n\r\nhelp. \r\n\r\n"
        reading = read_subagent(data.encode(), "a.md")
        assert (reading.faults, reading.notices) == ((), ())
        assert reading.records == (
            PersonaRecord(
                name="a b",
                instructions="  You\n\nhelp.",
                line=1,
                source="a.md",
                description="It's: fine",
                tools=("Read", "mcp__x__y"),
                hints={"model": "opus"},
            ),
        )

    @pytest.mark.parametrize(
        ("front", "tools"),
        [
            ("name: x", None),
            ("name: x\ntools: ''", ()),
            ("name: x\ntools:", ()),
            ("name: x\ntools: []", ()),
            ("name: x\ntools: [Read, 'a.b']", ("Read", "a.b")),
            ("name: x\ntools:\n  - Read\n  - Write", ("Read", "Write")),
            ("name: x\ntools:\n- Read", ("Read",)),
        ],
    )
    def test_tools_absent_empty_or_listed(self, front, tools):
        reading = read_subagent(agent(front), "a.md")
        assert reading.records[0].tools == tools
        assert bool(reading.notices) == (tools == ())

    @pytest.mark.parametrize("tools", ["Read, Bash(git:*), a..b", "[Read, 'Bash(git:*)', a..b]"])
    def test_refused_tool_ids_are_named(self, tools):
        reading = read_subagent(agent(f"name: x\ntools: {tools}"), "a.md")
        assert reading.records == ()
        assert [fault.line for fault in reading.faults] == [3, 3]
        assert "'Bash(git:*)'" in reading.faults[0].reason
        assert "'a..b'" in reading.faults[1].reason

    @pytest.mark.parametrize("name", ["on", "007", "2024-01-01", "1e3", "0x1F", "null-device"])
    def test_values_are_texts_whatever_yaml_would_make_of_them(self, name):
        assert read_subagent(agent(f"name: {name}"), "a.md").records[0].name == name

    def test_unknown_keys_are_reported_with_their_value(self):
        front = f"name: x\ncolor: blue\nlong: {'y' * 200}\nnested: {{a: b}}\nlisted: [a, b]"
        reading = read_subagent(agent(front), "a.md")
        assert len(reading.records) == 1
        assert [notice.line for notice in reading.notices] == [3, 4, 5, 6]
        assert reading.notices[0].text == "The key 'color' was not read; its value is 'blue'."
        assert len(reading.notices[1].text) < 120
        assert "nested list or mapping" in reading.notices[2].text
        assert "'a, b'" in reading.notices[3].text

    def test_an_unquoted_colon_is_read_as_programs_read_it(self):
        front = "name: x\ndescription: Use when it's: 'a', \"b\": c  \nmodel: opus"
        reading = read_subagent(agent(front), "a.md")
        assert reading.records[0].description == "Use when it's: 'a', \"b\": c"
        assert reading.records[0].hints == {"model": "opus"}
        assert [(notice.line, "unquoted colon" in notice.text) for notice in reading.notices] == [(3, True)]
        assert read_subagent(agent("name: x\ndescription: Examples:"), "a.md").records[0].description == "Examples:"

    def test_unquoted_colons_without_end_are_refused(self):
        assert "cannot be read as YAML" in only_fault(read_subagent(agent("a: b: c\n" * 5000), "a.md")).reason

    @pytest.mark.parametrize(
        ("front", "line", "said"),
        [
            ("", 2, "no mapping"),
            ("just text", 2, "no mapping"),
            ("- a\n- b", 2, "no mapping"),
            ("description: d", 1, "no name"),
            ("name:", 2, "name must not be empty"),
            ("name: ~", 2, "name must not be empty"),
            ("name: [a]", 2, "list or a mapping"),
            ("name: x\nmodel: {a: b}", 3, "list or a mapping"),
            ("name: x\ntools: {a: b}", 3, "more than a list"),
            ("name: x\ntools: [[a]]", 3, "more than a list"),
            ("name: x\n\nname: y", 4, "stands twice"),
            ("name: x\nkey: 'a\nb", 5, "YAML"),
            ("name: x\nkey: 'a': b", 3, "YAML"),
            ("name: x\n\tkey: a", 3, "YAML"),
            ("? [a]\n: b", 2, "no text"),
            ("name: &n x\nmodel: *n", 2, "anchors"),
            ("name: !!python/name:os.system x", 2, "tags"),
            ("name: x\ndescription: a\x07b", 3, "U+0007"),
            ('name: "a\\0b"', 2, "NUL"),
            ('name: x\ndescription: "\\ud800"', 3, "surrogate"),
            ('name: "\\UFFFFFFFF"', 1, "too large"),
            ('name: "\\U00110000"', 1, "too large"),
            (f"%YAML {'9' * 5000}.1", 1, "too large"),
            ("name: a\u202eb", 2, "U+202E"),
            ("[" * 50_000, 2, "nested"),
            ("a: " + "{a: " * 10_000, 2, "nested"),
            ("- " * 30_000, 2, "nested"),
            ("name: " + "x" * 70_000, 1, "Shorten the front matter: 70,007"),
        ],
    )
    def test_broken_front_matter(self, front, line, said):
        reading = read_subagent(agent(front), "a.md")
        assert reading.records == ()
        fault = only_fault(reading)
        assert said in fault.reason
        assert fault.line == line

    def test_an_alias_bomb_is_refused_at_its_first_anchor(self):
        layers = [f"k{n}: &k{n} [{', '.join([f'*k{n - 1}'] * 9)}]" for n in range(1, 12)]
        fault = only_fault(read_subagent(agent("\n".join(["k0: &k0 lol", *layers])), "a.md"))
        assert (fault.line, "aliases" in fault.reason) == (2, True)

    @pytest.mark.parametrize(
        ("data", "line", "said"),
        [
            (b"You help.", 1, "no front matter"),
            (b"\n---\nname: x\n---\nbody", 1, "no front matter"),
            (b"---", 1, "no front matter"),
            (b"---\nname: x\nYou help.", 1, "never closed"),
            (b"---\nname: x\n ---\n----\n", 1, "never closed"),
            (b"---\nname: x\n---", 4, "instructions must not be empty"),
            (b"---\nname: x\n---\n\n  \n", 4, "instructions must not be empty"),
            (b"---\nname: x\n---\none\ntwo \xff", 5, "0xFF is not UTF-8"),
            (b"---\nname: x\n---\na\0b", 4, "NUL"),
            (b"---\nname: x\n---\n" + b"y" * 100_001, 4, "100,001"),
        ],
    )
    def test_broken_files(self, data, line, said):
        reading = read_subagent(data, "a.md")
        assert reading.records == ()
        assert said in only_fault(reading).reason
        assert only_fault(reading).line == line

    def test_every_fault_of_a_file_is_reported(self):
        reading = read_subagent(agent("name: ''\ntools: '*'", body=""), "a.md")
        assert [fault.line for fault in reading.faults] == [2, 3, 5]

    def test_a_mark_inside_the_instructions_stays(self):
        assert read_subagent(agent("name: x", "a\n---\nb"), "a.md").records[0].instructions == "a\n---\nb"

    @given(st.text(st.sampled_from("nametols:'\"[]{}&*!%#|>-?, \n\t\\Ux0é\x85")))
    def test_no_front_matter_makes_the_reader_raise(self, front):
        reading = read_subagent(agent(f"name: x\n{front}"), "a.md")
        assert bool(reading.records) != bool(reading.faults)


class TestFolder:
    def test_good_files_are_kept_and_others_reported_under_their_names(self):
        reading = read_folder(
            [("a.md", agent("name: a")), ("LICENSE", b"x"), ("b.MD", b"x"), ("c.md", agent("name: c"))]
        )
        assert [(record.name, record.source) for record in reading.records] == [("a", "a.md"), ("c", "c.md")]
        assert only_fault(reading).source == "b.MD"
        assert [notice.source for notice in reading.notices] == ["LICENSE"]

    def test_an_endless_folder_ends(self, monkeypatch):
        monkeypatch.setattr(records, "MAX_RECORDS", 5)
        reading = read_folder((f"{n}.md", agent(f"name: a{n}")) for n in iter(int, 1))
        assert len(reading.records) == 5
        assert "more than 5 records" in only_fault(reading).reason
        reading = read_folder((f"{n}.md", b"x") for n in iter(int, 1))
        assert len(reading.faults) == records.MAX_REPORTS + 1
        two_faults = agent("name: ''\ntools: '*'")
        reading = read_folder([("a.md", b"x"), *((f"{n}.md", two_faults) for n in range(2000))])
        assert len(reading.faults) == records.MAX_REPORTS + 1
        assert reading.faults[-1] == Fault("", None, reading.faults[-1].reason)

    def test_no_files(self):
        assert read_folder([]) == Reading((), (), ())
