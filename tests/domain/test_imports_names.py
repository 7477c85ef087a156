"""Which names imported texts get, also when the same file comes again."""

from hypothesis import given
from hypothesis import strategies as st

from personas.domain.imports import New, Repeat, Same, allocate_names
from personas.domain.imports.names import numbered
from personas.domain.text import clean_name

NOTHING: dict[tuple[str, str], int] = {}
names = st.sampled_from(
    ["A", "A (2)", "A (3)", "A (2) (2)", "B", "x" * 200, "x" * 196 + " (2)", "y" * 199 + "z", "y" * 200]
)
texts = st.sampled_from(["d1", "d2", "d3"])
records_wanted = st.lists(st.tuples(names, texts), max_size=12)


class TestNames:
    def test_free_taken_there_and_repeated(self):
        wanted = [("A", "d1"), ("B", "d1"), ("B", "d1"), ("C", "d3"), ("D", "d4")]
        existing = {("A", "d1"): 1, ("D (2)", "d4"): 4}
        answers = allocate_names(wanted, existing, {"A", "C", "C (2)", "D", "D (2)"})
        assert answers == [Same(1), New("B"), Repeat(1), New("C (3)", "C"), Same(4)]

    def test_a_persona_renamed_since_is_still_the_same(self):
        assert allocate_names([("Old", "d1"), ("Old", "d2")], {("Old", "d1"): 1}, {"Renamed"}) == [Same(1), New("Old")]

    def test_names_are_compared_exactly(self):
        assert allocate_names([("a", "d1"), ("A", "d2")], {}, set()) == [New("a"), New("A")]

    def test_numbers_keep_clear_of_names_the_file_wants(self):
        wanted = [("A", "d1"), ("A", "d2"), ("A (2)", "d3")]
        assert allocate_names(wanted, {}, set()) == [New("A"), New("A (3)", "A"), New("A (2)")]

    def test_long_names_are_cut_to_make_room(self):
        base = "x" * 195 + " yyyy"
        answers = allocate_names([(base, f"d{n}") for n in range(12)], NOTHING, set())
        assert answers[1] == New("x" * 195 + " (2)", base)
        assert answers[11] == New("x" * 195 + " (12)", base)
        assert len(numbered("x" * 200, 10)) == 200

    def test_many_texts_of_one_name_take_linear_time(self):
        answers = allocate_names([("A", str(n)) for n in range(50_000)], NOTHING, set())
        assert answers[-1] == New("A (50000)", "A")

    @given(records_wanted, st.dictionaries(st.tuples(names, texts), st.integers(100, 999)), st.sets(names))
    def test_applied_again_everything_is_there(self, wanted, existing, taken):
        answers = allocate_names(wanted, existing, taken)
        assert len(answers) == len(wanted)
        made: dict[tuple[str, str], int] = {}
        for index, (answer, (name, text)) in enumerate(zip(answers, wanted, strict=True)):
            if isinstance(answer, New):
                assert answer.name not in taken
                assert clean_name(answer.name) == answer.name
                assert answer.renamed_from in (None, name)
                assert (answer.renamed_from is None) == (answer.name == name)
                taken = taken | {answer.name}
                made[answer.name, text] = index
            elif isinstance(answer, Repeat):
                assert wanted[answer.first][1] == text
                assert isinstance(answers[answer.first], New)
        again = allocate_names(wanted, existing | made, taken)
        assert all(isinstance(answer, Same) for answer in again)
        for answer, repeated in zip(answers, again, strict=True):
            if isinstance(answer, Same):
                assert repeated == answer
