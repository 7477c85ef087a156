"""How long comparing two texts takes, and how much memory: ``python -m bench.diff``.

Each case is timed three times in turn with the others, in its own order; the best of each is printed, beside the ratio
to the *floor*, which reads both texts and splits them into lines. Memory is the peak of the whole process.
"""

import random
import resource
import time
from collections.abc import Callable

from learning.domain.diff import compare

ROUNDS = 3
WORDS = "the agent asks answers customer order network device password week floor plan price person never always"


def prose(characters: int, seed: int) -> str:
    """Lines of words, as prompts have them, of about so many characters."""
    source, lines, length = random.Random(seed), [], 0  # noqa: S311
    while length < characters:
        line = " ".join(source.choices(WORDS.split(), k=source.randint(4, 24)))
        lines.append(line)
        length += len(line) + 1
    return "\n".join(lines)


def reworded(text: str, share: float, seed: int) -> str:
    """The same text with this share of its words replaced."""
    source = random.Random(seed)  # noqa: S311
    changed = [
        " ".join("other" if source.random() < share else word for word in line.split(" ")) for line in text.split("\n")
    ]
    return "\n".join(changed)


def cases() -> dict[str, tuple[str, str]]:
    text = prose(100_000, 1)
    return {
        "6 kB, 1 word in 20 changed": (prose(6_000, 3), reworded(prose(6_000, 3), 0.05, 4)),
        "100 kB, 1 word in 200 changed": (text, reworded(text, 0.005, 2)),
        "100 kB, 1 word in 9 changed": (text, reworded(text, 0.11, 2)),
        "100 kB, another text": (text, prose(100_000, 9)),
        "100 kB in one line, 1 word in 9 changed": (
            text.replace("\n", " "),
            reworded(text, 0.11, 2).replace("\n", " "),
        ),
        "50,000 lines of one character, all different": ("\n".join("a" * 50_000), "\n".join("b" * 50_000)),
        "100 kB of Chinese, all different": ("".join(map(chr, range(0x4E00, 0x5E00))) * 24, "\u4e00" * 100_000),
        "100,000 empty lines against one": ("\n" * 100_000, "\n"),
        "a b a b, against b a b a": ("a b " * 25_000, "b a " * 25_000),
    }


def floor(before: str, after: str) -> int:
    return len(before.split("\n")) + len(after.split("\n"))


def timed(function: Callable[[str, str], object], before: str, after: str) -> float:
    start = time.perf_counter()
    function(before, after)
    return (time.perf_counter() - start) * 1000


def main() -> None:
    pairs = cases()
    best = {name: (float("inf"), float("inf")) for name in pairs}
    for _ in range(ROUNDS):
        for name, (before, after) in pairs.items():
            ours, bare = timed(compare, before, after), timed(floor, before, after)
            best[name] = (min(best[name][0], ours), min(best[name][1], bare))
    print(f"{'case':48}  {'ms':>7}  {'x floor':>8}  coarse")
    for name, (ours, bare) in best.items():
        print(f"{name:48}  {ours:7.1f}  {ours / bare:8.0f}  {'yes' if compare(*pairs[name]).coarse else 'no'}")
    print(f"peak memory of the process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
