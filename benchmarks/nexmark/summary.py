"""Medians of each query in both systems, and the mean of their ratios."""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import median
from typing import Any

from benchmarks.nexmark.queries import QUERIES


def figures(content: dict[str, Any], other: str = "flink_sql") -> dict[str, tuple[float, float]]:
    """Events a second of Penstock and of Flink SQL, for the queries that have both."""
    found = {}
    for query in QUERIES:
        own, theirs = (rate(content, query, system) for system in ("penstock", other))
        if own is not None and theirs is not None:
            found[query] = own, theirs
    return found


def rate(content: dict[str, Any], query: str, system: str, field: str = "records_per_second") -> float | None:
    """The median over rounds."""
    rates = [
        run[field] for run in content["runs"] if (run["workload"], run["system"]) == (query, system) and run[field]
    ]
    return median(rates) if rates else None


def geometric_mean(values: Iterable[float]) -> float:
    """The root of the product: twice as fast at one query and half as fast at another make one."""
    logarithms = [math.log(value) for value in values]
    return math.exp(sum(logarithms) / len(logarithms))
