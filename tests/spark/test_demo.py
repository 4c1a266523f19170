"""The demo comes to the right answer, and would say so if it did not."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

EXAMPLES = Path(__file__).parents[2] / "examples"
COUNT = 15_000  # twenty-five minutes: the first stragglers come after twenty


@pytest.fixture
def trades(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    yield importlib.import_module("trades.demo")
    for name in [name for name in sys.modules if name.split(".")[0] == "trades"]:
        del sys.modules[name]


def split(trades: ModuleType, count: int) -> tuple[list[Any], list[Any]]:
    """The trades in time and those too late, by their own report time."""
    made = [trades.next_trade(number) for number in range(count)]
    return (
        [trade for trade in made if trades.delay_of(trade) <= trades.BOUND_MS],
        [trade for trade in made if trades.delay_of(trade) > trades.BOUND_MS],
    )


def test_the_job_agrees_with_plain_python(
    trades: ModuleType, spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert trades.main(tmp_path, COUNT, None) is True
    shown = capsys.readouterr().out
    assert "the job and plain Python agree on 15,000 trades" in shown
    assert all(symbol in shown for symbol in trades.SYMBOLS)
    assert trades.written_late(tmp_path), "the demo should have trades that come too late"


def test_the_input_has_everything_the_demo_is_about(trades: ModuleType) -> None:
    on_time, too_late = split(trades, 36_000)
    times = [trade.at_ms for trade in on_time]
    assert times != sorted(times)
    assert len(too_late) > 50
    assert len({trade.symbol for trade in on_time}) == len(trades.SYMBOLS)
    assert len(list(trades.expected_alerts(on_time))) > len(trades.SYMBOLS)


@pytest.mark.parametrize("damage", ["nothing", "a cent", "a late trade", "an alert"])
def test_a_wrong_answer_is_seen(trades: ModuleType, tmp_path: Path, damage: str) -> None:
    on_time, too_late = split(trades, COUNT)
    minutes = [minute._asdict() for minute in trades.expected_minutes(on_time)]
    alerts = list(trades.expected_alerts(on_time))
    if damage == "a cent":
        minutes[7]["notional_cents"] += 1
    elif damage == "a late trade":
        too_late.pop()
    elif damage == "an alert":
        alerts.append(alerts[0])
    for folder in ("notional", "late"):
        (tmp_path / folder).mkdir()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(minutes), tmp_path / "notional" / "part-0.parquet")
    lines = [trades.json.dumps(trade._asdict()) for trade in too_late]
    (tmp_path / "late" / "part-0.json").write_text("\n".join(lines))
    verdicts = trades.check(tmp_path, alerts, COUNT)
    assert [what for what, is_equal in verdicts.items() if not is_equal] == {
        "nothing": [],
        "a cent": ["notional by symbol and minute"],
        "a late trade": ["trades that came too late"],
        "an alert": ["inactivity alerts"],
    }[damage]
