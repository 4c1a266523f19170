"""What Tab offers, by what stands before the cursor (`|` in these texts)."""

from __future__ import annotations

import io

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from penstock.cli.sql_shell.completion import SqlCompleter
from penstock.cli.sql_shell.known_names import KnownNames
from penstock.cli.sql_shell.results import ResultPrinter
from penstock.cli.sql_shell.session import Session
from penstock.common.configuration import Configuration


@pytest.fixture(scope="module")
def completer() -> SqlCompleter:
    session = Session(Configuration(), ResultPrinter(io.StringIO()), lambda text: None)
    for statement in (
        "CREATE TABLE orders (id BIGINT, fruit STRING, `unit price` INT) WITH ('connector' = 'datagen')",
        "CREATE TABLE fruits (name STRING, colour STRING) WITH ('connector' = 'datagen')",
        "CREATE VIEW old_orders AS SELECT id AS old_id FROM orders",
        "CREATE DATABASE archive",
        "CREATE TABLE archive.lost (a INT) WITH ('connector' = 'datagen')",
        "CREATE TABLE broken (a INT) WITH ('connector' = 'nothing')",
    ):
        session.run(statement)
    return SqlCompleter(KnownNames(session.tables, session.jobs.ids_running))


def offered(completer: SqlCompleter, text: str) -> list[str]:
    before, after = text.split("|")
    document = Document(before + after, len(before))
    return [
        before[: len(before) + each.start_position] + each.text
        for each in completer.get_completions(document, CompleteEvent())
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SEL|", "SELECT"),
        ("sel|", "select"),
        ("SELECT 1; ins|", "SELECT 1; insert"),
        ("SELECT * FROM ord|", "SELECT * FROM orders"),
        ("SELECT * FROM old|", "SELECT * FROM old_orders"),
        ("INSERT INTO fr|", "INSERT INTO fruits"),
        ("DESCRIBE fr|", "DESCRIBE fruits"),
        ("SELECT * FROM archive.l|", "SELECT * FROM archive.lost"),
        ("SELECT fr| FROM orders", "SELECT fruit"),
        ("SELECT fr|", "SELECT fruit"),
        ("SELECT unit| FROM orders", "SELECT `unit price`"),
        ("SELECT `fr| FROM orders", "SELECT `fruit`"),
        ("SELECT `unit p| FROM orders", "SELECT `unit price`"),
        ("SELECT o.fr| FROM orders AS o JOIN fruits f ON TRUE", "SELECT o.fruit"),
        ("SELECT f.co| FROM orders AS o JOIN fruits f ON TRUE", "SELECT f.colour"),
        ("SELECT f.co| FROM orders o, fruits f", "SELECT f.colour"),
        ("SELECT old| FROM old_orders", "SELECT old_id"),
        ("SELECT 'from fruits', fru| FROM orders; SELECT 2", "SELECT 'from fruits', fruit"),
        ("SELECT SUBST|", "SELECT SUBSTRING("),
        ("SELECT subst|", "SELECT substring("),
        ("SELECT COUN| FROM orders", "SELECT COUNT("),
        ("SELECT id FROM orders ORD|", "SELECT id FROM orders ORDER"),
        ("SELECT CAST(id AS BIGI|", "SELECT CAST(id AS BIGINT"),
        ("SHOW T|", "SHOW TABLES"),
        ("USE arch|", "USE archive"),
        ("USE CATALOG def|", "USE CATALOG default_catalog"),
        ("SET 'parallelism.d|", "SET 'parallelism.default"),
        ("SET 'table.exec.state|", "SET 'table.exec.state.ttl"),
        ("RESET 'sql-client.v|", "RESET 'sql-client.verbose"),
        (
            "SET 'sql-client.execution.result-mode' = 'ch|",
            "SET 'sql-client.execution.result-mode' = 'changelog",
        ),
        ("CREATE TABLE x (a INT) WITH ('conn|", "CREATE TABLE x (a INT) WITH ('connector"),
        (
            "CREATE TABLE x (a INT) WITH ('connector' = 'upsert|",
            "CREATE TABLE x (a INT) WITH ('connector' = 'upsert-kafka",
        ),
        (
            "CREATE TABLE x (a INT) WITH ('connector' = 'datagen', 'rows|",
            "CREATE TABLE x (a INT) WITH ('connector' = 'datagen', 'rows-per-second",
        ),
        ("\\|", "\\d"),
    ],
)
def test_what_fits_is_offered(completer: SqlCompleter, text: str, expected: str) -> None:
    assert expected in offered(completer, text)


@pytest.mark.parametrize(
    ("text", "unwanted"),
    [
        ("SELECT * FROM f|", "SELECT * FROM FALSE"),
        ("SELECT f| FROM fruits", "SELECT fruit"),
        ("SELECT 'fr| FROM orders", "SELECT 'fruit"),
        ("SELECT o.n| FROM orders AS o, fruits AS f", "SELECT o.name"),
        ("SELECT `fr|", "SELECT `FROM`"),
    ],
)
def test_what_does_not_fit_is_not(completer: SqlCompleter, text: str, unwanted: str) -> None:
    assert unwanted not in offered(completer, text)


@pytest.mark.parametrize(
    "text", ["SELECT a| FROM broken", "SELECT a| FROM no.such.table", "((('| ", "SELECT /* |", "|"]
)
def test_half_a_statement_never_fails(completer: SqlCompleter, text: str) -> None:
    assert all(isinstance(each, str) for each in offered(completer, text))
