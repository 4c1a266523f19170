"""The systems whose delays are compared, and how each is told to be quick."""

from __future__ import annotations

from dataclasses import dataclass, field

JOBS = {
    "count": "count by key, one exchange",
    "count_two": "count by key twice, two exchanges",
    "window": "windows of a second, a Python function",
    "timer": "timers by the clock",
    "kafka": "count by key from a topic to a topic",
}
RATES = (1_000, 10_000)


@dataclass(frozen=True)
class System:
    """A system in one mode: the environment it runs in, its program, and the settings of the mode."""

    title: str
    environment: str
    program: str
    options: dict[str, str] = field(default_factory=dict)
    is_own: bool = False
    lacks: frozenset[str] = frozenset()
    """Jobs that cannot be written in it, or would show nothing new."""


_CONTINUOUS = {"penstock.execution.mode": "continuous", "pipeline.auto-watermark-interval": "10 ms"}


def _pyflink(mode: str, timeout_ms: int, bundle_ms: int = 1) -> System:
    """PyFlink in a mode; in process mode bundles travel to Python, and too short ones pile up."""
    settings = {
        "python.execution-mode": mode,
        "execution.buffer-timeout.interval": f"{timeout_ms} ms",
        "python.fn-execution.bundle.size": "1000",
        "python.fn-execution.bundle.time": str(bundle_ms),
    }
    bundles = f", bundles of {bundle_ms} ms" if mode == "process" else ""
    return System(f"PyFlink, {mode} mode, buffer timeout {timeout_ms} ms{bundles}", "flink", "pyflink_job", settings)


SYSTEMS = {
    "penstock_continuous": System("Penstock, continuous", "penstock", "penstock_job", _CONTINUOUS, is_own=True),
    "penstock_continuous_2": System(
        "Penstock, continuous, linger 2 ms",
        "penstock",
        "penstock_job",
        {**_CONTINUOUS, "penstock.continuous.linger": "2 ms"},
        is_own=True,
    ),
    "penstock_micro_batch": System("Penstock, micro-batches", "penstock", "penstock_job", is_own=True),
    "pyflink_thread_0": _pyflink("thread", 0),
    "pyflink_thread_1": _pyflink("thread", 1),
    "pyflink_process_10": _pyflink("process", 0, bundle_ms=10),
    "pyflink_process_50": _pyflink("process", 0, bundle_ms=50),
    "bytewax": System("Bytewax, one process", "bytewax", "bytewax_job", lacks=frozenset({"timer"})),
    "kafka_streams": System(
        "Kafka Streams", "penstock", "kafka_streams_job", lacks=frozenset({"count", "count_two", "window", "timer"})
    ),
}
