"""What is compared: workloads, systems, and who takes part in what.

Names are in `names`, what is aimed at in `verdicts`. The rates are what a machine of two cores is thought to do; they
only size the inputs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

PARALLELISM = 2


@dataclass(frozen=True)
class System:
    """One way to run a job: the environment it lives in, the module with its jobs, and what they are told.

    `longer`: how many times as long its inputs are to take as others', because it works on seconds of them at a time.
    """

    id: str
    environment: str
    module: str
    options: dict[str, Any] = field(default_factory=dict)
    longer: float = 1.0


@dataclass(frozen=True)
class Workload:
    """One job and its input.

    `rates` has the systems that take part and the records/s they are thought to do; numbers of records are multiples of
    `step`, so that a large input has so many windows more than a small one and not parts of some.
    """

    id: str
    job: str
    rates: dict[str, int]
    keys: int = 2_000
    zipf: bool = False
    rate: int = 10_000
    checkpoint_ms: int = 0
    step: int = 1_000
    options: dict[str, dict[str, Any]] = field(default_factory=dict)

    def options_of(self, system: System) -> dict[str, Any]:
        """What the job is told when this system runs it."""
        return {**system.options, **self.options.get(system.id, {})}

    def sizes(self, system: System, seconds: float, scale: float) -> tuple[int, int]:
        """Records of the small and of the large run: the large one is to take about so many seconds."""
        large = self.rates[system.id] * seconds * system.longer * scale
        step = self.options_of(system).get("batch", self.step)
        small = max(round(large / 5 / step), 1) * step
        return small, max(round(large / step) * step, small + 2 * step)


SYSTEMS = {
    system.id: system
    for system in (
        # As PyFlink's bundles, batches are as large as they are good for; without it a batch has 500,000 records.
        System("penstock", "penstock", "peers.penstock_jobs", {"penstock.batch.max-records": 2_000_000}, 3),
        # A bundle may take ten seconds.
        System("pyflink_process", "flink", "peers.pyflink_jobs", {"mode": "process"}, 6),
        System("pyflink_thread", "flink", "peers.pyflink_jobs", {"mode": "thread"}),
        System("transform_with_state", "spark", "peers.spark_jobs", {"batch": 50_000}),
        System("spark_native", "spark", "peers.spark_jobs", {"batch": 500_000}),
        System("flink_sql", "flink", "peers.flink_sql_jobs"),
        System("flink_cep", "flink", "peers.flink_cep_jobs"),
        System("kafka_streams", "penstock", "peers.kafka_streams_jobs"),
        System("bytewax_1", "bytewax", "peers.bytewax_jobs", {"processes": 1}),
        System("bytewax_2", "bytewax", "peers.bytewax_jobs", {"processes": 2}),
    )
}
_COUNT = {"transform_with_state": {"query": "stateful_count", "batch": 200_000}}
_LARGE_BATCHES = {"penstock": {"penstock.batch.max-records": 8_000_000}}
_COUNT_MANY = {"transform_with_state": {"query": "stateful_count", "batch": 10_000}}


def _patterns(name: str, rates: dict[str, int], with_columns: int, **settings: Any) -> tuple[Workload, Workload]:
    """A pattern with conditions in Python, and with conditions on columns; Flink's library does the same for both."""
    columns = f"{name}_columns"
    return (
        Workload(name, name, rates, step=10_000, **settings),
        Workload(columns, columns, {**rates, "penstock": with_columns}, step=10_000, **settings),
    )


