"""Statements with question marks, upserts, and URLs."""

from __future__ import annotations

import pytest

from penstock.connectors.jdbc.databases import PostgresDatabase, SqliteDatabase, database_of
from penstock.connectors.jdbc.sql import Statement, upsert
from penstock.connectors.jdbc.urls import postgres_settings
from penstock.errors import ConfigurationError


@pytest.mark.parametrize(
    ("sql", "percent", "numbers"),
    [
        ("SELECT 1", "SELECT 1", "SELECT 1"),
        ("INSERT INTO t VALUES (?, ?)", "INSERT INTO t VALUES (%s, %s)", "INSERT INTO t VALUES ($1, $2)"),
        ("UPDATE t SET a = ? % 2", "UPDATE t SET a = %s %% 2", "UPDATE t SET a = $1 % 2"),
        ("'?' || ? || 'it''s?'", "'?' || %s || 'it''s?'", "'?' || $1 || 'it''s?'"),
        (r"E'a\'?' || ?", r"E'a\'?' || %s", r"E'a\'?' || $1"),
        ('"a?""?" = ?', '"a?""?" = %s', '"a?""?" = $1'),
        ("? -- really?\n, ?", "%s -- really?\n, %s", "$1 -- really?\n, $2"),
        ("/* ? \n ? */ ?", "/* ? \n ? */ %s", "/* ? \n ? */ $1"),
        ("$$ ? $$ ? $a$ ? $$ ? $a$", "$$ ? $$ %s $a$ ? $$ ? $a$", "$$ ? $$ $1 $a$ ? $$ ? $a$"),
        ("data ?? 'k' AND a = ?", "data ? 'k' AND a = %s", "data ? 'k' AND a = $1"),
        ("'100%' = ?", "'100%%' = %s", "'100%' = $1"),
    ],
)
def test_parameters_are_found_and_nothing_else(sql: str, percent: str, numbers: str) -> None:
    statement = Statement.parse(sql)
    assert statement.with_percent_signs() == percent
    assert statement.with_numbers() == numbers
    assert statement.parameters == percent.count("%s")
    assert statement.with_question_marks() == sql.replace("??", "?")


def test_an_upsert_replaces_what_is_no_key() -> None:
    assert upsert("shop.orders", ["id", "name", "sum"], ["id"]) == (
        'INSERT INTO "shop"."orders" ("id", "name", "sum") VALUES (?, ?, ?) '
        'ON CONFLICT ("id") DO UPDATE SET "name" = EXCLUDED."name", "sum" = EXCLUDED."sum"'
    )
    assert upsert("seen", ["a", "b"], ["b", "a"]).endswith('ON CONFLICT ("b", "a") DO NOTHING')
    assert Statement.parse(upsert("odd", ['wh"at?', "k"], ["k"])).parameters == 2


@pytest.mark.parametrize(("keys", "text"), [([], "name the columns"), (["x"], "'x' is not a field")])
def test_an_upsert_needs_its_key(keys: list[str], text: str) -> None:
    with pytest.raises(ConfigurationError, match=text):
        upsert("t", ["a"], keys)


@pytest.mark.parametrize(
    ("rest", "settings"),
    [
        ("//db:6000/shop", {"host": "db", "port": "6000", "dbname": "shop"}),
        ("//db/shop", {"host": "db", "port": "5432", "dbname": "shop"}),
        ("//a:1,b/shop", {"host": "a,b", "port": "1,5432", "dbname": "shop"}),
        ("//[::1]:7/shop", {"host": "::1", "port": "7", "dbname": "shop"}),
        ("shop", {"host": "localhost", "port": "5432", "dbname": "shop"}),
        ("//db/", {"host": "db", "port": "5432"}),
        (
            "//db/my%20shop?user=me&password=a%26b&ssl=true&ApplicationName=x&connectTimeout=3&currentSchema=s"
            "&reWriteBatchedInserts=true&socketTimeout=7&tcpKeepAlive=true&targetServerType=primary",
            {"host": "db", "port": "5432", "dbname": "my shop", "user": "me", "password": "a&b"}
            | {"sslmode": "verify-full", "application_name": "x", "connect_timeout": "3", "tcp_user_timeout": "7000"}
            | {"options": "-c search_path=s", "keepalives": "1", "target_session_attrs": "read-write"},
        ),
    ],
)
def test_urls_of_postgresql(rest: str, settings: dict[str, str]) -> None:
    assert postgres_settings(rest) == settings


@pytest.mark.parametrize(
    ("rest", "text"), [("//db/x?sslfactory=a.b.C", "'sslfactory' has no counterpart"), ("//db:http/x", "host:port")]
)
def test_urls_that_cannot_be_meant(rest: str, text: str) -> None:
    with pytest.raises(ConfigurationError, match=text):
        postgres_settings(rest)


def test_the_url_chooses_the_database() -> None:
    postgres = database_of("jdbc:postgresql://db/x?password=secret", "me", "word", "org.postgresql.Driver")
    assert isinstance(postgres, PostgresDatabase)
    assert (postgres.settings["user"], postgres.settings["password"]) == ("me", "word")
    assert "secret" not in repr(postgres) and "word" not in repr(postgres)
    assert isinstance(database_of("postgresql://db/x"), PostgresDatabase)
    for url in ("jdbc:sqlite:/tmp/a.db", "sqlite:////tmp/a.db", "jdbc:sqlite:///tmp/a.db"):
        sqlite = database_of(url, driver="sqlite3")
        assert isinstance(sqlite, SqliteDatabase)
        assert sqlite.settings["path"].lstrip("/") == "tmp/a.db"


@pytest.mark.parametrize(
    ("url", "driver", "text"),
    [
        ("jdbc:oracle:thin:@db", None, "no driver for 'oracle'; known are postgresql, sqlite"),
        ("db.example", None, "looks like jdbc:postgresql://"),
        ("jdbc:postgresql://db/x", "com.mysql.Driver", "does not fit"),
        ("jdbc:sqlite::memory:", None, "use a file"),
        ("jdbc:sqlite:", None, "use a file"),
    ],
)
def test_databases_that_are_not_known(url: str, driver: str | None, text: str) -> None:
    with pytest.raises(ConfigurationError, match=text):
        database_of(url, driver=driver)


def test_a_driver_that_is_not_installed_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match=r"pip install 'penstock\[postgres\]'"):
        database_of("jdbc:postgresql://db/x")
