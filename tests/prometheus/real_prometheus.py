"""A real Prometheus, started by tests in a folder of their own."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

REQUIRED = "PENSTOCK_REQUIRE_PROMETHEUS"
_PATIENCE_SECONDS = 120.0


def command(name: str) -> str:
    """The path of a program of Prometheus; without it the test is skipped, or fails where it is required."""
    found = shutil.which(name)
    if found is None:
        reason = f"{name} is not installed: apt-get install prometheus"
        if os.environ.get(REQUIRED):
            pytest.fail(reason)
        pytest.skip(reason)
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Prometheus:
    """A Prometheus that runs, asked by its API."""

    def __init__(self, port: int, process: subprocess.Popen[bytes], log: Path) -> None:
        self._address = f"http://127.0.0.1:{port}"
        self._process = process
        self._log = log

    def get(self, path: str, **parameters: str) -> Any:
        query = urllib.parse.urlencode(parameters)
        with urllib.request.urlopen(f"{self._address}{path}?{query}", timeout=30) as answer:
            return json.load(answer)["data"]

    def query(self, text: str) -> list[dict[str, Any]]:
        return list(self.get("/api/v1/query", query=text)["result"])

    def firing(self) -> dict[str, dict[str, Any]]:
        """The alerts that fire, by name."""
        alerts = self.get("/api/v1/alerts")["alerts"]
        return {each["labels"]["alertname"]: each for each in alerts if each["state"] == "firing"}

    def wait_until(self, condition: Callable[[], Any], what: str) -> Any:
        until = time.monotonic() + _PATIENCE_SECONDS
        while True:
            assert self._process.poll() is None, f"Prometheus has ended:\n{self._log.read_text()}"
            try:
                found = condition()
            except (OSError, ValueError, KeyError):
                found = None
            if found:
                return found
            assert time.monotonic() < until, f"waited in vain until {what}\n{self._log.read_text()[-3000:]}"
            self._pause()

    def _pause(self) -> None:
        try:
            self._process.wait(0.2)
        except subprocess.TimeoutExpired:
            return


@contextmanager
def running_prometheus(folder: Path, scraped_port: int, rules: str) -> Iterator[Prometheus]:
    """Run a Prometheus that reads one job twice a second, with some rules."""
    folder.mkdir(parents=True)
    (folder / "rules.yml").write_text(rules)
    (folder / "prometheus.yml").write_text(
        f"""
global: {{scrape_interval: 500ms, evaluation_interval: 500ms}}
rule_files: [{folder}/rules.yml]
scrape_configs:
  - job_name: penstock
    static_configs: [{{targets: ["127.0.0.1:{scraped_port}"]}}]
"""
    )
    port, log = free_port(), folder / "log"
    words = [
        command("prometheus"),
        f"--config.file={folder}/prometheus.yml",
        f"--storage.tsdb.path={folder}/data",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with log.open("wb") as stream:
        process = subprocess.Popen(words, stdout=stream, stderr=stream, cwd=folder)
    made = Prometheus(port, process, log)
    try:
        made.wait_until(lambda: made.get("/api/v1/targets") is not None, "Prometheus answers")
        yield made
    finally:
        process.terminate()
        process.wait(60)
