"""`penstock sql` without a terminal: files, statements of the line, formats, exit codes; jobs run in process."""

from __future__ import annotations

import csv
import io
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from penstock.cli.commands import app

ORDERS = """
CREATE TABLE orders (
    id BIGINT,
    fruit AS CASE WHEN MOD(id, 3) = 0 THEN 'pear' ELSE 'apple' END,
    amount AS id * 2
) WITH ('connector' = 'datagen', 'fields.id.kind' = 'sequence', 'fields.id.start' = '0', 'fields.id.end' = '3');
"""
TOTALS = "SELECT fruit, SUM(amount) AS total FROM orders GROUP BY fruit;"
CLICKS = "CREATE TABLE clicks (id BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '50');"
QUIET = "SET 'sql-client.display.print-time-cost' = 'false';"
IN_PROCESS = ("-D", "penstock.engine=in-process", "-p", "1")


def call(*words: str, typed: str | None = None) -> Result:
    return CliRunner().invoke(app, ["sql", *IN_PROCESS, *words], input=typed)


def rows(told: Result) -> list[dict[str, object]]:
    return [json.loads(line) for line in told.stdout.splitlines()]


def test_the_table_at_the_end_is_printed() -> None:
    told = call("-e", QUIET + ORDERS + TOTALS)
    assert told.exit_code == 0, told.output
    assert told.stdout.splitlines() == [
        "+-------+-------+",
        "| fruit | total |",
        "+-------+-------+",
        "|  pear |     6 |",
        "| apple |     6 |",
        "+-------+-------+",
        "2 rows in set",
    ]
    assert told.stderr == ""


def test_the_time_is_told() -> None:
    assert call("-e", "SELECT 1 AS one").stdout.splitlines()[-1].startswith("1 row in set (0.")


CHANGES = [
    ("+I", "pear", 0),
    ("+I", "apple", 2),
    ("-U", "apple", 2),
    ("+U", "apple", 6),
    ("-U", "pear", 0),
    ("+U", "pear", 6),
]


@pytest.mark.parametrize("mode", ["changelog", "tableau"])
def test_changes_are_printed_as_print_does(mode: str) -> None:
    told = call("-D", f"sql-client.execution.result-mode={mode}", "-e", QUIET + ORDERS + TOTALS)
    lines = told.stdout.splitlines()
    assert lines[1].split() == ["|", "op", "|", "fruit", "|", "total", "|"]
    assert [tuple(line.strip("|").split()) for line in lines[3:-2]] == [
        (op, "|", fruit, "|", str(total)) for op, fruit, total in CHANGES
    ]
    assert lines[-1] == "6 rows in set"


def test_json_is_a_line_a_row_with_its_op() -> None:
    final = call("--format", "json", "-e", ORDERS + TOTALS)
    assert rows(final) == [{"op": "+I", "fruit": "pear", "total": 6}, {"op": "+I", "fruit": "apple", "total": 6}]
    changes = call("--format", "json", "-D", "sql-client.execution.result-mode=changelog", "-e", ORDERS + TOTALS)
    assert [(row["op"], row["fruit"], row["total"]) for row in rows(changes)] == CHANGES


def test_json_keeps_types_and_a_column_of_the_name_op() -> None:
    told = call(
        *("--format", "json", "-e"),
        "SELECT 'x' AS op, ARRAY[1, 2] AS a, CAST(NULL AS INT) AS n, TIMESTAMP '2024-01-02 03:04:05' AS t, TRUE AS b",
    )
    assert rows(told) == [{"_op": "+I", "op": "x", "a": [1, 2], "n": None, "t": "2024-01-02 03:04:05", "b": True}]


def test_csv_has_a_header_and_quotes_what_needs_it() -> None:
    told = call("--format", "csv", "-e", "SELECT 'a,\"b' AS x, CAST(NULL AS STRING) AS y, 1.50 AS z")
    assert list(csv.reader(io.StringIO(told.stdout))) == [["op", "x", "y", "z"], ["+I", 'a,"b', "", "1.50"]]


def test_characters_that_a_terminal_acts_on_are_shown() -> None:
    told = call("-e", "SELECT U&'\\001b[2J\\000ax' AS x")
    assert "\\x1b[2J\\nx" in told.stdout and "\x1b" not in told.stdout


