"""Clients that nobody here wrote: the command of Flink 2.3 lists, saves, stops and cancels jobs of Penstock."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.server.flink_command import find_flink
from tests.server.servers import COUNTING, ENDLESS, Server, server
from tests.spark.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

Flink = Callable[..., str]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with server(tmp_path_factory.mktemp("flink")) as one:
        yield one


@pytest.fixture(scope="module")
def flink(running: Server, tmp_path_factory: pytest.TempPathFactory) -> Flink:
    """Runs the command against the server; the token goes into a header, as Flink's documentation says."""
    command, folder = find_flink(), tmp_path_factory.mktemp("conf")
    (folder / "config.yaml").write_text("rest.address: 127.0.0.1\n")
    headers = f"Authorization:Bearer {running.token}"

    def call(*words: str, token: str = headers) -> str:
        environment = {**os.environ, "FLINK_CONF_DIR": str(folder), "FLINK_REST_CLIENT_HEADERS": token}
        address = running.url.removeprefix("http://")
        told = subprocess.run(
            [str(command), words[0], "-m", address, *words[1:]],
            env=environment, capture_output=True, text=True, timeout=240, check=False,
        )  # fmt: skip
        return told.stdout + told.stderr

    return call


def start(running: Server, folder: Path) -> str:
    job = running.run(running.upload("counting.py", COUNTING.encode()), [str(folder / "out"), ENDLESS])
    wait_until(lambda: running.document(job)["checkpoints"]["completed"] > 1, "the job runs")
    return job


def test_flink_lists_saves_and_stops(running: Server, flink: Flink, tmp_path: Path) -> None:
    job = start(running, tmp_path)
    listed = flink("list")
    assert f"{job} : counting (RUNNING)" in listed, listed
    saved = flink("savepoint", job, str(tmp_path / "saved"))
    assert f"Savepoint completed. Path: {tmp_path / 'saved'}" in saved, saved
    refused = flink("savepoint", job, "/proc/nowhere")
    assert "savepoint directory /proc/nowhere cannot be used" in refused, refused
    stopped = flink("stop", "--savepointPath", str(tmp_path / "stopped"), job)
    assert f"Savepoint completed. Path: {tmp_path / 'stopped'}" in stopped, stopped
    assert running.state(job) == "FINISHED"
    assert f"{job} : counting (FINISHED)" in flink("list", "-a")


def test_flink_cancels_and_is_refused_without_the_token(running: Server, flink: Flink, tmp_path: Path) -> None:
    job = start(running, tmp_path)
    assert "no valid token" in flink("list", token="X-Nothing:1")
    cancelled = flink("cancel", job)
    assert f"Cancelled job {job}" in cancelled, cancelled
    running.await_state(job, "CANCELED")
