"""Medians and ratios of measured rounds, and whether each figure that was aimed at has been reached.

Nothing is measured or printed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.names import FAMILIES, OWN, PATTERNS_FAMILY, SYSTEMS, WORKLOADS

Results = dict[str, Any]


@dataclass(frozen=True)
class Aim:
    """At least so many times as fast as the best of a family at one workload."""

    workload: str
    family: str
    times: float


AIMS = (
    Aim("map_filter", "PyFlink", 6),
    Aim("count_2k", "PyFlink", 15),
    Aim("count_200k", "PyFlink", 25),
    Aim("count_2k", "transformWithState", 12),
    Aim("count_200k", "transformWithState", 40),
    Aim("count_2k", "Bytewax", 1.3),
    Aim("count_200k", "Bytewax", 1.3),
    Aim("timers", "PyFlink", 20),
    Aim("tumbling", "PyFlink", 40),
    Aim("tumbling_fields", "Flink SQL", 1),
    Aim("sql_filter", "Flink SQL", 1),
    Aim("sql_tumble", "Flink SQL", 1),
    Aim("sql_hop", "Flink SQL", 1),
    Aim("sql_group_2k", "Flink SQL", 0.5),
    Aim("sql_group_200k", "Flink SQL", 0.5),
    Aim("sql_join", "Flink SQL", 0.5),
    Aim("cep_rare", PATTERNS_FAMILY, 0.5),
    Aim("cep_rare_columns", PATTERNS_FAMILY, 1),
    Aim("cep_partials", PATTERNS_FAMILY, 0.5),
    Aim("cep_partials_columns", PATTERNS_FAMILY, 1),
    Aim("cep_keys", PATTERNS_FAMILY, 0.5),
    Aim("cep_keys_columns", PATTERNS_FAMILY, 1),
)
CHECKPOINTED_SHARE = 0.75
FLOOR_MS, DELAY_P50_MS, DELAY_P99_MS = 250, 400, 800


@dataclass(frozen=True)
class Verdict:
    """What was aimed at, what was seen (None: not measured), and whether that is enough."""

    what: str
    wanted: str
    seen: str | None
    is_reached: bool

    @property
    def word(self) -> str:
        """One word, or three."""
        if self.seen is None:
            return "not measured"
        return "reached" if self.is_reached else "**not reached**"


def runs(peers: Results, workload: str, system: str) -> list[dict[str, Any]]:
    """The rounds of one system at one workload that came to an end."""
    return [
        run
        for run in peers["runs"]
        if (run["workload"], run["system"]) == (workload, system) and not run["error"] and run["records_per_second"]
    ]


def failure(peers: Results, workload: str, system: str) -> str | None:
    """Why a system has no figure at a workload, if it was tried."""
    errors = [run["error"] for run in peers["runs"] if (run["workload"], run["system"]) == (workload, system)]
    return next((error for error in errors if error), None)


def middle(peers: Results, workload: str, system: str, field: str = "records_per_second") -> float | None:
    """The median over the rounds."""
    numbers = [run[field] for run in runs(peers, workload, system) if run[field] is not None]
    return median(numbers) if numbers else None


def best(peers: Results, workload: str, family: str) -> str | None:
    """The fastest way to run a family at a workload."""
    rates = {system: middle(peers, workload, system) for system in FAMILIES[family]}
    ran = {system: rate for system, rate in rates.items() if rate is not None}
    return max(ran, key=lambda system: ran[system]) if ran else None


def ratio(peers: Results, workload: str, family: str) -> float | None:
    """How many times as fast Penstock is as the best of a family: the median over rounds, each compared with itself.

    Rounds that only one of the two has do not count.
    """
    other = best(peers, workload, family)
    if other is None:
        return None
    rates = {run["round"]: run["records_per_second"] for run in runs(peers, workload, other)}
    own = runs(peers, workload, OWN)
    ratios = [run["records_per_second"] / rates[run["round"]] for run in own if run["round"] in rates]
    return median(ratios) if ratios else None


def spread(peers: Results) -> float | None:
    """The median, over all pairs of workload and system, of how far apart the fastest and the slowest round are."""
    spreads = []
    for workload in WORKLOADS:
        for system in SYSTEMS:
            rates = [run["records_per_second"] for run in runs(peers, workload, system)]
            if len(rates) > 1:
                spreads.append(max(rates) / min(rates) - 1)
    return median(spreads) if spreads else None


def verdicts(
    peers: Results | None, latency: Results | None, patterns: Results | None = None, sql: Results | None = None
) -> list[Verdict]:
    """One for each aim; `patterns` and `sql` are results of those workloads, if they were measured apart."""
    apart = {"cep": patterns, "sql": sql}
    found = [_faster(apart.get(aim.workload.partition("_")[0]) or peers, aim) for aim in AIMS]
    found.append(_checkpointed(peers))
    return found + _delays(latency)


def _faster(peers: Results | None, aim: Aim) -> Verdict:
    seen = None if peers is None else ratio(peers, aim.workload, aim.family)
    other = None if peers is None else best(peers, aim.workload, aim.family)
    name = aim.family if other is None or len(FAMILIES[aim.family]) == 1 else SYSTEMS[other]
    what = f"{WORKLOADS[aim.workload]}, against {name}"
    return Verdict(what, f"{aim.times:g} x", times(seen), seen is not None and seen >= aim.times)


def _checkpointed(peers: Results | None) -> Verdict:
    what = "keyed count with a checkpoint every second, against the same without"
    seen = None
    if peers is not None:
        plain = {run["round"]: run["records_per_second"] for run in runs(peers, "count_2k", OWN)}
        with_checkpoints = runs(peers, "count_checkpointed", OWN)
        shares = [run["records_per_second"] / plain[run["round"]] for run in with_checkpoints if run["round"] in plain]
        seen = median(shares) if shares else None
    text = None if seen is None else f"{seen:.0%} of its speed"
    return Verdict(what, f"{CHECKPOINTED_SHARE:.0%}", text, seen is not None and seen >= CHECKPOINTED_SHARE)


def _delays(latency: Results | None) -> list[Verdict]:
    tiny, half, nearly_all = ([], [], []) if latency is None else _delay_figures(latency)
    return [
        _at_most("time of a tiny batch, two levels, median", FLOOR_MS, tiny),
        _at_most("delay from source to sink, median", DELAY_P50_MS, half),
        _at_most("delay from source to sink, 99th percentile", DELAY_P99_MS, nearly_all),
    ]


def _delay_figures(latency: Results) -> tuple[list[float], list[float], list[float]]:
    return floors(latency), delays(latency, "p50"), delays(latency, "p99")


def _at_most(what: str, limit: float, numbers: Sequence[float]) -> Verdict:
    seen = median(numbers) if numbers else None
    text = None if seen is None else f"{seen:,.0f} ms"
    return Verdict(what, f"at most {limit} ms", text, seen is not None and seen <= limit)


def floors(latency: Results) -> list[float]:
    """Milliseconds of every tiny batch."""
    return [float(number) for number in latency["floor_ms"]]


def delays(latency: Results, percentile: str) -> list[float]:
    """One percentile of each round, in milliseconds."""
    return [each[percentile] for each in latency["delay_ms"]]


def times(ratio: float | None) -> str | None:
    """A ratio as people read it."""
    if ratio is None:
        return None
    return f"{ratio:.0f} x" if ratio >= 10 else f"{ratio:.1f} x" if ratio >= 2 else f"{ratio:.2f} x"
