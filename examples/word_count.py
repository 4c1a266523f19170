"""Word count: split lines, key by word, keep a running count. Mirrors Flink's WordCount."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.datastream import StreamExecutionEnvironment

LINES = [
    "To be, or not to be,--that is the question:--",
    "Whether 'tis nobler in the mind to suffer",
    "The slings and arrows of outrageous fortune",
    "Or to take arms against a sea of troubles,",
]


def words(line: str) -> Iterable[tuple[str, int]]:
    cleaned = "".join(letter if letter.isalpha() else " " for letter in line.lower())
    return ((word, 1) for word in cleaned.split())


def main(lines: Iterable[str] = LINES) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    counts = env.from_collection(lines).flat_map(words).key_by(0).sum(1)
    # Every word is printed each time its count grows; the last line of a word has its total.
    counts.print()
    env.execute("word count")


if __name__ == "__main__":
    main()
