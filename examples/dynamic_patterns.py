"""Dynamic patterns: rules for fraud are JSON in a stream of their own, and one is switched on while the job runs.
Mirrors Flink's proposal FLIP-200, "Support Multiple Rule and Dynamic Rule Changing", which it does not have yet."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from penstock.cep import CEP
from penstock.common import WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment


class Payment(NamedTuple):
    card: str
    at_ms: int
    amount: float


PAYMENTS = [
    Payment("ann", 1_000, 0.5),
    Payment("ann", 2_000, 800.0),
    Payment("bob", 3_000, 950.0),
    Payment("bob", 61_000, 0.2),
    Payment("bob", 62_000, 990.0),
]
SMALL = {"name": "small", "where": {"field": "amount", "op": "<", "value": 1}}
LARGE = {"name": "large", "where": {"field": "amount", "op": ">", "value": 500}}
RULES = [
    (0, {"put": "probe", "pattern": {"elements": [SMALL, {**LARGE, "follows": "next"}], "within_ms": 600_000}}),
    (10_000, {"put": "large", "pattern": {"elements": [LARGE]}}),
    (62_000, {"remove": "probe"}),
]


def alert(match: dict[str, list[Payment]], pattern_id: str) -> str:
    return f"{pattern_id}: {match['large'][0].card} paid {match['large'][0].amount}"


def main() -> list[str]:
    env = StreamExecutionEnvironment.get_execution_environment()
    by_time: Any = WatermarkStrategy.for_monotonous_timestamps()
    payments = env.from_collection(PAYMENTS).assign_timestamps_and_watermarks(
        by_time.with_timestamp_assigner(lambda payment, _: payment.at_ms)
    )
    rules = env.from_collection([(since, json.dumps(rule)) for since, rule in RULES])
    timed = rules.assign_timestamps_and_watermarks(by_time.with_timestamp_assigner(lambda rule, _: rule[0]))
    patterns = CEP.dynamic_patterns(payments.key_by("card"), timed.map(lambda rule: rule[1]))
    return list(patterns.updates_in_event_time().select(alert).execute_and_collect("dynamic patterns"))


if __name__ == "__main__":
    print(*main(), sep="\n")
