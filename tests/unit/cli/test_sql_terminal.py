"""`penstock sql` in a real terminal: typing, completion, history, running queries and their end, in process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.cli.terminal import CTRL_C, CTRL_D, ENTER, TAB, UP, Terminal

INIT = """
CREATE TABLE orders (
    id BIGINT,
    fruit AS CASE WHEN MOD(id, 3) = 0 THEN 'pear' ELSE 'apple' END,
    amount AS id * 2
) WITH ('connector' = 'datagen', 'fields.id.kind' = 'sequence', 'fields.id.start' = '0', 'fields.id.end' = '8');
CREATE TABLE clicks (id BIGINT) WITH (
    'connector' = 'datagen', 'rows-per-second' = '50', 'fields.id.min' = '0', 'fields.id.max' = '4'
);
CREATE TABLE nowhere (id BIGINT) WITH ('connector' = 'blackhole');
CREATE TABLE shown (id BIGINT) WITH ('connector' = 'print', 'print-identifier' = 'row');
"""
PROMPT = "Penstock SQL>"
MORE = "           ->"


def make_home(folder: Path) -> Path:
    (folder / "init.sql").write_text(INIT)
    return folder


def opened(home: Path) -> Terminal:
    terminal = Terminal(
        *("-m", "penstock", "sql", "-D", "penstock.engine=in-process", "-p", "1", "-i", str(home / "init.sql")),
        environment={"PENSTOCK_CACHE": str(home / "cache"), "PENSTOCK_HOME": str(home / "h")},
    )
    terminal.wait_for_line(PROMPT)
    return terminal


def leave(shell: Terminal) -> None:
    children = shell.children()
    shell.type("QUIT;" + ENTER)
    assert shell.wait_for_end() == 0
    assert not [child for child in children if child.is_running()]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_home(tmp_path_factory.mktemp("shell"))


@pytest.fixture(scope="module")
def opened_shell(home: Path) -> Iterator[Terminal]:
    terminal = opened(home)
    try:
        yield terminal
        leave(terminal)
    finally:
        terminal.close()


@pytest.fixture
def shell(opened_shell: Terminal) -> Terminal:
    """One shell for all tests that leave it at its prompt; on an empty screen, with the settings of its start."""
    opened_shell.type("RESET; CLEAR;" + ENTER)
    opened_shell.wait(lambda lines: lines[0] == PROMPT and not any(lines[1:]))
    return opened_shell


@pytest.fixture
def own_shell(tmp_path: Path) -> Iterator[Terminal]:
    """A shell that a test may leave; its home is the test's folder."""
    terminal = opened(make_home(tmp_path))
    yield terminal
    terminal.close()


def test_a_statement_of_many_lines_runs_at_its_semicolon(shell: Terminal) -> None:
    shell.type("SELECT fruit, SUM(amount) AS total" + ENTER)
    shell.wait_for_line(MORE)
    shell.type("FROM orders GROUP BY fruit;" + ENTER)
    shell.wait_for("|  pear |    18 |", "| apple |    54 |", "2 rows in set (")
    shell.wait_for_line(PROMPT)


def test_tab_completes(shell: Terminal) -> None:
    shell.type("SELECT fru" + TAB)
    shell.wait_for_line(f"{PROMPT} SELECT fruit")
    shell.type(" FROM ord" + TAB)
    shell.wait_for_line(f"{PROMPT} SELECT fruit FROM orders")
    shell.type(" WHERE am" + TAB)
    shell.wait_for_line(f"{PROMPT} SELECT fruit FROM orders WHERE amount")
    shell.type(" > 14;" + ENTER)
    shell.wait_for("| apple |", "1 row in set")
    shell.wait_for_line(PROMPT)
    shell.type("SET 'sql-client.ex" + TAB)
    shell.wait_for("sql-client.execution.result-mode", "sql-client.execution.max-table-result.rows")
    shell.type(CTRL_C)  # drops what is typed
    shell.wait_for_line(PROMPT)


def test_what_was_typed_is_there_in_the_next_session(own_shell: Terminal, tmp_path: Path) -> None:
    own_shell.type("SELECT 40 +" + ENTER)
    own_shell.wait_for_line(MORE)
    own_shell.type("2 AS answer;" + ENTER)
    own_shell.wait_for("|     42 |")
    own_shell.wait_for_line(PROMPT)
    leave(own_shell)
    assert (tmp_path / "cache" / "sql_history").stat().st_mode & 0o077 == 0

    again = opened(tmp_path)
    try:
        again.type(UP)
        again.wait_for_line(f"{PROMPT} QUIT;")
        again.type(UP)
        again.wait_for(f"{PROMPT} SELECT 40 +", f"{MORE} 2 AS answer;")
        again.type(ENTER)
        again.wait_for("|     42 |")
        again.wait_for_line(PROMPT)
        leave(again)
    finally:
        again.close()


