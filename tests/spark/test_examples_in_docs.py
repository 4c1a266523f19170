"""Every block of the documents that is marked as runnable runs."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

DOCUMENTS = Path(__file__).parents[2] / "docs"
# Run by tests/server, tests/typing, tests/kafka, and cli, kstreams, table and testing_plugin of tests/unit.
RUN_ELSEWHERE = {
    "cep",
    "cli",
    "columns",
    "jdbc",
    "kafka",
    "kstreams",
    "savepoints",
    "sql_gateway",
    "sql_queries",
    "streams",
    "testing",
    "typing",
    "windows",
}
PAGES = [path for path in sorted(DOCUMENTS.glob("*.md")) if path.stem not in RUN_ELSEWHERE]
BLOCK = re.compile(r"^```python run\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks() -> list[object]:
    """One parameter for each block, with its code and the line it starts at."""
    found: list[object] = []
    for path in PAGES:
        text = path.read_text()
        for match in BLOCK.finditer(text):
            line = text.count("\n", 0, match.start(1))
            found.append(pytest.param(path, line, match.group(1), id=f"{path.stem}-{line + 1}"))
    return found


@pytest.mark.parametrize(("path", "line", "code"), blocks())
def test_the_block_runs(
    spark: SparkSession, path: Path, line: int, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    # As a module of its own that nothing can import, so that its functions travel by value, as a script's do.
    # Not with the future imports of this module, which the reader of the page does not have.
    exec(compile("\n" * line + code, path, "exec", dont_inherit=True), {"__name__": f"{path.stem}_block"})


def test_there_is_a_block_on_every_page_that_shows_code() -> None:
    shown = {path.stem for path in PAGES if "```python" in path.read_text()}
    assert "index" in shown
    assert shown == {path.stem for path in PAGES if BLOCK.search(path.read_text())}


def test_the_program_of_the_readme_gives_the_volumes_it_promises(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (DOCUMENTS.parent / "README.md").read_text()
    (code,) = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec", dont_inherit=True), {"__name__": "readme_block"})
    lines = [line for part in (tmp_path / "volumes").glob("part-*.json") for line in part.read_text().splitlines()]
    rows = sorted((row["symbol"], row["minute_end"], row["volume"]) for row in map(json.loads, lines))
    assert rows == [("ACME", 59_999, 7), ("ACME", 119_999, 7), ("EMCA", 59_999, 1)]
