"""In a notebook: a line that moves while a job runs, a quiet end when it is interrupted, and no noise."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.spark.processes import quick_spark

manager = pytest.importorskip("jupyter_client.manager", reason="needs the kernel of notebooks (ipykernel)")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SECONDS = 240.0
ROOT = Path(__file__).resolve().parents[2]

SETTINGS = """
import logging, time
logging.basicConfig(level=logging.INFO)
from penstock.datastream import StreamExecutionEnvironment
env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
numbers = env.from_sequence(1, 10).map(lambda n: 2 * n).name("doubled")
numbers
"""
SHORT = """
numbers.key_by(lambda n: 0).reduce(lambda a, b: a + b).print()
result = env.execute("short")
"""
ENDLESS = """
def slow(n):
    time.sleep(0.01)
    return n
from penstock.common import Configuration
small = Configuration().set_integer("penstock.batch.max-records", 100)
endless = StreamExecutionEnvironment.get_execution_environment(small).set_parallelism(1)
endless.from_sequence(1, 10**9).map(slow).filter(lambda n: n < 0).print()
endless.execute("endless")
"""


class Cells:
    """Runs cells and keeps what each shows."""

    def __init__(self, kernel: Any, client: Any) -> None:
        self._kernel = kernel
        self._client = client

    def run(self, code: str, on_line: Callable[[str], None] = lambda line: None) -> dict[str, list[Any]]:
        shown: dict[str, list[Any]] = {"lines": [], "text": [], "values": [], "errors": []}

        def take(message: dict[str, Any]) -> None:
            kind, content = message["msg_type"], message["content"]
            if kind in ("display_data", "update_display_data"):
                shown["lines"].append(content["data"]["text/plain"])
                on_line(shown["lines"][-1])
            elif kind == "stream":
                shown["text"].append(content["text"])
            elif kind == "execute_result":
                shown["values"].append(content["data"])
            elif kind == "error":
                shown["errors"].append((content["ename"], "\n".join(content["traceback"])))

        self._client.execute_interactive(code, output_hook=take, timeout=SECONDS, allow_stdin=False)
        return shown

    def interrupt(self) -> None:
        self._kernel.interrupt_kernel()


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cells]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK", "PYSPARK"))}
    folder = tmp_path_factory.mktemp("notebook")
    kernel, client = manager.start_new_kernel(
        startup_timeout=SECONDS, cwd=str(folder), env={**kept, "PYTHONPATH": str(ROOT / "src"), **quick_spark(folder)}
    )
    try:
        yield Cells(kernel, client)
    finally:
        client.stop_channels()
        kernel.shutdown_kernel(now=True)


def test_a_notebook_shows_streams_progress_and_nothing_else(cells: Cells) -> None:
    (stream,) = cells.run(SETTINGS)["values"]
    assert stream["text/plain"] == "<DataStream Sequence Source -> doubled>"
    assert "<table>" in stream["text/html"]
    shown = cells.run(SHORT)
    assert shown["errors"] == []
    assert shown["lines"][0].startswith("short: ")
    assert shown["lines"][-1].startswith("short: finished · batch ")
    printed = "".join(shown["text"])
    assert "> 110" in printed
    for noise in ("py4j", "Received command", "incubator", "WARN", "Callback Server"):
        assert noise not in printed


def test_an_interrupt_ends_the_job_quietly_and_the_next_cell_runs(cells: Cells) -> None:
    interrupted: list[str] = []

    def interrupt_once(line: str) -> None:
        if "batch 1" in line and not interrupted:
            interrupted.append(line)
            cells.interrupt()

    shown = cells.run(ENDLESS, interrupt_once)
    assert interrupted
    assert [name for name, _ in shown["errors"]] == ["KeyboardInterrupt"]
    everything = "".join(shown["text"]) + shown["errors"][0][1]
    for noise in ("StackOverflowError", "Py4J", "at org.apache", "java.lang"):
        assert noise not in everything
    again = cells.run(SETTINGS + SHORT)
    assert again["errors"] == []
    assert "> 110" in "".join(again["text"])
