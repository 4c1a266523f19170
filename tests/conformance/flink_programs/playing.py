"""Plays one program through the public API: its tables with the connector 'values', its statements, its restore."""

from __future__ import annotations

import re
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.common.configuration import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.engine.in_process.clock import ManualClock
from penstock.engine.in_process.job import StalledJob
from penstock.errors import PenstockError
from penstock.table import StreamTableEnvironment
from penstock.table.connectors import values
from penstock.table.java_texts import java_row_text
from penstock.table.sql import parse
from penstock.table.sql.statements import CreateTable
from penstock.vocabulary.sql.logical_types import row_of
from tests.conformance.flink_programs.families import modes, steps
from tests.conformance.flink_programs.rows import difference, materialized, row, upserted

NOW_MS = 1_767_225_600_000  # 2026-01-01: programs look at the year


class Mismatch(Exception):
    """The results are not those that Flink's test expects."""


@dataclass
class Phase:
    """One run of the program: before the restore, after it, or the only one."""

    is_first: bool = True
    is_bounded: bool = True
    savepoint: str | None = None
    stops_with_savepoint: bool = False
    is_over: Callable[[], bool] = lambda: False


class Player:
    """Plays a program; `play` raises what goes wrong."""

    def __init__(self, program: dict[str, Any], engine: str = "in-process", rows_per_batch: int = 0) -> None:
        self.program = program
        self.rows_per_batch = rows_per_batch
        settings = {each["key"]: each["value"] for each in steps(program, "config")}
        # A mini-batch ends with the batch at the latest, so batches must not be shorter than Flink's mini-batches.
        if str(settings.get("table.exec.mini-batch.enabled")).lower() == "true":
            self.rows_per_batch = 0
        self.engine = engine
        self.sources = steps(program, "source")
        self.sinks = steps(program, "sink")
        self.results: dict[str, list[tuple[Any, ...]]] = {each["name"]: [] for each in self.sinks}
        self.folder: tempfile.TemporaryDirectory[str]

    def play(self) -> None:
        self._refuse_outside()
        values.clear()
        failing = [each for each in self.program["run"] if each["kind"] == "failing_sql"]
        self.folder = tempfile.TemporaryDirectory(prefix="flink-program-")
        with self.folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if failing:
                self._play_failing()
            elif self._restores():
                self._play_with_restore()
            else:
                self._run(Phase())
                self._compare("expected_before_text", {each["name"]: 0 for each in self.sinks})

    def _restores(self) -> bool:
        if "stream-restore" not in modes(self.program) or self.engine != "in-process":
            return False
        rows_after = any(each["rows_after"] for each in self.sources)
        return rows_after or self._after_restore() != "NO_RESTORE"

    def _after_restore(self) -> str:
        return next((r["after_restore_source"] for r in self.program["runners"] if "after_restore_source" in r), "")

    def _refuse_outside(self) -> None:
        for step in self.program["setup"]:
            if step.get("kind") in ("function", "model", "temporal_function"):
                raise NotImplementedError(f"needs {step['kind']} {step.get('class', step.get('name'))}")
        if self.program["is_table_api"]:
            raise NotImplementedError("needs the Table API")

    def _play_failing(self) -> None:
        try:
            self._run(Phase())
        except PenstockError as error:
            if "not supported" in str(error):
                raise
            return
        raise Mismatch("should have failed: " + str(self.program["run"][-1].get("message")))

    def _play_with_restore(self) -> None:
        restore = self._after_restore()
        savepoint = self._run(Phase(is_bounded=False, stops_with_savepoint=True))
        self._compare("expected_before_text", {each["name"]: 0 for each in self.sinks})
        if savepoint is None:
            return
        counts = {name: len(held) for name, held in self.results.items()}
        phase = Phase(is_first=False, is_bounded=restore not in ("INFINITE", "NO_RESTORE"), savepoint=savepoint)
        if restore == "INFINITE":  # Flink's test ends the job as soon as it has what is expected
            phase.is_over = lambda: self._problem("expected_after_text", counts) is None
        self._run(phase)
        self._compare("expected_after_text", counts)

    # ---- running ----

    def _run(self, phase: Phase) -> str | None:
        configuration = Configuration().set_integer("parallelism.default", 1)
        if phase.savepoint:
            configuration.set_string("execution.savepoint.path", phase.savepoint)
        if self.engine == "spark":
            environment = StreamExecutionEnvironment.get_execution_environment(configuration)
        else:
            environment = StreamExecutionEnvironment.in_process(clock=ManualClock(NOW_MS), configuration=configuration)
        tables = StreamTableEnvironment.create(environment)
        self._set_up(tables, phase)
        savepoint = None
        for step in self.program["run"]:
            savepoint = self._run_step(tables, step, phase)
        return savepoint

    def _set_up(self, tables: StreamTableEnvironment, phase: Phase) -> None:
        # As in the tests of Flink that run programs; those that must fail are planned with Flink's default.
        must_fail = any(step.get("kind", "").startswith("failing") for step in self.program["run"])
        tables.get_config().set("table.exec.sink.require-on-conflict", str(must_fail).lower())
        for step in self.program["setup"]:
            kind = step.get("kind")
            if kind == "config" and step["value"] is not None:
                tables.get_config().set(step["key"], _setting(step["value"]))
            elif kind == "source":
                tables.execute_sql(self._ddl(step, self._source_options(step, phase)))
            elif kind == "sink":
                tables.execute_sql(self._ddl(step, {"sink-insert-only": "false"}))
            elif kind == "sql":
                tables.execute_sql(step["sql"])

    def _source_options(self, step: dict[str, Any], phase: Phase) -> dict[str, str]:
        rows = [row(each) for each in step["rows_before"] or []]
        looked_up = rows
        if not phase.is_first:
            # A stream goes on after the rows it has read; a table that is looked up holds the later rows instead.
            looked_up = [row(each) for each in step["rows_after"] or []]
            rows = rows + looked_up
        options = {"data-id": values.register(rows), "terminating": str(phase.is_bounded).lower()}
        options["lookup-data-id"] = values.register(looked_up)
        if self.rows_per_batch:
            options["rows-per-batch"] = str(self.rows_per_batch)
        if step["watermarks"]:
            options["scan.watermark.emit.strategy"] = "on-event"
        return options

    def _ddl(self, step: dict[str, Any], options: dict[str, str]) -> str:
        ddl = step["ddl"]
        start = ddl.rindex("\nWITH (")
        # What a program says of a table counts more than what its tests add.
        given = {"connector": "values", **options, **{k: v for k, v in step["options"].items() if k != "connector"}}
        pairs = ", ".join(f"'{key}' = '{text}'" for key, text in given.items())
        return f"{ddl[:start]}\nWITH ({pairs})"

    def _run_step(self, tables: StreamTableEnvironment, step: dict[str, Any], phase: Phase) -> str | None:
        if step["kind"] == "statement_set":
            statements = tables.create_statement_set()
            for each in step["sqls"]:
                statements.add_insert_sql(each)
            result = statements.execute()
        else:
            result = tables.execute_sql(step["sql"])
        client = result.get_job_client()
        if client is None:
            return None
        if self.engine == "in-process" and not phase.is_bounded:
            return self._run_until_stalled(client, phase)
        client.wait()
        return None

    def _run_until_stalled(self, client: Any, phase: Phase) -> str | None:
        try:
            while not phase.is_over() and client.run_batch():
                pass
            if phase.is_over():
                client.cancel()
            return None  # all sources have ended: VALUES
        except StalledJob:
            pass
        if phase.stops_with_savepoint:
            savepoint: str = client.stop_with_savepoint(False, self.folder.name).result()
            return savepoint
        client.cancel()
        return None

    # ---- comparing ----

    def _compare(self, expected: str, counts: dict[str, int]) -> None:
        problem = self._problem(expected, counts)
        if problem:
            raise Mismatch(problem)

    def _problem(self, expected: str, counts: dict[str, int]) -> str | None:
        for sink in self.sinks:
            held = values.results(f"default_catalog.default_database.{sink['name']}")
            self.results[sink["name"]] = held
            write = java_row_text(_sink_type(sink))
            texts = [write(each) for each in held]
            problem = _sink_problem(sink, expected, held, texts, counts[sink["name"]])
            if problem:
                return f"{sink['name']}, {expected.split('_')[1]}: {problem}"
        return None


