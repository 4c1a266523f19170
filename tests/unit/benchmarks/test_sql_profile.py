"""The profile of SQL runs every workload, and names the functions that cost most."""

from __future__ import annotations

import pytest

from benchmarks import sql_profile
from benchmarks.catalogue import WORKLOADS


def test_every_sql_workload_is_measured(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql_profile, "WARM_UP", 100)
    assert sql_profile.main(["--records", "500"]) == 0
    told = [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()]
    assert told == [name for name in WORKLOADS if name.startswith("sql_")]


def test_functions_are_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql_profile, "WARM_UP", 100)
    assert sql_profile.main(["sql_filter", "--records", "500", "--functions", "5"]) == 0
    assert "Ordered by: internal time" in capsys.readouterr().out


def test_a_workload_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        sql_profile.main(["count_2k"])
    assert "unknown count_2k; there are sql_filter" in capsys.readouterr().err
