"""A cached stream on Spark: computed by the first job, read by the next."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.common import WatermarkStrategy
from penstock.connectors.generated.sequence import NumberSequence
from tests.spark.conftest import NewEnvironment


@pytest.mark.timeout(600)
def test_it_is_computed_once(new_environment: NewEnvironment, tmp_path: Path) -> None:
    notes = str(tmp_path / "notes")

    def noted(number: int) -> int:
        with open(notes, "a") as stream:
            stream.write(f"{number}\n")
        return number

    environment = new_environment(2, **{"penstock.batch.max-records": 40})
    numbers = environment.from_source(NumberSequence(1, 100), WatermarkStrategy.no_watermarks(), "numbers")
    cached = numbers.map(noted).key_by(lambda number: number % 5).reduce(lambda last, number: number).cache()
    assert sorted(cached.execute_and_collect()) == list(range(1, 101))
    assert sorted(cached.map(lambda number: -number).execute_and_collect()) == list(range(-100, 0))
    assert len(Path(notes).read_text().splitlines()) == 100
