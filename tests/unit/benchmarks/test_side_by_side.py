"""The runner of the comparison, as far as it starts no process: the plan, what is kept, the tables."""

from __future__ import annotations

import io
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from benchmarks import side_by_side, tables
from benchmarks.pages.section import heading
from benchmarks.side_by_side import keep, plan_of
from tests.unit.benchmarks import made_up


def finished(turn: int, rate: float) -> dict[str, Any]:
    names = {"workload": "timers", "system": "penstock", "round": turn}
    return {**names, "records_per_second": rate, "startup_seconds": 1.0, "peak_mb": 100, "error": None}


def names(words: str) -> list[tuple[int, str, str]]:
    arguments = side_by_side._arguments(words.split())
    return [(turn, workload.id, system.id) for turn, workload, system in plan_of(arguments)]


def test_systems_take_turns_and_another_one_begins_each_round() -> None:
    plan = names("--only timers,map_filter --systems penstock,pyflink_thread --rounds 2")
    assert plan == [
        (1, "timers", "penstock"),
        (1, "timers", "pyflink_thread"),
        (1, "map_filter", "penstock"),
        (1, "map_filter", "pyflink_thread"),
        (2, "timers", "pyflink_thread"),
        (2, "timers", "penstock"),
        (2, "map_filter", "pyflink_thread"),
        (2, "map_filter", "penstock"),
    ]


def test_a_system_that_cannot_do_a_job_is_left_out() -> None:
    assert names("--only interval_join --systems bytewax_1,flink_sql --rounds 1") == [(1, "interval_join", "flink_sql")]


def test_the_quick_comparison_has_one_round_and_a_file_of_its_own() -> None:
    arguments = side_by_side._arguments(["--quick"])
    assert {turn for turn, _, _ in plan_of(arguments)} == {1}
    assert arguments.output.name == "quick.json"


def test_results_that_are_added_to_say_when_each_part_was_measured(tmp_path: Path) -> None:
    path = tmp_path / "peers.json"
    before = {**made_up.HEADING, "date": "first", "commit": "a", "earlier": [{"date": "zeroth", "commit": "b"}]}
    path.write_text(json.dumps({**before, "runs": [finished(1, 10)]}))
    arguments = side_by_side._arguments(["--append", "--output", str(path)])
    content = side_by_side._beginning(arguments, set())
    assert content["runs"] == [finished(1, 10)]
    assert content["earlier"] == [{"date": "zeroth", "commit": "b"}, {"date": "first", "commit": "a"}]
    assert heading(content).startswith("Measured zeroth at commit b and first at commit a and 20")


@pytest.mark.parametrize(("words", "seconds"), [("", 5.0), ("--quick", 2.0), ("--quick --seconds 7", 7.0)])
def test_inputs_of_the_quick_comparison_are_shorter(words: str, seconds: float) -> None:
    assert side_by_side._arguments(words.split()).seconds == seconds


def test_a_name_that_is_not_known_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        side_by_side._arguments(["--only", "cuont_2k"])
    assert "--only: unknown cuont_2k; there are map_filter, count_2k" in capsys.readouterr().err


def test_a_run_takes_the_place_of_the_same_one_before() -> None:
    content: dict[str, Any] = {"runs": [finished(1, 10), finished(2, 20)]}
    keep(content, finished(1, 30))
    assert content["runs"] == [finished(2, 20), finished(1, 30)]


def test_an_environment_that_cannot_be_made_fails_its_systems_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(environment: str) -> None:
        if environment == "bytewax":
            raise subprocess.CalledProcessError(1, "pip")

    monkeypatch.setattr(side_by_side.peer_environments, "prepare", refuse)
    monkeypatch.setattr(side_by_side, "measure", lambda workload, system, turn, *_: finished(turn, 10.0))
    output = tmp_path / "peers.json"
    words = f"--only count_2k --systems penstock,bytewax_1 --rounds 1 --output {output}"
    assert side_by_side.main(words.split()) == 1
    errors = [run["error"] for run in json.loads(output.read_text())["runs"]]
    assert errors == [None, "its environment could not be made: Command 'pip' returned non-zero exit status 1."]


def test_a_failed_run_says_why() -> None:
    failed = {**finished(1, 10), "error": "not finished after 300 s"}
    assert tables.line(failed) == "round 1, map state and timers, Penstock: failed, not finished after 300 s"


def test_the_table_has_speed_ratio_start_and_memory_of_each_system() -> None:
    console = Console(width=200, record=True, file=io.StringIO())
    tables.show(console, made_up.peers())
    text = console.export_text()
    rows = [" ".join(line.replace("│", " ").split()) for line in text.splitlines()]
    assert any(row.startswith("keyed count, 2,000 keys Penstock 470,000 ") for row in rows)
    assert any(row.startswith("PyFlink, process 24,000 20 x ") for row in rows)
    assert any(row.startswith("Bytewax, 1 process failed ") and "killed after" in row for row in rows)
    assert "keyed count, 2,000 keys, against PyFlink, process 15 x 20 x reached" in rows
    assert "Abacus 3000, 2 cores" in text
