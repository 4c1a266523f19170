"""`penstock sql` on Spark, in a real terminal: queries, a live view that is cancelled, and nothing left behind."""

from __future__ import annotations

import json
from pathlib import Path

import psutil
import pytest

from penstock.engine.spark.startup.session_config import JAVA_OPTIONS
from penstock.user_cache import user_cache
from tests.spark.processes import QUICK_JAVA
from tests.spark.waiting import wait_until
from tests.unit.cli.terminal import CTRL_C, ENTER, Terminal

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

PROMPT = "Penstock SQL>"
INIT = """
CREATE TABLE orders (id BIGINT, fruit AS CASE WHEN MOD(id, 3) = 0 THEN 'pear' ELSE 'apple' END, amount AS id * 2)
WITH ('connector' = 'datagen', 'fields.id.kind' = 'sequence', 'fields.id.start' = '0', 'fields.id.end' = '8');
CREATE TABLE clicks (id BIGINT) WITH (
    'connector' = 'datagen', 'rows-per-second' = '20', 'fields.id.min' = '0', 'fields.id.max' = '4'
);
CREATE TABLE nowhere (id BIGINT) WITH ('connector' = 'blackhole');
"""


def jobs_of(home: Path) -> list[str]:
    """The cards of running jobs."""
    return [json.loads(card.read_text())["name"] for card in (home / "h" / "jobs").glob("*.json")]


def run(shell: Terminal, statement: str, *shown: str) -> None:
    shell.type(statement + ENTER)
    shell.wait_for(*shown)


def test_a_session_on_spark_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "init.sql").write_text(INIT)
    # A history of its own. Java's classes are those of all: without them Java starts slowly, and puts them away when it
    # ends.
    cache = tmp_path / "cache"
    cache.mkdir()
    for name in ("classes", "java"):
        (user_cache() / name).mkdir(parents=True, exist_ok=True)
        (cache / name).symlink_to(user_cache() / name)
    java = f"-D{JAVA_OPTIONS}={QUICK_JAVA}"
    shell = Terminal(
        *("-m", "penstock", "sql", "--master", "local[2]", "-p", "2", java, "-i", str(tmp_path / "init.sql")),
        environment={"PENSTOCK_CACHE": str(cache), "PENSTOCK_HOME": str(tmp_path / "h")},
        limit=240,
    )
    try:
        shell.wait_for_line(PROMPT)
        run(
            shell,
            "SELECT fruit, SUM(amount) AS total FROM orders GROUP BY fruit;",
            "|  pear |    18 |",
            "| apple |    54 |",
        )
        shell.wait_for_line(PROMPT)
        run(shell, "INSERT INTO nowhere SELECT id FROM clicks;", "in the background.")
        shell.wait_for_line(PROMPT)
        run(shell, "SELECT id, COUNT(*) AS times FROM clicks GROUP BY id;", " 5 rows, ", "q, Ctrl-C: end the query")
        wait_until(lambda: len(jobs_of(tmp_path)) == 2, "the first query has gone, two jobs run")
        shell.type(CTRL_C)
        shell.wait_for("The query was cancelled after", "5 rows.")
        shell.wait_for_line(PROMPT)
        wait_until(lambda: len(jobs_of(tmp_path)) == 1, "the query has gone")
        assert [name.partition("_")[0] for name in jobs_of(tmp_path)] == ["insert-into"]  # the other one goes on
        # A signal this time, as the terminal is not raw: Spark's processes get it too.
        run(shell, "SET 'sql-client.execution.result-mode' = 'tableau';", "OK")
        run(shell, "SELECT id FROM clicks;", "| +I |")
        shell.type(CTRL_C)
        shell.wait_for("Cancelled.")
        shell.wait_for_line(PROMPT)
        run(shell, "SELECT 1 / (id - id) AS x FROM orders;", "zero")
        shell.wait_for_line(PROMPT)
        run(shell, "SELECT 40 + 2 AS answer;", "42 |")
        shell.wait_for_line(PROMPT)
        run(shell, "SHOW JOBS;", "RUNNING")
        started = shell.children()
        assert [child for child in started if "java" in child.name()]
        run(shell, "QUIT;", "1 job runs in this shell")
        shell.type("QUIT;" + ENTER)
        assert shell.wait_for_end() == 0
        _, left = psutil.wait_procs(started, timeout=60)
        assert (left, jobs_of(tmp_path)) == ([], [])
    finally:
        shell.close()
