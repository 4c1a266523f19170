"""`python -m benchmarks.testkit`: what a test of an operator and of a whole job costs, and where the time goes.

They check what they do, so that nothing is measured that does not work.
"""

from __future__ import annotations

import cProfile
import pstats
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, __file__.rpartition("/benchmarks/")[0])

from penstock.common import Types, WatermarkStrategy
from penstock.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.state import ValueStateDescriptor
from penstock.testing import CollectSink, KeyedProcessHarness

OPERATOR_TESTS = 1_000
OPERATOR_LIMIT_S = 5.0
JOBS = 100
JOB_LIMIT_MS = 50.0


class CountAndTell(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> None:
        self._count.update((self._count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield ctx.get_current_key(), self._count.value()


def operator_test() -> None:
    """Five records with state and timers of five keys."""
    with KeyedProcessHarness(CountAndTell(), key=lambda value: value % 5) as harness:
        for number in range(5):
            harness.process_element(number, timestamp=number)
        harness.process_watermark(20)
        assert sorted(harness.output_values()) == [(key, 1) for key in range(5)]


def job_test(**options: Any) -> None:
    """A hundred records through watermarks, a map and a keyed step with timers, parallelism 2."""
    environment = StreamExecutionEnvironment.in_process(**options)
    sink = CollectSink()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value)
    timed = environment.set_parallelism(2).from_collection(range(100)).assign_timestamps_and_watermarks(strategy)
    timed.map(lambda value: value).key_by(lambda value: value % 5).process(CountAndTell()).add_sink(sink)
    environment.execute()
    assert len(sink.results) == 100


def seconds(test: Callable[[], None], times: int) -> float:
    """How long so many runs of a test take."""
    test()  # the first one imports
    started = time.perf_counter()
    for _ in range(times):
        test()
    return time.perf_counter() - started


def shares(test: Callable[[], None], times: int) -> str:
    """Which packages the time goes to, in percent."""
    profile = cProfile.Profile()
    profile.runcall(lambda: [test() for _ in range(times)])
    spent: Counter[str] = Counter()
    for (path, _, _), (_, _, own, _, _) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        spent[_area(path)] += own
    total = sum(spent.values())
    return ", ".join(f"{area} {100 * own / total:.0f} %" for area, own in spent.most_common(7))


def _area(path: str) -> str:
    parts = Path(path).parts
    if "penstock" in parts:
        return ".".join(parts[parts.index("penstock") : -1])
    return "cloudpickle" if "cloudpickle" in parts else "Python and C code"


def main() -> int:
    """Measure and print; exits with 1 if a limit is passed."""
    operators = seconds(operator_test, OPERATOR_TESTS)
    job_ms = seconds(job_test, JOBS) * 1000 / JOBS
    crashing_ms = seconds(lambda: job_test(seed=1, crash_rate=0.01), JOBS // 4) * 4000 / JOBS
    print(f"{OPERATOR_TESTS:,} operator tests: {operators:.2f} s (limit {OPERATOR_LIMIT_S:.0f} s)")
    print(f"  {shares(operator_test, 200)}")
    print(f"a whole job: {job_ms:.1f} ms (limit {JOB_LIMIT_MS:.0f} ms)")
    print(f"  {shares(job_test, 30)}")
    print(f"a whole job, seeded, in small batches and with crashes: {crashing_ms:.0f} ms")
    return 0 if operators <= OPERATOR_LIMIT_S and job_ms <= JOB_LIMIT_MS else 1


if __name__ == "__main__":
    sys.exit(main())