def _sink_problem(
    sink: dict[str, Any], expected: str, held: list[tuple[Any, ...]], texts: list[str], since: int
) -> str | None:
    if sink["tests_changelog"] and not sink["materialized_is_declared"]:
        return difference(sink[expected] or [], texts[since:])
    if expected == "expected_before_text" and sink["expected_after_text"]:
        return None  # what a table holds is compared once, at the end
    wanted = sink["expected_materialized_text"] or sink["expected_text"]
    key = sink["deduplicated_fields"] or _primary_key(sink)
    actual = upserted(held, texts, key) if key else materialized(texts)
    return difference(materialized(wanted) if not key else wanted, actual)


def _primary_key(sink: dict[str, Any]) -> list[int]:
    found = re.search(r"\((.*?)\)", sink["primary_key"][0]) if sink["primary_key"] else None
    if found is None:
        return []
    names = [each.name for each in _columns(sink)]
    return [names.index(each.strip(" `")) for each in found.group(1).split(",")]


def _columns(sink: dict[str, Any]) -> list[Any]:
    (statement,) = parse(sink["ddl"])
    assert isinstance(statement, CreateTable)
    return [each for each in statement.columns if hasattr(each, "type") and not getattr(each, "is_virtual", False)]


def _sink_type(sink: dict[str, Any]) -> Any:
    columns = _columns(sink)
    return row_of(tuple(each.name for each in columns), tuple(each.type for each in columns))


def _setting(given: Any) -> str:
    return str(given).lower() if isinstance(given, bool) else str(given)