def test_texts_of_many_lines_stand_without_a_frame() -> None:
    told = call("-e", f"{CLICKS} SHOW CREATE TABLE clicks; EXPLAIN SELECT id FROM clicks;")
    assert told.stdout.startswith("CREATE TABLE `default_catalog`.`default_database`.`clicks` (\n  `id` BIGINT\n)\n")
    assert "\n== Abstract Syntax Tree ==\n" in told.stdout and "\\n" not in told.stdout


def test_a_file_waits_for_its_inserts(tmp_path: Path) -> None:
    (tmp_path / "init.sql").write_text(ORDERS)
    table = f"WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '{tmp_path}/{{}}');"
    script = tmp_path / "job.sql"
    script.write_text(
        f"CREATE TABLE pears (id BIGINT) {table.format('pears')}\n"
        f"CREATE TABLE apples (id BIGINT) {table.format('apples')}\n"
        "-- both; as one job\n"
        "EXECUTE STATEMENT SET BEGIN\n"
        "  INSERT INTO pears SELECT id FROM orders WHERE fruit = 'pear';\n"
        "  INSERT INTO apples SELECT id FROM orders WHERE fruit = 'apple';\n"
        "END;\n"
        "INSERT INTO apples VALUES (100);\n"
        "SELECT id FROM apples"
    )
    told = call("-i", str(tmp_path / "init.sql"), "-f", str(script), "--format", "json")
    assert told.exit_code == 0, told.output
    assert sorted(row["id"] for row in rows(told)) == [1, 2, 100]  # type: ignore[type-var]
    assert told.stderr.count("has written") == 2
    written = [json.loads(line)["id"] for path in (tmp_path / "pears").glob("*") for line in path.read_text().split()]
    assert sorted(written) == [0, 3]


def test_the_statement_that_fails_is_named_and_the_rest_is_not_run(tmp_path: Path) -> None:
    script = tmp_path / "job.sql"
    script.write_text("SELECT 1 AS one;\n\nSELECT 'a;b' AS x,\n  nothing;\nSELECT 2 AS two;\n")
    told = call("-f", str(script), "--format", "json")
    assert told.exit_code == 1
    assert rows(told) == [{"op": "+I", "one": 1}]
    assert told.stderr.splitlines() == [
        f"penstock: statement 2 of 3 in {script}, line 3, failed: SELECT 'a;b' AS x, nothing",
        "There is no column 'nothing' here. (line 4, column 3):",
        "  nothing",
        "  ^^^^^^^",
    ]


def test_a_job_that_fails_makes_the_call_fail() -> None:
    told = call("-e", "SELECT 1 AS a; SELECT 1 / (a - 1) AS x FROM (VALUES (1)) AS t(a);")
    assert told.exit_code == 1
    lines = told.stderr.splitlines()
    assert lines[0].startswith("penstock: statement 2 of 2 in --execute, line 1, failed: SELECT 1 / (a - 1)")
    assert lines[1] == "division by zero: guard the division with NULLIF or CASE"
    verbose = call("-D", "sql-client.verbose=true", "-e", "SELECT 1 / (a - 1) AS x FROM (VALUES (1)) AS t(a);")
    assert "Traceback (most recent call last)" in verbose.stderr


@pytest.mark.parametrize("which", ["--init", "--file"])
def test_a_file_that_is_not_there_is_a_wrong_call(which: str) -> None:
    told = call(which, "nowhere.sql")
    assert told.exit_code == 2
    assert "nowhere.sql cannot be read: No such file or directory" in told.stderr


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("-e", "SELECT 1", "-f", __file__), "either --file or --execute"),
        (("--format", "xml"), "'xml' is not one of"),
        (("-D", "nonsense"), "must look like key=value"),
    ],
)
def test_wrong_calls(words: tuple[str, ...], text: str) -> None:
    told = call(*words)
    assert told.exit_code == 2
    assert text in told.stderr


def test_statements_may_come_through_a_pipe() -> None:
    told = call("--format", "csv", typed="SELECT 1 AS one;\nSELECT 2 AS two;\n")
    assert told.exit_code == 0, told.output
    assert told.stdout.splitlines() == ["op,one", "+I,1", "op,two", "+I,2"]


