"""The small examples run, and give what their first lines promise."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow.dataset
import pytest
from pyspark.sql import SparkSession

EXAMPLES = Path(__file__).parents[2] / "examples"

LoadExample = Callable[[str], ModuleType]


@pytest.fixture
def example(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoadExample]:
    """Import an example by its name, as its own script would; forgotten after the test."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    loaded: list[str] = []

    def load(name: str) -> ModuleType:
        loaded.append(name)
        return importlib.import_module(name)

    yield load
    for name in loaded:
        sys.modules.pop(name, None)


def json_lines(folder: Path) -> list[Any]:
    return [json.loads(line) for path in folder.glob("part-*") for line in path.read_text().splitlines()]


def test_every_example_is_short_and_says_what_it_mirrors() -> None:
    others = {"conftest.py", "draw.py"}
    small = [path for path in EXAMPLES.glob("*.py") if path.name not in others]
    assert "keyed_state.py" in {path.name for path in small}
    for path in small:
        text = path.read_text()
        assert len(text.splitlines()) <= 60, path.name
        assert "Mirrors" in text.split('"""')[1], path.name


def test_keyed_state_averages_every_two_values_of_a_key(example: LoadExample) -> None:
    assert sorted(example("keyed_state").main()) == [("a", 4.0), ("a", 5.5), ("b", 20.0)]


def test_timers_end_a_visit_after_a_minute_without_clicks(example: LoadExample) -> None:
    visits = example("timers").main()
    assert sorted(visits) == [("ann", 1, 95_000), ("ann", 2, 30_000), ("bob", 1, 5_000), ("bob", 1, 70_000)]


def test_side_outputs_keep_what_cannot_be_used(example: LoadExample, tmp_path: Path) -> None:
    assert sorted(example("side_outputs").main(tmp_path)) == [19.8, 21.5, 22.0]
    assert sorted(json_lines(tmp_path)) == [
        ["", "not a number"],
        ["-400", "colder than possible"],
        ["broken", "not a number"],
    ]


def test_async_enrichment_asks_a_service_for_each_order(example: LoadExample) -> None:
    assert sorted(example("async_enrichment").main()) == [("ann", 25), ("ann", 30), ("bob", 10), ("unknown", 5)]


def test_jdbc_lookup_writes_orders_with_the_names_of_their_customers(example: LoadExample, tmp_path: Path) -> None:
    named = [(1, "ann", 30), (2, "bob", 10), (3, "ann", 25), (4, None, 5)]
    assert example("jdbc_lookup").main(str(tmp_path)) == named


def test_dynamic_patterns_alert_by_the_rules_of_the_time_of_a_payment(example: LoadExample) -> None:
    assert sorted(example("dynamic_patterns").main()) == ["large: bob paid 990.0", "probe: ann paid 800.0"]


def test_ride_matching_reports_rides_and_halves_of_rides(example: LoadExample) -> None:
    assert sorted(example("ride_matching").main()) == [
        "ride 1 took 25 minutes",
        "ride 2 has no end",
        "ride 3 took 30 minutes",
        "ride 4 has no start",
    ]


def test_order_payment_join_finds_orders_that_are_not_paid(example: LoadExample) -> None:
    assert sorted(example("order_payment_join").main()) == [
        "order 1 (tea) is paid after 5 minutes",
        "order 2 (soup) is not paid",
        "order 3 (cake) is paid after 60 minutes",
    ]


def test_event_time_puts_readings_in_order(example: LoadExample) -> None:
    module = example("event_time")
    ordered = module.main()
    assert sorted(ordered) == sorted(module.READINGS)
    for sensor in ("north", "south"):
        times = [reading.at_ms for reading in ordered if reading.sensor == sensor]
        assert times == sorted(times)


def test_windows_find_the_best_driver_of_each_hour(example: LoadExample) -> None:
    hour = 3_600_000
    assert sorted(example("windows").main()) == [(hour, "ann", 4.0), (2 * hour, "cem", 4.0)]


def test_late_data_corrects_a_window_or_is_put_aside(example: LoadExample, tmp_path: Path) -> None:
    results = example("late_data").main(tmp_path)
    assert [reading.value for reading in results] == [5, 8, 1, 2]
    assert json_lines(tmp_path) == [{"sensor": "north", "at_ms": 3_000, "value": 9}]


def test_file_to_file_writes_a_folder_for_each_country(example: LoadExample, tmp_path: Path) -> None:
    source, target = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    (source / "a.csv").write_text("id,country,cents\n1,NO,250\n2,SE,0\n3,NO,100\n")
    (source / "b.csv").write_text("id,country,cents\n4,SE,999\n")
    example("file_to_file").main(source, target)
    table = pyarrow.dataset.dataset(target, format="parquet", partitioning="hive").to_table().to_pylist()
    assert sorted((row["id"], row["country"], row["euros"]) for row in table) == [
        (1, "NO", 2.5),
        (3, "NO", 1.0),
        (4, "SE", 9.99),
    ]
    assert {path.name for path in target.iterdir() if not path.name.startswith(".")} == {"country=NO", "country=SE"}


def test_spark_source_and_writer_keep_the_highest_reading(example: LoadExample, tmp_path: Path) -> None:
    source, target = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    readings = [("north", 20.5), ("north", 21.5), ("north", 19.0), ("south", 30.0)]
    lines = [json.dumps({"sensor": sensor, "value": value}) for sensor, value in readings]
    (source / "a.json").write_text("\n".join(lines))
    example("spark_source_and_writer").main(source, target)
    table = pyarrow.dataset.dataset(target, format="parquet", partitioning="hive").to_table().to_pylist()
    found = sorted((row["sensor"], row["highest"]) for row in table)
    assert found == [("north", 20.5), ("north", 21.5), ("north", 21.5), ("south", 30.0)]


def test_restart_and_resume_counts_every_number_once(example: LoadExample, tmp_path: Path) -> None:
    module = example("restart_and_resume")
    assert module.main(tmp_path) >= 1
    counts = sorted(json_lines(tmp_path / "counts"))
    assert counts == [[key, count] for key in range(10) for count in range(1, module.COUNT // 10 + 1)]


def test_savepoint_upgrade_loses_and_repeats_nothing(example: LoadExample, tmp_path: Path) -> None:
    upgrade = example("savepoint_upgrade")
    savepoint = Path(upgrade.main(tmp_path))
    assert (savepoint / "savepoint.json").exists()
    each = upgrade.COUNT // 10
    expected = sorted([digit, count] for digit in range(10) for count in range(1, each + 1))
    assert sorted(json_lines(tmp_path / "counts")) == expected
    assert [count for _, count in json_lines(tmp_path / "hundreds") if count == each] == [200] * 10


def test_fix_state_puts_totals_right_and_goes_on(example: LoadExample, tmp_path: Path) -> None:
    assert example("fix_state").main(tmp_path) == [("ann", 8), ("bob", 9)]
