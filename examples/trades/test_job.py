"""What the job writes is what plain Python makes of the same trades; the demo has that answer."""

from __future__ import annotations

from gallery.json_rows import read_rows
from gallery.readme_commands import ExampleRun
from trades.demo import check
from trades.generate import TRADES, lines
from trades.job import Quiet


def test_the_job_agrees_with_plain_python(example_run: ExampleRun) -> None:
    quiet = [Quiet(**row) for row in read_rows(example_run.output / "quiet")]
    assert check(example_run.output, quiet, TRADES) == {
        "notional by symbol and minute": True,
        "trades that came too late": True,
        "inactivity alerts": True,
    }
    assert len(read_rows(example_run.output / "late")) > 20 and len(quiet) > 10


def test_lines_that_are_no_trade_are_put_aside(example_run: ExampleRun) -> None:
    parts = (example_run.output / "rejected").glob("part-*")
    rejected = [line for part in parts for line in part.read_text().splitlines()]
    assert len(rejected) == len(lines()) - TRADES > 5


def test_the_picture_is_of_this_run(example_run: ExampleRun) -> None:
    assert example_run.has_the_committed_picture(), "run the commands of the README and commit the picture"
