"""On Spark too: however micro-batches cut the input and whatever the parallelism, the results are the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from penstock.datastream import StreamExecutionEnvironment
from tests.unit.runtime import cut_program

TRADES = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, cut_program.DISORDER), st.integers(0, 9)), min_size=10, max_size=24
).map(cut_program.trades)


def labelled(name: str, value: Any) -> tuple[str, Any]:
    return name, value


def collected(environment: StreamExecutionEnvironment, values: list[Any], size: int) -> dict[str, Counter[Any]]:
    streams = cut_program.build(environment, values, size)
    first, *others = [stream.map(partial(labelled, name)) for name, stream in streams.items()]
    found: dict[str, Counter[Any]] = {name: Counter() for name in streams}
    for name, value in first.union(*others).execute_and_collect():
        found[name][value] += 1
    return found


CHOICES = given(
    values=TRADES,
    size=st.integers(1, 20),
    parallelism=st.integers(1, 4),
    max_records=st.sampled_from([10, 20, 40, 1_000]),
    pace=st.integers(1, 10),
    backend=st.sampled_from(["lmdb", "heap"]),
)


def examples(count: int) -> settings:
    """No shrinking: each example is a job, and the in-process twin of these tests shrinks well."""
    return settings(
        max_examples=count,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )


def check(
    new_environment: Callable[..., StreamExecutionEnvironment],
    values: list[cut_program.Trade],
    size: int,
    parallelism: int,
    max_records: int,
    pace: int,
    backend: str,
) -> None:
    configuration = {
        "penstock.batch.max-records": max_records,
        "pipeline.watermark-every-records": pace,
        "state.backend.type": backend,
    }
    found = collected(new_environment(parallelism=parallelism, **configuration), values, size)
    for name, records in cut_program.expected(values, size).items():
        assert found[name] == records, name


@pytest.mark.slow
@examples(2)
# The simplest job that hypothesis begins with has one batch and shows nothing: an example with many comes first.
@example(
    values=cut_program.trades([("abc"[n % 3], n % (cut_program.DISORDER + 1), n % 10) for n in range(24)]),
    size=7,
    parallelism=3,
    max_records=10,
    pace=3,
    backend="lmdb",
)
@CHOICES
def test_results_do_not_depend_on_micro_batches_or_parallelism(
    new_environment: Callable[..., StreamExecutionEnvironment], **choices: Any
) -> None:
    check(new_environment, **choices)


@pytest.mark.soak
@examples(40)
@CHOICES
def test_results_of_many_jobs_do_not_depend_on_micro_batches_or_parallelism(
    new_environment: Callable[..., StreamExecutionEnvironment], **choices: Any
) -> None:
    check(new_environment, **choices)
