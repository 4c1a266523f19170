"""What the shell takes for its own, and when Enter runs what was typed."""

from __future__ import annotations

import pytest

from penstock.cli.sql_shell.prompt import is_complete
from penstock.cli.sql_shell.shell_commands import Clear, Help, Quit, ShowJobs, StopJob, shell_command, written_out
from penstock.errors import SqlParserError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("help", Help()),
        ("QUIT", Quit()),
        ("Exit", Quit()),
        ("CLEAR -- all", Clear()),
        ("SHOW JOBS", ShowJobs()),
        ("DESCRIBE JOB 'abc'", ShowJobs("abc")),
        ("stop job 'abc'", StopJob("abc")),
        ("STOP JOB 'abc' WITH SAVEPOINT", StopJob("abc", with_savepoint=True)),
        ("STOP JOB 'abc' WITH SAVEPOINT WITH DRAIN", StopJob("abc", with_savepoint=True, with_drain=True)),
        ("SHOW TABLES", None),
        ("DESCRIBE job", None),
        ("SELECT 'QUIT'", None),
        ("DESCRIBE `QUIT`", None),
    ],
)
def test_commands_of_the_shell_are_told_from_sql(text: str, expected: object) -> None:
    assert shell_command(text) == expected


@pytest.mark.parametrize("text", ["STOP JOB", "STOP JOB abc", "STOP JOB 'a' WITH", "STOP JOB 'a' SAVEPOINT"])
def test_a_command_that_is_not_whole_says_how_it_is_written(text: str) -> None:
    with pytest.raises(SqlParserError, match="Expected STOP JOB 'id'"):
        shell_command(text)


def test_short_forms() -> None:
    assert [written_out(each) for each in ("\\d", "\\d orders;", "\\j", "\\q", " \\h")] == [
        "SHOW TABLES",
        "DESCRIBE orders",
        "SHOW JOBS",
        "QUIT",
        "HELP",
    ]
    for wrong in ("\\x", "\\q now"):
        with pytest.raises(SqlParserError, match="is not a shell command"):
            written_out(wrong)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        ("quit", True),
        ("\\d orders", True),
        ("SELECT 1;", True),
        ("SELECT 1; -- done", True),
        ("SELECT 1", False),
        ("SELECT 1; SELECT", False),
        ("SELECT ';", False),
        ("SELECT 1 /* ;", False),
        ("EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1;", False),
        ("EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1; END;", True),
        ("-- only a comment", False),
    ],
)
def test_enter_runs_what_is_whole(text: str, expected: bool) -> None:
    assert is_complete(text) is expected
