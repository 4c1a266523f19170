"""Pages whose blocks are one program: it runs, without Spark; so do the pytest file and the example on testing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from penstock.testing import pytest_plugin

pytest_plugins = "pytester"

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "testing.md"
WINDOWS = ROOT / "docs" / "windows.md"
STREAMS = ROOT / "docs" / "streams.md"
SAVEPOINTS = ROOT / "docs" / "savepoints.md"
COLUMNS = ROOT / "docs" / "columns.md"
JDBC = ROOT / "docs" / "jdbc.md"
SOURCES_AND_SINKS = ROOT / "docs" / "sources_and_sinks.md"
EXAMPLE = ROOT / "examples" / "testing_a_job.py"
FENCE = re.compile(r"^```python ?(\S*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(word: str, page: Path = PAGE) -> list[str]:
    """The code of the blocks of one kind, each behind as many empty lines as it has lines above it."""
    text = page.read_text()
    return ["\n" * text.count("\n", 0, found.start(2)) + found[2] for found in FENCE.finditer(text) if found[1] == word]


@pytest.mark.parametrize(
    "page", [PAGE, WINDOWS, STREAMS, SAVEPOINTS, COLUMNS, JDBC, SOURCES_AND_SINKS], ids=lambda page: page.stem
)
def test_the_program_of_the_page_runs(page: Path) -> None:
    # A module that nothing can import, so that its functions travel by value, as a script's do.
    namespace = {"__name__": f"{page.stem}_page"}
    for code in blocks("run-in-process", page):
        exec(compile(code, page, "exec", dont_inherit=True), namespace)


def test_the_test_file_of_the_page_passes(pytester: pytest.Pytester) -> None:
    (code,) = blocks("run-in-pytest")
    pytester.makepyfile(code)
    pytester.runpytest_inprocess().assert_outcomes(passed=4)


def test_only_the_block_for_spark_does_not_run() -> None:
    (shown,) = blocks("")
    assert "penstock_spark_env" in shown
    assert len(blocks("run-in-process")) >= 10
    assert blocks("", WINDOWS) == blocks("", STREAMS) == blocks("", SAVEPOINTS) == blocks("", COLUMNS) == []
    assert len(blocks("run-in-process", WINDOWS)) >= 7
    assert len(blocks("run-in-process", STREAMS)) >= 6
    assert len(blocks("run-in-process", SAVEPOINTS)) == 2
    assert len(blocks("run-in-process", COLUMNS)) == 4
    (shown,) = blocks("", JDBC)
    assert "AsyncConnection" in shown
    assert len(blocks("run-in-process", JDBC)) == 4
    assert len(blocks("run-in-process", SOURCES_AND_SINKS)) == 2


def test_every_fixture_is_on_the_page() -> None:
    fixtures = {name for name in vars(pytest_plugin) if name.startswith("penstock_")}
    assert fixtures == set(re.findall(r"^\| `(penstock_\w+)`", PAGE.read_text(), re.MULTILINE))


def test_the_example_passes(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_example=EXAMPLE.read_text())
    pytester.runpytest_inprocess().assert_outcomes(passed=2)
