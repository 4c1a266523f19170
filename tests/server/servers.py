"""Servers and drivers as processes of their own, for tests that kill them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.spark.waiting import PATIENCE_SECONDS, wait_until

# Counts for ever, with its results in files; each line of the log says which process runs it.
COUNTING = """
import os, sys
from penstock.common import Types, WatermarkStrategy
from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from penstock.datastream.connectors.data_gen import DataGeneratorSource, RateLimiterStrategy
from penstock.datastream.connectors.file_system import FileSink, RollingPolicy
from penstock.common.serialization import Encoder
from penstock.datastream.state import ValueStateDescriptor

class Count(KeyedProcessFunction):
    def open(self, context):
        self.count = context.get_state(ValueStateDescriptor("count", Types.LONG()))
    def process_element(self, value, context):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield f"{value % 5} {count}"

output, total = sys.argv[1], int(sys.argv[2])
print("driver", os.getpid(), flush=True)
env = StreamExecutionEnvironment.get_execution_environment()
source = DataGeneratorSource(lambda index: index % 5, total, RateLimiterStrategy.per_second(300.0))
env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers") \\
    .key_by(lambda value: value).process(Count()).uid("count").name("count") \\
    .sink_to(FileSink.for_row_format(output, Encoder.simple_string_encoder())
             .with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy()).build()).uid("sink")
env.execute("counting")
"""

ENDLESS = str(10**9)

SETTINGS = {
    "penstock.engine": "in-process",
    "parallelism.default": "2",
    "execution.checkpointing.interval": "300ms",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "10",
    "restart-strategy.fixed-delay.delay": "100ms",
}


@dataclass
class Server:
    """A `penstock server` in a process of its own, and a client of it."""

    process: subprocess.Popen[str]
    url: str
    token: str | None
    log: Path = field(repr=False, default=Path())

    def call(self, method: str, path: str, body: Any = None, *, content: bytes | None = None, kind: str = "") -> Any:
        data = content if content is not None else None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, method=method)
        request.add_header("content-type", kind or "application/json")
        if self.token is not None:
            request.add_header("authorization", f"Bearer {self.token}")
        with urllib.request.urlopen(request, timeout=90) as answer:
            return json.load(answer)

    def get(self, path: str) -> Any:
        return self.call("GET", path)

    def upload(self, name: str, content: bytes, requirements: str = "") -> str:
        mark = uuid.uuid4().hex
        parts = [
            f'--{mark}\r\ncontent-disposition: form-data; name="requirements"\r\n\r\n{requirements}\r\n'.encode(),
            f'--{mark}\r\ncontent-disposition: form-data; name="jarfile"; filename="{name}"\r\n\r\n'.encode(),
            content,
            f"\r\n--{mark}--\r\n".encode(),
        ]
        kind = f"multipart/form-data; boundary={mark}"
        told = self.call("POST", "/jars/upload", content=b"".join(parts), kind=kind)
        return str(told["filename"].rpartition("/")[2])

    def run(self, program: str, arguments: list[str], **settings: str) -> str:
        body = {"programArgsList": arguments, "flinkConfiguration": {**SETTINGS, **settings}}
        return str(self.call("POST", f"/jars/{program}/run", body)["jobid"])

    def state(self, job_id: str) -> str:
        return str(self.get(f"/jobs/{job_id}")["state"])

    def await_state(self, job_id: str, state: str, seconds: float = PATIENCE_SECONDS) -> None:
        def is_so() -> bool:
            with suppress(urllib.error.HTTPError):
                return self.state(job_id) == state
            return False

        wait_until(is_so, f"job {job_id} is {state}", seconds)

    def drain(self, job_id: str, folder: Path) -> None:
        """Have a job come to its end, with everything published."""
        body = {"drain": True, "targetDirectory": str(folder)}
        trigger = self.call("POST", f"/jobs/{job_id}/stop", body)["request-id"]
        path = f"/jobs/{job_id}/savepoints/{trigger}"
        wait_until(lambda: self.get(path)["status"]["id"] == "COMPLETED", "the job has been drained")
        assert "location" in self.get(path)["operation"], self.get(path)
        self.await_state(job_id, "FINISHED")

    def document(self, job_id: str) -> dict[str, Any]:
        return dict(self.get(f"/penstock/jobs/{job_id}"))

    def submission(self) -> dict[str, Any]:
        """The only program that was started."""
        [found] = self.get("/penstock/submissions")["submissions"]
        return dict(found)

    def pid_of(self, job_id: str) -> int:
        return int(self.document(job_id)["process"]["pid"])

    def has_other_driver(self, job_id: str, pid: int) -> bool:
        """Whether a job runs in another process than it did; for a moment after a death it has none."""
        found = self.document(job_id)["process"]["pid"]
        return found not in (None, pid) and self.state(job_id) == "RUNNING"

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def server(
    folder: Path, *options: str, name: str = "server", is_last: bool = True, variables: Mapping[str, str] | None = None
) -> Iterator[Server]:
    """A server whose files are below a folder, which others can share; ended when the block is left.

    Its drivers are too, if it is the last one. They have its variables, as it has those that are given.
    """
    log = folder / f"{name}.log"
    environment = {**os.environ, "PENSTOCK_HOME": str(folder / "h"), **(variables or {})}
    data = ["--folder", str(folder / "data")]
    command = [sys.executable, "-m", "penstock", "server", "--port", "0", *data, *options]
    with open(log, "w") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=stream, text=True, env=environment)
    try:
        wait_until(lambda: "penstock server at" in log.read_text() or process.poll() is not None, "the server is up")
        assert process.poll() is None, log.read_text()
        url = log.read_text().split("penstock server at ")[1].split()[0]
        yield Server(process, url, _token(folder, options), log)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.wait(30)
        if is_last:
            _kill_drivers(folder / "data")


def _kill_drivers(data: Path) -> None:
    """Drivers outlive their server, which is right, but not their test."""
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            with suppress(OSError):
                words = (place / "cmdline").read_bytes().decode(errors="replace").split("\0")
                if "penstock.cli.driver_main" in words and any(word.startswith(f"{data}/") for word in words):
                    os.kill(int(place.name), signal.SIGKILL)


def _token(folder: Path, options: tuple[str, ...]) -> str | None:
    if "--no-token" in options:
        return None
    lines = (folder / "h" / "server" / "tokens").read_text().splitlines()
    return lines[0].split()[1]


def counted(folder: Path) -> dict[int, list[int]]:
    """The counts that were published, by key, in their order."""
    found: dict[int, list[int]] = {}
    for part in folder.rglob("part-*"):
        if not part.name.startswith("."):
            for line in part.read_text().splitlines():
                key, count = map(int, line.split())
                found.setdefault(key, []).append(count)
    return {key: sorted(counts) for key, counts in sorted(found.items())}


def exactly(total: int) -> dict[int, list[int]]:
    """What `COUNTING` makes of so many records."""
    return {key: list(range(1, total // 5 + 1)) for key in range(5)}


def is_exactly_once(found: dict[int, list[int]]) -> bool:
    """Whether every count up to the last is there, once, for each key."""
    return len(found) == 5 and all(counts == list(range(1, len(counts) + 1)) for counts in found.values())
