"""What a program gets of `execute_and_collect` in continuous mode when processes die: once, or at least once."""

from __future__ import annotations

from collections import Counter

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.checkpointing_mode import CheckpointingMode

NUMBERS = range(60)
SEEDS = range(8)


def collected(seed: int, guarantee: CheckpointingMode, mode: str = "continuous") -> Counter[int]:
    """What a job gives its program whose process dies now and then."""
    configuration = Configuration.from_dict({"penstock.execution.mode": mode, "penstock.batch.max-records": "10"})
    env = StreamExecutionEnvironment.in_process(seed, crash_rate=0.02, configuration=configuration)
    env.get_checkpoint_config().set_checkpointing_mode(guarantee)
    numbers = env.set_parallelism(2).from_collection(list(NUMBERS)).key_by(lambda number: number % 7)
    with numbers.map(lambda number: number).execute_and_collect() as results:
        return Counter(results)


def test_records_come_once_by_default() -> None:
    assert {collected(seed, CheckpointingMode.EXACTLY_ONCE) == Counter(NUMBERS) for seed in SEEDS} == {True}


def test_records_come_at_least_once_if_that_is_enough() -> None:
    found = [collected(seed, CheckpointingMode.AT_LEAST_ONCE) for seed in SEEDS]
    assert all(set(each) == set(NUMBERS) for each in found), "records were lost"
    assert any(each != Counter(NUMBERS) for each in found), "nothing was shown before it was final"


def test_in_micro_batches_records_come_once_with_either() -> None:
    found = [collected(seed, CheckpointingMode.AT_LEAST_ONCE, "micro-batch") for seed in SEEDS]
    assert found == [Counter(NUMBERS)] * len(SEEDS)
