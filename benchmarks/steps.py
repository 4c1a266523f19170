"""`python -m benchmarks.steps`: where the microseconds of a record go, step by step from the source to the commit.

With PYTHONPATH it measures another checkout.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import inspect
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

sys.path.insert(0, __file__.rpartition("/benchmarks/")[0])

from benchmarks.pages.marks import fill
from benchmarks.step_jobs import JOBS
from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment

RECORDS = 1_000_000
BATCH = 500_000
PARALLELISM = 2

# Where a step is: module, name in it, and what it is called here. Those that a checkout lacks are left out.
STEPS = [
    ("penstock.connectors.generated.numbered", "DataGenerator.read", "source: the user's generator function"),
    ("penstock.runtime.timestamps", "WatermarkSource._timestamps", "source: timestamp assigner"),
    ("penstock.runtime.timestamps", "WatermarkSource.process", "source: blocks and watermarks"),
    ("penstock.runtime.operators.stateless", "MapOperator.process_block", "map"),
    ("penstock.runtime.operators.stateless", "FilterOperator.process_block", "filter"),
    ("penstock.runtime.exchange", "ExchangeWriter._selected", "exchange: key selector"),
    ("penstock.runtime.exchange", "KeyedWriter._targets_of", "exchange: key group of each key"),
    ("penstock.runtime.exchange", "ExchangeWriter._scatter", "exchange: dealing out to blocks"),
    ("penstock.runtime.exchange", "KeyedWriter._scatter", "exchange: dealing out to blocks"),
    ("penstock.runtime.rows", "encode_block", "exchange: block to bytes"),
    ("penstock.engine.spark.rows_arrow", "to_batch", "exchange: bytes to and from Arrow"),
    ("penstock.engine.spark.rows_arrow", "from_batch", "exchange: bytes to and from Arrow"),
    ("penstock.runtime.rows", "decode_block", "exchange: bytes to block"),
    (
        "penstock.runtime.operators.window.local",
        "LocalAggregationOperator.process_block",
        "window: before the exchange",
    ),
    ("penstock.runtime.operators.window.operator", "WindowOperator.process_block", "window: records to accumulators"),
    ("penstock.runtime.operators.window.operator", "WindowOperator.fire_due", "window: firing"),
    ("penstock.runtime.operators.process", "ProcessOperator.process_block", "process function, with its state"),
    ("penstock.runtime.operators.process", "KeyedProcessOperator.fire_due", "timers: firing"),
    ("penstock.runtime.output", "Output.emit", "output"),
    ("penstock.state.versions", "SubtaskState.open", "state: opening the store"),
    ("penstock.state.keyed", "KeyedStateBackend.write", "state: changed objects to the store"),
    ("penstock.state.tracked_store", "TrackedStore.changes", "state: sorting what changed"),
    ("penstock.state.versions", "write_entries", "state: change file"),
    ("penstock.state.lmdb_store", "LmdbStore.commit", "state: commit of the store"),
    ("penstock.runtime.subtask", "Subtask.finish", "end of batch: the rest"),
    ("penstock.runtime.subtask", "Subtask.begin", "begin of batch: the rest"),
]
REST = "everything else"
BEGIN, END = "<!-- steps: made by benchmarks.steps -->", "<!-- end of steps -->"
Measured = dict[str, dict[str, float]]
"""Microseconds by job and step."""


class Stopwatch:
    """Seconds of processor time by step, each without the steps inside it."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._stack: list[str] = []
        self._since = 0.0

    def begin(self) -> None:
        """Count from now on."""
        self.seconds.clear()
        self._since = time.process_time()

    def end(self) -> None:
        """Count what is left for no step."""
        self._note()

    def enter(self, name: str) -> None:
        """A step begins."""
        self._note()
        self._stack.append(name)

    def leave(self) -> None:
        """The step that began last is over."""
        self._note()
        self._stack.pop()

    def _note(self) -> None:
        now = time.process_time()
        name = self._stack[-1] if self._stack else REST
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self._since
        self._since = now

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function that is timed; one that gives an iterator is timed while it is iterated over, too."""

        def call(*arguments: Any, **options: Any) -> Any:
            self.enter(name)
            try:
                result = function(*arguments, **options)
            finally:
                self.leave()
            return self._walked(name, result) if inspect.isgenerator(result) else result

        return call

    def _walked(self, name: str, items: Iterator[Any]) -> Iterator[Any]:
        while True:
            self.enter(name)
            try:
                item = next(items, self)
            finally:
                self.leave()
            if item is self:
                return
            yield item


class _Patched:
    """The steps of the product, timed while a `with` block lasts."""

    def __init__(self, watch: Stopwatch) -> None:
        self._watch = watch
        self._undo: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> None:
        for module, path, name in STEPS:
            owner: Any = importlib.import_module(module)
            *outer, attribute = path.split(".")
            for part in outer:
                owner = getattr(owner, part, None)
            if owner is None or attribute not in vars(owner):
                continue
            found = vars(owner)[attribute]
            self._undo.append((owner, attribute, found))
            if isinstance(found, classmethod):
                setattr(owner, attribute, classmethod(self._watch.timed(name, found.__func__)))
            else:
                setattr(owner, attribute, self._watch.timed(name, found))
        self._through_arrow()

    def __exit__(self, *_: object) -> None:
        for owner, attribute, found in reversed(self._undo):
            setattr(owner, attribute, found)

    def _through_arrow(self) -> None:
        """Let rows take the form in which Spark carries them."""
        runner, arrow = (
            importlib.import_module(name)
            for name in ("penstock.engine.in_process.batches", "penstock.engine.spark.rows_arrow")
        )
        inner = runner.source_rows

        def rows(*arguments: Any) -> Iterator[Any]:
            for batch in arrow.in_batches(inner(*arguments)):
                yield from arrow.from_batch(batch)

        self._undo.append((runner, "source_rows", inner))
        runner.source_rows = rows


def profile(name: str, records: int = RECORDS, batch: int = BATCH) -> dict[str, float]:
    """Microseconds of a record by step."""
    configuration = Configuration()
    configuration.set_string("penstock.batch.max-records", str(batch))
    environment = StreamExecutionEnvironment.in_process(state="lmdb", configuration=configuration)
    environment.set_parallelism(PARALLELISM)
    JOBS[name](environment, records)
    watch = Stopwatch()
    with _Patched(watch):
        gc.collect()
        watch.begin()
        environment.execute(name)
        watch.end()
    return {step: seconds / records * 1e6 for step, seconds in watch.seconds.items()}


def medians(runs: Iterable[dict[str, float]]) -> dict[str, float]:
    """The median of each step over several runs."""
    found = list(runs)
    return {step: median(run.get(step, 0.0) for run in found) for step in found[0]}


def table_of(name: str, costs: dict[str, float]) -> Table:
    """The steps of a job in the order in which a record meets them."""
    table = Table(title=f"{name}: {sum(costs.values()):.2f} µs of processor time for each record")
    table.add_column("step")
    table.add_column("µs", justify="right")
    for step in dict.fromkeys([label for _, _, label in STEPS] + [REST]):
        if costs.get(step, 0.0) >= 0.005:
            table.add_row(step, f"{costs[step]:.2f}")
    return table


def compared(before: list[Measured], after: list[Measured]) -> str:
    """Tables in Markdown of rounds of an older checkout and of this one: medians of each step."""
    lines = []
    for job in after[0]:
        old, new = (medians(each[job] for each in rounds) for rounds in (before, after))
        lines += [f"### {job}", "", "| step | before, µs | after, µs |", "|---|---|---|"]
        for step in dict.fromkeys([label for _, _, label in STEPS] + [REST]):
            if max(old.get(step, 0.0), new.get(step, 0.0)) >= 0.015:
                lines.append(f"| {step} | {old.get(step, 0.0):.2f} | {new.get(step, 0.0):.2f} |")
        lines += [f"| **all** | **{sum(old.values()):.2f}** | **{sum(new.values()):.2f}** |", ""]
    return "\n".join(lines)


def write_page(page: str, before: list[str], after: list[str]) -> None:
    """Put the comparison of rounds that were written by `--json` into the page, between its marks."""
    rounds = [[json.loads(Path(path).read_text()) for path in paths] for paths in (before, after)]
    fill(Path(page), BEGIN, END, compared(*rounds))


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", help="write the comparison of --before and --after into this page instead")
    parser.add_argument("--before", nargs="+", help="files with what --json printed in an older checkout")
    parser.add_argument("--after", nargs="+", help="files with what --json printed in this one")
    parser.add_argument("jobs", nargs="*", default=[], help=f"some of {', '.join(JOBS)}")
    parser.add_argument("--records", type=int, default=RECORDS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    if options.page:
        write_page(options.page, options.before, options.after)
        return 0
    names = options.jobs or list(JOBS)
    profile(names[0], 1_000)  # imports and the like are paid here
    measured = {name: medians(profile(name, options.records) for _ in range(options.rounds)) for name in names}
    if options.json:
        print(json.dumps(measured))
        return 0
    for name, costs in measured.items():
        Console().print(table_of(name, costs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
