"""A crash at every single step of a run: what comes out is what comes out without any."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.common import WatermarkStrategy
from penstock.common.watermark_strategy import Watermark
from penstock.connectors.files.rolling import DefaultRollingPolicy, OnCheckpointRollingPolicy, RollingPolicy
from penstock.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSink
from penstock.datastream.state import ListStateDescriptor
from penstock.engine.in_process.client import InProcessJobClient
from penstock.engine.in_process.job import InProcessJob
from penstock.testing import CollectSink, Cut, Element, ScriptedSource
from penstock.testing.crashes import trace_of

STEP_KINDS = {"plan", "begin", "source", "inside source", "operator", "inside operator", "seal", "publish", "go on"}
POLICIES: dict[str, RollingPolicy] = {
    "a file for each batch": OnCheckpointRollingPolicy(),
    "files over several batches": DefaultRollingPolicy(30, 10_000, 10_000),
}


class Gather(KeyedProcessFunction):
    """The records of a key up to a timer, as one."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._seen = runtime_context.get_list_state(ListStateDescriptor("seen"))

    def process_element(self, value: str, ctx: Any) -> None:
        self._seen.add(value)
        ctx.timer_service().register_event_time_timer(ctx.timestamp() // 10 * 10 + 9)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[str]:
        yield f"{timestamp} {''.join(sorted(self._seen.get()))}"
        self._seen.clear()


def run(directory: Path, policy: RollingPolicy, *crash_at: int) -> tuple[InProcessJob, Counter[str], Counter[str]]:
    """The job, the lines of its files, and what it collected."""
    environment = StreamExecutionEnvironment.in_process(crash_at=crash_at)
    environment.set_parallelism(2)
    sink = CollectSink()
    first = [Element("a", 1), Element("b", 2), Watermark(9), Cut(), Element("c", 11), Watermark(19), Cut()]
    second = [Element("x", 3), Watermark(9), Cut(), Element("y", 12), Watermark(19), Cut(), Element("z", 25)]
    source = environment.from_source(ScriptedSource(first, second), WatermarkStrategy.no_watermarks(), "script")
    gathered = source.key_by(lambda value: value in "abc").process(Gather())
    gathered.add_sink(sink)
    gathered.sink_to(FileSink.text(str(directory), rolling_policy=policy))
    client = environment.execute_async()
    assert isinstance(client, InProcessJobClient)
    client.wait()
    files = [path for path in directory.rglob("*") if path.is_file()]
    lines = Counter(line for path in files for line in path.read_text().splitlines())
    return client.job, lines, Counter(sink.results)


EXPECTED = Counter(["9 ab", "9 x", "19 c", "19 y", "29 z"])


@pytest.mark.parametrize("policy", POLICIES)
def test_a_crash_at_any_step_changes_nothing(tmp_path: Path, policy: str) -> None:
    calm, lines, collected = run(tmp_path / "calm", POLICIES[policy])
    assert (lines, collected) == (EXPECTED, EXPECTED)
    assert calm.crashes == 0
    crashed: Counter[str] = Counter()
    for step in range(1, calm.steps + 1):
        job, lines, collected = run(tmp_path / str(step), POLICIES[policy], step)
        assert (lines, collected) == (EXPECTED, EXPECTED), f"after a crash at step {trace_of(job)[step - 1]}"
        assert job.crashes == 1
        crashed += job.crashed
    assert set(crashed) == STEP_KINDS
    assert crashed.total() == calm.steps


def test_a_crash_at_two_steps_in_a_row_changes_nothing(tmp_path: Path) -> None:
    policy = POLICIES["files over several batches"]
    calm, *_ = run(tmp_path / "calm", policy)
    for step in range(1, calm.steps, 3):
        job, lines, collected = run(tmp_path / str(step), policy, step, step + 1, step + 4)
        assert (lines, collected) == (EXPECTED, EXPECTED)
        assert job.crashes == 3


def test_a_crash_after_the_last_step_never_comes(tmp_path: Path) -> None:
    calm, *_ = run(tmp_path / "calm", POLICIES["a file for each batch"])
    late, *_ = run(tmp_path / "late", POLICIES["a file for each batch"], calm.steps + 1)
    assert (late.crashes, trace_of(late)) == (0, trace_of(calm))
