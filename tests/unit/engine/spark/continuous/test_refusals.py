"""Which Spark sessions cannot run continuous mode, and what is said of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from penstock.engine.spark.continuous.pipelined import SESSION_CONFIG, SPARE_SLOTS, refusal

TASKS = 6


def session(version: str = "4.3.0", slots: int = TASKS + SPARE_SLOTS, **settings: str) -> Any:
    """A session as far as it is asked."""
    told = {**SESSION_CONFIG, **{key.replace("__", "."): value for key, value in settings.items()}}
    context = SimpleNamespace(getConf=lambda: told, defaultParallelism=slots)
    return SimpleNamespace(version=version, sparkContext=context)


@pytest.mark.parametrize("version", ["4.3.0", "4.3.12"])
def test_a_session_that_penstock_made_is_taken(version: str) -> None:
    assert refusal(session(version), TASKS) is None


REFUSED = [
    (session("4.2.1"), "known to work with Spark 4.3.x, and this is 4.2.1"),
    (session("4.30.0"), "this is 4.30.0"),
    (session(spark__python__udf__pipelined__enabled="false"), "made without spark.python.udf.pipelined.enabled=true"),
    (session(spark__dynamicAllocation__enabled="true"), "dynamic allocation is on"),
    (session(slots=TASKS + SPARE_SLOTS - 1), "its 6 tasks run at the same time and 2 slots are needed beside them"),
]


@pytest.mark.parametrize(("given", "said"), REFUSED, ids=[said for _, said in REFUSED])
def test_others_are_refused_with_the_reason(given: Any, said: str) -> None:
    reason = refusal(given, TASKS)
    assert reason is not None and said in reason