WORKLOADS = {
    workload.id: workload
    for workload in (
        Workload(
            "map_filter",
            "map_filter",
            {
                "penstock": 2_000_000,
                "pyflink_process": 20_000,
                "pyflink_thread": 80_000,
                "spark_native": 4_000_000,
                "flink_sql": 3_000_000,
                "bytewax_1": 500_000,
                "bytewax_2": 600_000,
            },
        ),
        Workload(
            "count_2k",
            "count",
            {
                "penstock": 450_000,
                "pyflink_process": 12_000,
                "pyflink_thread": 8_000,
                "transform_with_state": 50_000,
                "spark_native": 1_500_000,
                "flink_sql": 2_000_000,
                "bytewax_1": 260_000,
                "bytewax_2": 260_000,
            },
            options=_COUNT,
        ),
        Workload(
            "count_200k",
            "count",
            {
                "penstock": 180_000,
                "pyflink_process": 5_000,
                "pyflink_thread": 6_000,
                "transform_with_state": 3_800,
                "spark_native": 600_000,
                "flink_sql": 1_000_000,
                "bytewax_1": 120_000,
                "bytewax_2": 150_000,
            },
            keys=200_000,
            options=_COUNT_MANY,
        ),
        Workload(
            "count_2k_zipf",
            "count",
            {
                "penstock": 450_000,
                "pyflink_process": 12_000,
                "transform_with_state": 50_000,
                "bytewax_1": 260_000,
                "bytewax_2": 260_000,
            },
            zipf=True,
            options=_COUNT,
        ),
        Workload(
            "count_200k_zipf",
            "count",
            {
                "penstock": 250_000,
                "pyflink_process": 8_000,
                "transform_with_state": 8_000,
                "bytewax_1": 160_000,
                "bytewax_2": 200_000,
            },
            keys=200_000,
            zipf=True,
            options=_COUNT_MANY,
        ),
        Workload(
            "timers",
            "timers",
            {"penstock": 300_000, "pyflink_process": 2_500, "pyflink_thread": 2_500, "transform_with_state": 5_000},
            step=10_000,
            options={"transform_with_state": {"query": "stateful_timers", "batch": 50_000}},
        ),
        Workload(
            "tumbling",
            "tumbling",
            {
                "penstock": 450_000,
                "pyflink_process": 10_000,
                "pyflink_thread": 10_000,
                "bytewax_1": 80_000,
                "bytewax_2": 80_000,
            },
            step=100_000,
        ),
        Workload(
            "tumbling_fields",
            "tumbling_fields",
            {"penstock": 5_000_000, "flink_sql": 1_500_000, "spark_native": 1_500_000},
            step=100_000,
            options=_LARGE_BATCHES,
        ),
        Workload(
            "sliding",
            "sliding",
            {
                "penstock": 250_000,
                "pyflink_process": 300,
                "flink_sql": 500_000,
                "spark_native": 60_000,
                "bytewax_1": 5_000,
                "bytewax_2": 8_000,
            },
            keys=200,
            rate=1_000,
            options={"spark_native": {"batch": 50_000}},
        ),
        Workload(
            "session",
            "session",
            {
                "penstock": 150_000,
                "pyflink_process": 2_500,
                "flink_sql": 150_000,
                "spark_native": 150_000,
                "bytewax_1": 50_000,
                "bytewax_2": 60_000,
            },
            rate=400,
            options={"spark_native": {"batch": 100_000}},
        ),
        Workload(
            "interval_join",
            "interval_join",
            {"penstock": 100_000, "flink_sql": 200_000, "spark_native": 100_000},
            rate=3_000,
            options={"spark_native": {"batch": 100_000}},
        ),
        Workload(
            "count_checkpointed",
            "count",
            {
                "penstock": 400_000,
                "pyflink_process": 12_000,
                "pyflink_thread": 8_000,
                "transform_with_state": 50_000,
                "flink_sql": 2_000_000,
                "bytewax_1": 220_000,
                "bytewax_2": 200_000,
            },
            checkpoint_ms=1_000,
            # Every batch is a checkpoint: so batches that last a second.
            options={**_COUNT, "penstock": {"penstock.batch.target-time": "1s"}},
        ),
        Workload(
            "sql_filter",
            "sql_filter",
            {"penstock": 4_000_000, "flink_sql": 2_000_000, "spark_native": 4_000_000},
            options=_LARGE_BATCHES,
        ),
        Workload(
            "sql_tumble",
            "sql_tumble",
            {"penstock": 4_000_000, "flink_sql": 1_500_000, "spark_native": 1_500_000},
            step=100_000,
            options=_LARGE_BATCHES,
        ),
        Workload(
            "sql_hop",
            "sql_hop",
            {"penstock": 500_000, "flink_sql": 400_000, "spark_native": 60_000},
            keys=200,
            rate=1_000,
            options={"spark_native": {"batch": 50_000}},
        ),
        Workload(
            "sql_group_2k",
            "sql_group",
            {"penstock": 800_000, "flink_sql": 1_000_000, "spark_native": 1_500_000},
        ),
        Workload(
            "sql_group_200k",
            "sql_group",
            {"penstock": 300_000, "flink_sql": 600_000, "spark_native": 600_000},
            keys=200_000,
        ),
        Workload(
            "sql_join",
            "sql_join",
            {"penstock": 150_000, "flink_sql": 300_000, "spark_native": 300_000},
            options={"spark_native": {"batch": 200_000}},
        ),
        *_patterns("cep_rare", {"penstock": 300_000, "flink_cep": 600_000}, 2_000_000),
        *_patterns("cep_partials", {"penstock": 60_000, "flink_cep": 100_000}, 150_000),
        *_patterns("cep_keys", {"penstock": 200_000, "flink_cep": 400_000}, 2_000_000, keys=100_000, rate=100_000),
        Workload("kstreams_count", "kstreams_count", {"penstock": 40_000, "kafka_streams": 80_000}),
        Workload("kstreams_join", "kstreams_join", {"penstock": 40_000, "kafka_streams": 120_000}),
    )
}


def can_be_written(workload: str, systems: tuple[str, ...]) -> bool:
    """Whether one of these ways to use a system has the job of a workload, whatever its keys and checkpoints."""
    job = WORKLOADS[workload].job
    return any(set(systems) & each.rates.keys() for each in WORKLOADS.values() if each.job == job)


QUICK = {
    "map_filter": ("penstock", "pyflink_thread", "bytewax_1"),
    "count_2k": ("penstock", "pyflink_process", "transform_with_state", "bytewax_1"),
    "tumbling_fields": ("penstock", "flink_sql"),
}
"""What the quick comparison runs."""
