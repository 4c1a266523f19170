"""Which family a program belongs to, and whether it is in the first target: SQL, streaming, no Java, plain types."""

from __future__ import annotations

import re
from typing import Any

FAMILIES = [
    ("window-agg", r"(WindowAggregate|GroupWindowAggregate)"),
    ("group-agg", r"(GroupAggregate|IncrementalGroupAggregate|SortAggregate|MiniBatchAssigner|Expand)"),
    ("over", r"Over(Aggregate|Window)"),
    ("match", r"MatchRecognize"),
    ("window-tvf", r"WindowTableFunction"),
    ("window-join", r"WindowJoin"),
    ("window-rank/dedup", r"Window(Rank|Deduplicate)"),
    ("interval-join", r"IntervalJoin"),
    ("temporal-join", r"TemporalJoin"),
    ("lookup-join", r"LookupJoin"),
    ("multi-join", r"MultiJoin"),
    ("delta-join", r"DeltaJoin"),
    ("lateral-snapshot-join", r"LateralSnapshot"),
    ("join", r"Join"),
    ("rank", r"Rank"),
    ("dedup", r"Deduplic"),
    ("sort/limit", r"(Sort|TemporalSort|Limit)"),
    ("union", r"Union"),
    ("values", r"Values"),
    ("calc", r"Calc"),
    ("correlate", r"Correlate"),
    ("async udf", r"Async"),
    ("changelog-normalize", r"ChangelogNormalize"),
    ("sink/constraint", r"(Sink|TableSink|ConstraintEnforcer|DeletesByKey)"),
    ("source-scan", r"TableSourceScan"),
    ("watermark", r"WatermarkAssigner"),
    ("process-table-function", r"ProcessTableFunction"),
    ("to/from changelog", r"(To|From)Changelog"),
    ("ml/vector", r"(MLPredict|VectorSearch)"),
    ("table-api", r"QueryOperation"),
]

# The families whose SQL the first half has; the others are to come.
FIRST_HALF = (
    *("window-agg", "group-agg", "over", "window-tvf", "join", "sort/limit", "union", "values", "calc", "correlate"),
    *("changelog-normalize", "sink/constraint", "source-scan", "watermark"),
)

NESTED = re.compile(
    r"\b(ROW\s*<|ROW\s*\(|MAP\s*<|ARRAY\s*<|MULTISET|RAW\s*\(|VARIANT|BITMAP|STRUCTURED|DESCRIPTOR)", re.I
)


def family(program: dict[str, Any]) -> str:
    name = program["class"].rsplit(".", 1)[-1]
    return next((family for family, pattern in FAMILIES if re.match(pattern, name)), name)


def steps(program: dict[str, Any], *kinds: str) -> list[dict[str, Any]]:
    return [step for step in program["setup"] if step.get("kind") in kinds]


def modes(program: dict[str, Any]) -> set[str]:
    return {each["mode"] for each in program["runners"]}


def outside(program: dict[str, Any]) -> str | None:
    """Why a program is not in the first target; None if it is."""
    if program["is_table_api"]:
        return "Table API"
    if steps(program, "function", "temporal_function"):
        return "Java function"
    if steps(program, "model"):
        return "ML model"
    if not any(mode.startswith("stream") for mode in modes(program)):
        return "not streaming"
    columns = [each for step in steps(program, "source", "sink") for each in step["columns"]]
    return "nested types" if any(NESTED.search(each) for each in columns) else None
