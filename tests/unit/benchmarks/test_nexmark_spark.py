"""Nexmark in Spark's own streaming: what it says and what it refuses, and how that stands in tables and on the page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from benchmarks.nexmark import __main__ as nexmark
from benchmarks.nexmark.model import VIEWS
from benchmarks.nexmark.queries import QUERIES
from benchmarks.nexmark.results_of import latest
from benchmarks.nexmark.spark_sql import REFUSED, SPARK_QUERIES, UPDATED, in_spark
from benchmarks.pages.nexmark import nexmark_section
from benchmarks.processes import Ended

FLINK_ONLY = ("TABLE(", "TIMESTAMP(3)", "TO_TIMESTAMP_LTZ", "SPLIT_INDEX", "ROW_NUMBER", "DISTINCT")


def results(*rates: tuple[str, str, float]) -> dict[str, Any]:
    runs = [
        {"workload": query, "system": system, "records_per_second": rate, "processor_us": None}
        for query, system, rate in rates
    ]
    machine = {"cores": 2, "cpu": "x", "memory_gb": 1, "system": "y"}
    when = {"rounds": 1, "date": "d", "commit": "c"}
    return {"runs": runs, "parallelism": 2, "machine": machine, "versions": {}, **when}


MEASURED = results(
    ("q0", "penstock", 200.0),
    ("q0", "flink_sql", 100.0),
    ("q0", "spark", 50.0),
    ("q2", "penstock", 90.0),
    ("q2", "flink_sql", 100.0),
    ("q2", "spark", 180.0),
    ("q4", "penstock", 30.0),
    ("q4", "flink_sql", 20.0),
)


def test_spark_says_every_query_that_it_does_not_refuse() -> None:
    assert list(SPARK_QUERIES) == [query for query in QUERIES if query not in REFUSED]
    assert set(UPDATED) < set(SPARK_QUERIES)
    texts = {**SPARK_QUERIES, **{name: in_spark(text) for name, text in VIEWS.items()}}
    left = {name: word for name, text in texts.items() for word in FLINK_ONLY if word in text}
    assert left == {}
    fractions = {name for name, text in texts.items() if re.search(r"(?<!DOUBLE\)) / ", text)}
    assert fractions == set(), "Spark divides whole numbers with DIV"


def test_words_that_differ_are_replaced() -> None:
    assert in_spark("COUNT(DISTINCT a) FILTER (WHERE b < 1), COUNT(DISTINCT a)") == (
        "SIZE(COLLECT_SET(a) FILTER (WHERE b < 1)), SIZE(COLLECT_SET(a))"
    )
    assert in_spark("SPLIT_INDEX(url, '/', 3)") == "SPLIT_PART(url, '/', 4)"
    assert in_spark("n / 50 + CAST(n AS DOUBLE) / 7") == "n DIV 50 + CAST(n AS DOUBLE) / 7"


@pytest.mark.parametrize("query", SPARK_QUERIES)
def test_inputs_are_several_whole_batches(query: str) -> None:
    workload, system = nexmark.workload(query), nexmark.SYSTEMS["spark"]
    batch = workload.options_of(system)["batch"]
    small, large = workload.sizes(system, 5.0, 1.0)
    assert (small % batch, large % batch) == (0, 0) and large >= 4 * batch


def test_what_spark_refuses_is_not_planned() -> None:
    plan = nexmark.plan_of(["q3", "q4"], ["penstock", "spark"], 2)
    assert [(turn, query.id, system.id) for turn, query, system in plan] == [
        (1, "q3", "penstock"),
        (1, "q3", "spark"),
        (1, "q4", "penstock"),
        (2, "q3", "spark"),
        (2, "q3", "penstock"),
        (2, "q4", "penstock"),
    ]


def test_tables_of_all_systems_are_compared_with_that_of_flink(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = {"penstock": [["1"], ["2"]], "flink_sql": [["1"], ["2"]], "spark": [["1"], ["1"], ["2"]]}
    asked = []

    def run(workload: Any, system: Any, sizes: list[int], *, collect: bool) -> Any:
        asked.append((workload.id, system.id, sizes, collect))
        return Ended(0.0, 1.0, None), [{"results": tables[system.id]}]

    monkeypatch.setattr(nexmark, "run", run)
    assert nexmark.main(["--verify", "--only", "q2,q4", "--events", "500"]) == 1
    told = " ".join(capsys.readouterr().out.split())
    assert "q2: 3 rows in Spark against 2 in Flink SQL; only Flink SQL has [], only Spark has [['1']]" in told
    assert "q4: equal in Penstock, Flink SQL" in told and "q4 cannot be said in Spark: an average" in told
    assert [system for query, system, *_ in asked if query == "q4"] == ["penstock", "flink_sql"]
    assert all(sizes == [500] and collect for _, _, sizes, collect in asked)
    tables["spark"] = tables["flink_sql"]
    assert nexmark.main(["--verify", "--only", "q2"]) == 0
    assert "q2: equal in Penstock, Flink SQL, Spark" in capsys.readouterr().out
    tables.update({system: [] for system in tables})
    assert nexmark.main(["--verify", "--only", "q2"]) == 1, "nothing is equal to nothing, which shows nothing"


def test_an_unknown_system_is_an_error(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        nexmark.main(["--systems", "sparc", "--output", str(tmp_path / "nexmark.json")])
    assert "--systems: unknown sparc" in capsys.readouterr().err


def test_the_table_has_a_column_of_spark() -> None:
    console = Console(width=200)
    with console.capture() as captured:
        console.print(nexmark.table_of(MEASURED))
    rows = [re.split(r"\s*│\s*", line.strip("│ ")) for line in captured.get().splitlines() if "│" in line]
    by_query = {row[0]: row[1:] for row in rows}
    assert by_query["q0"] == ["200", "100", "2.00 x", "", "-", "50", "4.00 x"]
    assert by_query["q4"] == ["30", "20", "1.50 x", "", "-", "-", "-"]
    assert by_query["geometric mean"][-1] == "1.41 x"


def test_the_page_shows_spark_where_it_was_measured() -> None:
    section = nexmark_section(MEASURED)
    lines = section.text().splitlines()
    assert "| q0 | pass through | 200 | 100 | 2.00 x | 100 | 50 | 4.00 x |" in lines
    assert "| q4 | average of closing prices | 30 | 20 | 1.50 x | 15 | - | - |" in lines
    assert "Geometric mean over 2 queries: **1.41 x** Spark; faster at 1 of them, slower at q2." in lines
    assert f"Spark cannot say q4: {REFUSED['q4']}." in lines
    picture = section.pictures["nexmark-spark"]
    assert "4.00 x" in picture and "0.50 x" in picture and "Spark cannot say it" in picture
    assert "not measured yet" not in section.text()


def test_the_page_does_without_figures_of_spark() -> None:
    section = nexmark_section(results(("q0", "penstock", 200.0), ("q0", "flink_sql", 100.0)))
    assert "| q0 | pass through | 200 | 100 | 2.00 x | 100 |" in section.text().splitlines()
    assert "Spark is not measured yet" in section.text() and list(section.pictures) == ["nexmark"]


def test_a_row_is_named_by_any_of_its_columns() -> None:
    rows = [("+I", ["a", "x", 1]), ("+I", ["a", "y", 2]), ("+I", ["a", "z", 1])]
    assert latest(rows, (0, 2)) == [["a", "y", "2"], ["a", "z", "1"]]
