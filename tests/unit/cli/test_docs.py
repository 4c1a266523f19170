"""The page on the command line: every command that it shows can be given, and every command is on it."""

from __future__ import annotations

import re
import shlex
import shutil
from contextlib import nullcontext
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from penstock.cli.commands import app
from penstock.datastream import StreamExecutionEnvironment
from penstock.testing import CollectSink
from tests.unit.engine.announced import announced

PAGE = (Path(__file__).parents[3] / "docs" / "cli.md").read_text()
COMMANDS = [
    line
    for block in re.findall(r"^```sh run\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
]


def state_of(folder: Path) -> None:
    """A savepoint and a checkpoint at the places that the page names."""
    environment = StreamExecutionEnvironment.in_process()
    environment.get_checkpoint_config().set_checkpoint_storage_dir(str(folder / "checkpoints" / "orders"))
    orders = environment.from_collection([("ada", 1), ("bob", 5)]).uid("orders")
    orders.key_by(lambda order: order[0]).sum(1).uid("totals").add_sink(CollectSink())
    path = environment.execute_async("orders").stop_with_savepoint(True, str(folder)).result()
    shutil.move(path, folder / "backups" / "one")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    (folder / "backups").mkdir()
    state_of(folder)
    (script,) = re.findall(r"^```python orders.py\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (folder / "orders.py").write_text(script)
    return folder


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_of_the_page_works(line: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    monkeypatch.setenv("PENSTOCK_HOME", str(place / "h"))
    name, *words = shlex.split(line)
    assert name == "penstock"
    if words[0] == "run":  # without Spark and without another process, which other tests have
        words = ["run", "-Dpenstock.engine=in-process", *(word for word in words[1:] if word != "--detached")]
        words = [word.replace("checkpoints/orders", "checkpoints/new") for word in words]
    elif words[0] == "sql":
        words.insert(1, "-Dpenstock.engine=in-process")
    # `run` would wait for a job that its process has already.
    with nullcontext() if words[0] in ("run", "sql") else announced("orders"):
        told = CliRunner().invoke(app, words)
    assert told.exit_code == 0, told.output


def test_every_command_is_on_the_page() -> None:
    group = typer.main.get_command(app)
    names = set(group.commands) - {"state", "kafka"} | {"state show"}  # type: ignore[attr-defined]
    assert names <= set(re.findall(r"^\| `penstock ((?:state )?[a-z-]+)", PAGE, re.MULTILINE))
    assert len(COMMANDS) >= 10