def test_an_error_shows_the_place_and_the_shell_goes_on(shell: Terminal) -> None:
    shell.type("SELECT fruit," + ENTER + "  amout FROM orders;" + ENTER)
    shell.wait_for("There is no column 'amout' here. Did you mean amount? (line 2, column 3):", "  ^^^^^")
    shell.wait_for_line(PROMPT)
    shell.type("SELEC 1;" + ENTER)
    shell.wait_for("Expected a statement, found SELEC", "^^^^^")
    shell.wait_for_line(PROMPT)
    shell.type("SHOW NOTHING; SELECT 1; SELECT 2;" + ENTER)
    shell.wait_for("SHOW NOTHING is not supported", "The 2 statements behind it were not run.")
    shell.wait_for_line(PROMPT)
    shell.type("SELECT 'a' = 'b' AS same;" + ENTER)
    shell.wait_for("| FALSE |")
    shell.wait_for_line(PROMPT)


def jobs_of(home: Path) -> list[str]:
    """The cards of running jobs."""
    return [json.loads(card.read_text())["name"] for card in (home / "h" / "jobs").glob("*.json")]


@pytest.mark.parametrize(
    ("mode", "shown", "counted"),
    [("table", ["| id |", " 5 rows, "], "5 rows."), ("changelog", ["| op | id |", "| +U |"], " changes")],
)
@pytest.mark.parametrize("key", [CTRL_C, "q"])
def test_a_live_view_is_left_and_its_job_cancelled(
    shell: Terminal, home: Path, mode: str, shown: list[str], counted: str, key: str
) -> None:
    shell.type(f"SET 'sql-client.execution.result-mode' = '{mode}';" + ENTER)
    shell.wait_for("OK")
    shell.wait_for_line(PROMPT)
    shell.type("SELECT id, COUNT(*) AS times FROM clicks GROUP BY id;" + ENTER)
    shell.wait_for(*shown, "q, Ctrl-C: end the query")
    assert len(jobs_of(home)) == 1
    shell.type(key)
    shell.wait_for("The query was cancelled after", counted)
    shell.wait_for_line(PROMPT)
    assert jobs_of(home) == []


def test_printed_rows_of_a_running_query_end_with_ctrl_c(shell: Terminal, home: Path) -> None:
    shell.type("SET 'sql-client.execution.result-mode' = 'tableau';" + ENTER)
    shell.wait_for("OK")
    shell.wait_for_line(PROMPT)
    shell.type("SELECT id, COUNT(*) AS times FROM clicks GROUP BY id;" + ENTER)
    shell.wait_for("| -U |", "| +U |")
    shell.type(CTRL_C)
    shell.wait_for("Cancelled.")
    shell.wait_for_line(PROMPT)
    shell.type("SHOW TABLES;" + ENTER)
    shell.wait_for("| table name |", "|     orders |")  # no changes, so no op
    shell.wait_for_line(PROMPT)
    assert jobs_of(home) == []


def test_inserts_run_in_the_background_and_can_be_stopped(shell: Terminal, home: Path) -> None:
    shell.type("INSERT INTO nowhere SELECT id FROM clicks;" + ENTER)
    shell.wait_for("in the background.")
    shell.wait_for_line(PROMPT)
    shell.type("SHOW JOBS;" + ENTER)
    shell.wait_for("job id", "RUNNING", "1 row in set")
    shell.type("STOP JOB '" + TAB)  # the only one
    shell.wait(lambda lines: any(line.startswith(f"{PROMPT} STOP JOB '") and len(line) > 50 for line in lines))
    shell.type("';" + ENTER)
    shell.wait_for("OK")
    shell.wait_for_line(PROMPT)
    assert jobs_of(home) == []
    shell.type("\\j" + ENTER)
    shell.wait_for("CANCELED")
    shell.wait_for_line(PROMPT)


def test_what_a_job_prints_and_how_it_ends_comes_above_the_prompt(shell: Terminal) -> None:
    shell.type("INSERT INTO shown SELECT id FROM orders WHERE id > 6;" + ENTER)
    shell.wait_for("row> +I[7]", "row> +I[8]", "(insert-into_default_catalog.default_database.shown) has finished.")
    shell.wait_for_line(PROMPT)
    shell.type("INSERT INTO shown SELECT 1 / (id - id) FROM orders;" + ENTER)
    shell.wait_for("has failed: ", "zero")
    shell.wait_for_line(PROMPT)


def test_whoever_leaves_running_jobs_is_told_first(own_shell: Terminal, tmp_path: Path) -> None:
    shell = own_shell
    shell.type("INSERT INTO nowhere SELECT id FROM clicks;" + ENTER)
    shell.wait_for("in the background.")
    shell.wait_for_line(PROMPT)
    shell.type(CTRL_D)
    shell.wait_for("1 job runs in this shell and would be cancelled", "QUIT again to leave.")
    shell.wait_for_line(PROMPT)
    shell.type(CTRL_D)
    assert shell.wait_for_end() == 0
    assert jobs_of(tmp_path) == []


def test_help_and_settings(shell: Terminal) -> None:
    shell.type("\\h" + ENTER)
    shell.wait_for("A statement ends with a semicolon", "STOP JOB 'id'")
    shell.wait_for_line(PROMPT)
    shell.type("SET 'parallelism.default' = '3'; SET;" + ENTER)
    shell.wait_for(" parallelism.default |          3 |", " penstock.engine | in-process |")
    shell.wait_for_line(PROMPT)
    shell.type("RESET 'parallelism.default'; SET;" + ENTER)
    shell.wait_for(" parallelism.default |          1 |")  # as the shell was started
    shell.wait_for_line(PROMPT)
