"""The jobs whose operators are measured give results, and what is told of them is told right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import operators, windows
from penstock.datastream import DataStream, StreamExecutionEnvironment

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("name", list(operators.OPERATORS))
def test_every_job_has_results(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ends: list[DataStream] = []
    for module in (operators, windows):
        monkeypatch.setattr(module, "discard", ends.append)
    environment = StreamExecutionEnvironment.in_process().set_parallelism(2)
    operators.OPERATORS[name](environment, 6_000)
    (end,) = ends
    assert any(True for _ in end.execute_and_collect())


def test_a_cost_is_that_of_the_records_between_a_short_and_a_long_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operators, "_seconds", lambda build, records: 5.0 + records * 3e-6)
    assert operators.cost(lambda environment, count: None, 1_000) == pytest.approx(3.0)


def test_costs_are_stored_and_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    costs = iter([4.0, 2.0, 3.0])
    monkeypatch.setattr(operators, "cost", lambda build, records: next(costs))
    saved, before = tmp_path / "now.json", tmp_path / "before.json"
    before.write_text(json.dumps({"SQL: SESSION": 6.0}))
    arguments = ["--only", "sql: session", "--save", str(saved), "--against", str(before)]
    assert operators.main(arguments) == 0
    assert json.loads(saved.read_text()) == {"SQL: SESSION": 3.0}
    shown = capsys.readouterr().out
    assert "333,333" in shown
    assert "2.00" in shown


def test_a_name_that_is_no_operator_is_told(capsys: Any) -> None:
    with pytest.raises(SystemExit):
        operators.main(["--only", "nothing"])
    assert "no operator has 'nothing' in its name; there are: DataStream: map and filter" in capsys.readouterr().err