def test_settings_are_shown_changed_and_put_back() -> None:
    text = (
        "SET 'parallelism.default' = '3'; SET 'table.local-time-zone' = 'Asia/Tokyo'; SET;"
        "SELECT CAST(TO_TIMESTAMP_LTZ(0, 3) AS STRING) AS here; RESET; SET;"
        "SELECT CAST(TO_TIMESTAMP_LTZ(0, 3) AS STRING) AS here;"
    )
    told = call("--format", "json", "-e", text)
    assert told.exit_code == 0, told.output
    settings = [(row["key"], row["value"]) for row in rows(told) if "key" in row]
    assert settings.count(("parallelism.default", "3")) == settings.count(("parallelism.default", "1")) == 1
    assert settings.count(("table.local-time-zone", "Asia/Tokyo")) == 1
    assert settings.count(("sql-client.execution.result-mode", "table")) == 2
    assert [row["here"] for row in rows(told) if "here" in row] == [
        "1970-01-01 09:00:00.000",
        "1970-01-01 00:00:00.000",
    ]


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("SET 'sql-client.execution.result-mode' = 'pretty'", "must be table, changelog or tableau, not 'pretty'"),
        ("SET 'sql-client.execution.max-table-result.rows' = '0'", "must be a number of 1 or more"),
        ("SET 'parallelism.default' = 'many'", "parallelism.default"),
        ("STOP JOB 'abc'", "There is no job with the id 'abc'"),
        ("STOP JOB abc", "Expected STOP JOB 'id' [WITH SAVEPOINT] [WITH DRAIN]"),
        ("SELECT 'abc", "has no closing '"),
    ],
)
def test_what_cannot_be_is_refused(statement: str, text: str) -> None:
    told = call("-e", statement)
    assert told.exit_code == 1
    assert text in told.stderr


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("parallelism.defualt", "Warning: configuration key 'parallelism.defualt' has no effect"),
        ("my.own.key", "Penstock and Spark do not know the key my.own.key."),
    ],
)
def test_a_setting_that_nobody_knows_is_told(key: str, text: str) -> None:
    told = call("-e", f"SET '{key}' = '3'")
    assert told.exit_code == 0
    assert told.stderr.startswith(text)


def test_settings_of_the_line_are_looked_at() -> None:
    told = call(
        "-D", "table.exec.state.ttl=1 d", "-D", "sql-client.verbose=true", "-D", "foo.bar=1", "-e", "SHOW VIEWS"
    )
    assert (told.exit_code, told.stdout) == (0, "Empty set\n")
    assert told.stderr.splitlines() == ["penstock: -D foo.bar: unknown to Penstock and Spark; nothing reads it"]


def process(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "penstock", "sql", *IN_PROCESS, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_query_without_an_end_gives_rows_as_they_come_until_it_is_interrupted() -> None:
    with process("--format", "json", "-e", f"{CLICKS} SELECT id > 0 AS positive FROM clicks") as running:
        assert running.stdout is not None
        for _ in range(3):
            assert set(json.loads(running.stdout.readline())) == {"op", "positive"}
        running.send_signal(signal.SIGINT)
        _, told = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "Traceback" not in told


def test_a_reader_that_has_enough_ends_the_query() -> None:
    with process("--format", "json", "-e", f"{CLICKS} SELECT id FROM clicks") as running:
        assert running.stdout is not None
        assert json.loads(running.stdout.readline())["op"] == "+I"
        running.stdout.close()
        assert running.wait(60) == 1
        assert running.stderr is not None
        assert "Traceback" not in running.stderr.read()


def test_inserts_without_an_end_run_together_until_they_are_interrupted(tmp_path: Path) -> None:
    text = CLICKS + "".join(
        f"CREATE TABLE t{i} (id BIGINT) WITH ('connector' = 'print', 'print-identifier' = 't{i}');"
        f"INSERT INTO t{i} SELECT id FROM clicks;"
        for i in range(2)
    )
    with process("-e", text) as running:
        assert running.stdout is not None
        seen: set[str] = set()
        while seen != {"t0", "t1"}:
            seen.add(running.stdout.readline().partition(">")[0])
        running.send_signal(signal.SIGINT)
        _, told = running.communicate(timeout=60)
    assert running.returncode == 130
    assert told.count("in the background") == 2 and "Traceback" not in told


def test_the_help_of_the_command_line_loads_no_sql() -> None:
    libraries = ("sqlglot", "prompt_toolkit", "pygments")
    code = f"import sys, penstock.cli.commands; print([each for each in {libraries} if each in sys.modules])"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
