"""A session without a terminal: what its statements answer, and the jobs that they leave running."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.cli.sql_shell.results import OutputFormat, ResultPrinter
from penstock.cli.sql_shell.session import Session
from penstock.cli.sql_shell.shell_commands import Help, Quit
from penstock.common.configuration import Configuration
from penstock.errors import JobNotFoundError, PenstockError, SqlError

CLICKS = "CREATE TABLE clicks (id BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '50')"
NOWHERE = "CREATE TABLE nowhere (id BIGINT) WITH ('connector' = 'blackhole')"
INSERT = "INSERT INTO nowhere SELECT id FROM clicks"


class Dialogue:
    """A session in which somebody types; what it says and shows."""

    def __init__(self, folder: Path) -> None:
        given = {"penstock.engine": "in-process", "parallelism.default": "1"}
        given["execution.checkpointing.savepoint-dir"] = str(folder)
        self._out = io.StringIO()
        self.said: list[str] = []
        printer = ResultPrinter(self._out, OutputFormat.JSON)
        self.session = Session(Configuration.from_dict(given), printer, self.said.append)
        self.session.begin_dialogue()

    def rows(self, statement: str) -> list[dict[str, object]]:
        self._out.truncate(0)
        self._out.seek(0)
        self.session.run(statement)
        return [json.loads(line) for line in self._out.getvalue().splitlines()]


@pytest.fixture
def dialogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Dialogue]:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "h"))
    talk = Dialogue(tmp_path)
    talk.rows(CLICKS)
    talk.rows(NOWHERE)
    yield talk
    talk.session.jobs.cancel()


def test_what_has_no_rows_is_acknowledged(dialogue: Dialogue) -> None:
    assert dialogue.said == ["OK", "OK"]


def test_commands_for_the_prompt_are_given_back(dialogue: Dialogue) -> None:
    assert dialogue.session.run("HELP") == Help()
    assert dialogue.session.run("exit") == Quit()


def test_an_insert_runs_on_until_it_is_stopped(dialogue: Dialogue) -> None:
    dialogue.rows(INSERT)
    (job,) = dialogue.rows("SHOW JOBS")
    assert (job["job name"], job["status"]) == ("insert-into_default_catalog.default_database.nowhere", "RUNNING")
    assert (
        dialogue.said[-1] == f"Job {job['job id']} writes default_catalog.default_database.nowhere in the background."
    )
    assert dialogue.rows(f"DESCRIBE JOB '{job['job id']}'") == [job]
    dialogue.rows(f"STOP JOB '{str(job['job id'])[:8]}'")
    assert (dialogue.said[-1], dialogue.rows("SHOW JOBS")[0]["status"]) == ("OK", "CANCELED")
    assert dialogue.session.jobs.running() == []


def test_a_job_is_stopped_with_a_savepoint_and_goes_on_from_it(dialogue: Dialogue, tmp_path: Path) -> None:
    dialogue.rows("SET 'pipeline.name' = 'click writer'")
    dialogue.rows(INSERT)
    (job,) = dialogue.rows("SHOW JOBS")
    assert job["job name"] == "click writer"
    (stopped,) = dialogue.rows(f"STOP JOB '{job['job id']}' WITH SAVEPOINT")
    path = Path(str(stopped["savepoint path"]))
    assert path.is_dir() and path.parent == tmp_path
    dialogue.rows(f"SET 'execution.state-recovery.path' = '{path}'")
    dialogue.rows(INSERT)
    assert [each["status"] for each in dialogue.rows("SHOW JOBS")] == ["FINISHED", "RUNNING"]


def test_what_cannot_be_stopped_is_told(dialogue: Dialogue) -> None:
    with pytest.raises(JobNotFoundError, match="There is no job with the id 'x' in this shell"):
        dialogue.rows("STOP JOB 'x'")
    dialogue.rows(INSERT)
    with pytest.raises(SqlError, match="WITH DRAIN needs WITH SAVEPOINT"):
        dialogue.rows(f"STOP JOB '{dialogue.rows('SHOW JOBS')[0]['job id']}' WITH DRAIN")


def test_an_insert_is_waited_for_if_that_is_set(dialogue: Dialogue) -> None:
    dialogue.rows("SET 'table.dml-sync' = 'true'")
    dialogue.rows("INSERT INTO nowhere VALUES (1)")
    assert dialogue.said[-1].startswith("Job ") and "has written" in dialogue.said[-1]
    assert dialogue.rows("SHOW JOBS") == []


def test_a_statement_set_is_one_job(dialogue: Dialogue) -> None:
    dialogue.rows(f"EXECUTE STATEMENT SET BEGIN {INSERT}; {INSERT}; END")
    assert len(dialogue.rows("SHOW JOBS")) == 1


def test_several_statements_are_refused_together(dialogue: Dialogue) -> None:
    with pytest.raises(SqlError, match="Expected one statement, got 2"):
        dialogue.rows("SHOW TABLES; SHOW VIEWS")


def test_settings_that_cannot_be_used_are_refused_at_the_start(tmp_path: Path) -> None:
    given = Configuration.from_dict({"sql-client.execution.result-mode": "pretty"})
    with pytest.raises(PenstockError, match="must be table, changelog or tableau"):
        Session(given, ResultPrinter(io.StringIO()), lambda text: None)
