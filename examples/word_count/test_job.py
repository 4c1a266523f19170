"""The word count agrees with a plain loop over the same file."""

from __future__ import annotations

from collections import Counter

import pytest
from gallery.json_rows import read_rows
from gallery.readme_commands import ExampleRun


def expected_counts(text: str) -> Counter[str]:
    """Words by hand: letters, with an apostrophe between letters."""
    counts: Counter[str] = Counter()
    for token in "".join(
        sign if (sign.isascii() and sign.isalpha()) or sign == "'" else " " for sign in text.lower()
    ).split():
        counts[token.strip("'")] += 1
    return counts


def check(run: ExampleRun) -> None:
    expected = expected_counts((run.input / "chat.txt").read_text())
    assert expected["invoice"] > 100 and expected["it's"] > 100
    rows = Counter((row["word"], row["count"]) for row in read_rows(run.output / "counts"))
    # A running count: every word once with each number up to its total.
    assert rows == Counter((word, number + 1) for word, total in expected.items() for number in range(total))


def test_the_job_agrees_with_plain_python(example_run: ExampleRun) -> None:
    check(example_run)


def test_the_picture_is_of_this_run(example_run: ExampleRun) -> None:
    assert example_run.has_the_committed_picture(), "run the commands of the README and commit the picture"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_spark_gives_the_same(spark_run: ExampleRun) -> None:
    check(spark_run)
    assert spark_run.has_the_committed_picture()
