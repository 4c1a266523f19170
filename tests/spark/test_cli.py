"""The command line on Spark: a script in the background, saved, stopped, and gone on with."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from penstock.cli.commands import app
from tests.spark.processes import PATIENCE_SECONDS, ProcessGroup, Program, process_group, spark_settings
from tests.spark.waiting import wait_until

COUNT = 600
KEYS = 7
SCRIPT = """
import sys
from dataclasses import dataclass

from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from penstock.datastream.connectors.data_gen import DataGeneratorSource
from penstock.datastream.connectors.file_system import FileSink
from penstock.datastream.state import ValueStateDescriptor


@dataclass(frozen=True)
class Remainder:  # only the script has this class: who reads state must find it there
    value: int


class Numbered(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield {"value": value, "count": self.count.value()}


count, keys, output = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
env = StreamExecutionEnvironment.get_execution_environment()
numbers = env.from_source(DataGeneratorSource(lambda n: n, count), None, "numbers").uid("numbers")
numbered = numbers.key_by(lambda n: Remainder(n % keys)).process(Numbered()).uid("numbered")
numbered.sink_to(FileSink.json(output)).uid("files")
env.execute("remainders")
"""


def call(*words: str) -> Result:
    return CliRunner().invoke(app, words)


def listed() -> list[dict[str, Any]]:
    return list(json.loads(call("list", "--json").stdout))


class Cli:
    """Starts the script by the command line, as a process of a group."""

    def __init__(self, group: ProcessGroup, folder: Path) -> None:
        self._group = group
        self._folder = folder
        self.script = folder / "job.py"
        self.script.write_text(SCRIPT)

    def run(self, name: str, checkpoint: str, *options: str, batch: int = 6) -> Program:
        settings = {
            **spark_settings(self._group),
            "penstock.batch.max-records": str(batch),  # so few that the job lasts long enough on any machine
            "execution.checkpointing.dir": str(self._folder / checkpoint),
        }
        given = [f"-D{key}={value}" for key, value in settings.items()]
        words = [*options, "--master", "local[2,4]", *given, str(self.script), str(COUNT), str(KEYS), "out"]
        home = str(self._folder / "home")
        return self._group.start([sys.executable, "-m", "penstock", "run", *words], name, PENSTOCK_HOME=home)


def test_a_job_is_run_saved_stopped_and_gone_on_with_by_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    with process_group(tmp_path) as group:
        cli = Cli(group, tmp_path)
        cli.run("detached", "first", "--detached", "--parallelism", "2").finish()
        (job,) = listed()
        assert (job["name"], job["checkpoint"]) == ("remainders", str(tmp_path / "first"))
        assert job["id"] in (tmp_path / "detached.log").read_text().splitlines()
        wait_until(lambda: listed()[0]["records"] > 0, "the job has read something", PATIENCE_SECONDS)
        copy = call("savepoint", job["id"][:8], str(tmp_path / "copies"))
        assert copy.exit_code == 0, copy.output
        assert listed()[0]["status"] == "RUNNING"
        stopped = call("stop", "remainders", "--savepoint-path", str(tmp_path / "savepoints"))
        assert stopped.exit_code == 0, stopped.output
        assert listed() == []
        assert list((tmp_path / "home" / "jobs").iterdir()) == []
        group.await_end()

        path = stopped.stdout.strip()
        (state,) = json.loads(call("state", "show", path, "--operator", "numbered", "--json").stdout)["operators"]
        assert [(each["name"], each["entries"], each["keys"]) for each in state["states"]] == [("count", KEYS, KEYS)]
        cli.run("rest", "second", "--from-savepoint", path, "-p", "3", batch=COUNT).finish()

    files = (group.scratch / "out").glob("*.json")
    found = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    expected: Counter[int] = Counter()
    for number in range(COUNT):
        expected[number % KEYS] += 1
    assert sorted(each["value"] for each in found) == list(range(COUNT))
    counts = Counter((each["value"] % KEYS, each["count"]) for each in found)
    assert counts == Counter((key, n) for key, total in expected.items() for n in range(1, total + 1))
