"""Word count: split lines into words and keep a running count of each. Mirrors Flink's WordCount."""

from __future__ import annotations

import argparse
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from penstock.common import Configuration, Row
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSink

RUN = Path(__file__).parent / "run"
WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")


def words(line: str) -> Iterable[tuple[str, int]]:
    return ((word, 1) for word in WORD.findall(line.lower()))


def count_words(lines: DataStream[str]) -> DataStream[Row]:
    """Emit a word each time its count grows; the highest count of a word is its total."""
    counts = lines.flat_map(words).key_by(lambda pair: pair[0]).sum(1)
    return counts.map(lambda pair: Row(word=pair[0], count=pair[1]))


def main() -> None:
    parser = argparse.ArgumentParser(description="Count the words of a chat.")
    parser.add_argument("--engine", choices=["spark", "in-process"], default="spark")
    args = parser.parse_args()
    shutil.rmtree(RUN / "output", ignore_errors=True)

    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration().set_string("penstock.engine", args.engine)
    ).set_parallelism(2)
    lines = env.read_text_file(str(RUN / "input" / "chat.txt"))
    count_words(lines).sink_to(FileSink.json(RUN / "output" / "counts"))
    env.execute("word count")
    print(f"the counts are in {RUN / 'output' / 'counts'}")


if __name__ == "__main__":
    main()
