"""Results that nobody measured, for tests of the page: plausible, with a failed run and a job that one system lacks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HEADING: dict[str, Any] = {
    "machine": {"cpu": "Abacus 3000", "cores": 2, "memory_gb": 23, "system": "Linux 6.1, x86_64"},
    "versions": {"python": "3.11.7", "penstock": "0.1", "pyspark": "4.3.0", "apache-flink": "2.3.0"},
    "commit": "0123456789",
    "date": "2026-01-01 00:00 UTC",
    "parallelism": 2,
    "rounds": 3,
}
RATES = {
    "map_filter": (1_200_000, 90_000, 116_000, 350_000, None, None, 900_000, 1_100_000),
    "count_2k": (470_000, 24_000, 20_000, 29_000, None, None, 260_000, 290_000),
    "count_200k": (235_000, 5_000, 5_800, 3_800, None, None, 118_000, 140_000),
    "timers": (99_000, 4_000, 4_500, 3_000, None, None, None, None),
    "tumbling": (640_000, 4_700, 4_200, None, None, None, 110_000, 160_000),
    "tumbling_fields": (3_900_000, None, None, None, 1_400_000, 2_900_000, None, None),
    "session": (180_000, 3_000, 3_100, None, 300_000, 500_000, 90_000, 99_000),
    "count_checkpointed": (300_000, 20_000, 19_000, 20_000, None, None, 200_000, 210_000),
}
SYSTEMS = (
    "penstock",
    "pyflink_process",
    "pyflink_thread",
    "transform_with_state",
    "spark_native",
    "flink_sql",
    "bytewax_1",
    "bytewax_2",
)
GROWTH = {
    "keys": {100: 520_000, 1_000: 500_000, 10_000: 440_000, 100_000: 280_000, 1_000_000: 150_000},
    "state_bytes": {8: 440_000, 64: 430_000, 512: 400_000, 4_096: 230_000},
    "operators": {1: 1_400_000, 2: 1_200_000, 4: 950_000, 8: 620_000, 16: 390_000},
    "levels": {1: 470_000, 2: 250_000, 3: 170_000, 4: 128_000, 5: 103_000},
    "parallelism": {1: 260_000, 2: 470_000, 3: 460_000, 4: 455_000},
}
WORKER = {"largest_worker_mb": 200}


def peers() -> dict[str, Any]:
    """Three rounds that differ a little; one run failed."""
    runs = []
    for turn in (1, 2, 3):
        for workload, rates in RATES.items():
            for system, rate in zip(SYSTEMS, rates, strict=True):
                if rate is not None:
                    runs.append(_run(workload, system, turn, rate * (0.9 + 0.05 * turn)))
    runs.append({**_run("timers", "bytewax_1", 1, 1.0), "records_per_second": None, "error": "killed after\n60 s"})
    return {**HEADING, "runs": runs}


def growth() -> dict[str, Any]:
    """Three rounds; in one the additional records took no time."""
    series = [
        {"axis": axis, "x": x, "round": turn, "records_per_second": rate * (0.9 + 0.05 * turn), **WORKER}
        for turn in (1, 2, 3)
        for axis, rates in GROWTH.items()
        for x, rate in rates.items()
    ]
    return {
        **HEADING,
        "series": [*series, {"axis": "keys", "x": 100, "round": 4, "records_per_second": None, **WORKER}],
    }


def latency() -> dict[str, Any]:
    """A floor above the aim, a delay below it."""
    return {
        **HEADING,
        "floor_ms": [260.0 + number * 7 % 31 for number in range(40)],
        "delay_ms": [{"p50": 350.0 + turn, "p99": 700.0, "samples": 15_000, "rate": 1_000} for turn in (1, 2, 3)],
        "parts_ms": {"walCommit": 8.0, "addBatch": 217.0},
        "idle_cores": 0.07,
        "little": {"rate": 100, "cores": 0.21, "processes": 8, "megabytes": 912, "p50": 340, "p99": 607},
    }


PARTS: dict[str, dict[str, Any]] = {
    "kafka": {
        "rate": 1_000,
        "promises": {"exactly once": {"records_per_second": 116_123, "p50_ms": 900, "p99_ms": 1400}},
    },
    "async": {"calls": 10_000, "wait_ms": 10.0, "capacity": 100, "ideal_s": 1.0, "seconds": {"ordered": 1.19}},
    "checkpoints": {"costs": [{"keys": 1_000, "share_of_bytes": 0.0102, "ms": 90.0, "restore_ms": 3_900.0}]},
    "memory": {"keys": 1_000_000, "records": 2_000_000, "largest_worker_mb": 359},
}


def store(folder: Path) -> Path:
    """All files."""
    folder.mkdir(parents=True)
    parts = {name: {**HEADING, **content} for name, content in PARTS.items()}
    for name, content in {"peers": peers(), "growth": growth(), "latency": latency(), **parts}.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder


def _run(workload: str, system: str, turn: int, rate: float) -> dict[str, Any]:
    return {
        "workload": workload,
        "system": system,
        "round": turn,
        "small": {"records": 100_000, "seconds": 100_000 / rate},
        "large": {"records": 500_000, "seconds": 500_000 / rate},
        "records_per_second": rate,
        "startup_seconds": 4.2,
        "peak_mb": 1_234.5,
        "error": None,
    }
