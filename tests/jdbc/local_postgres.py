"""A PostgreSQL server of its own for a test run: made in a temporary folder, on a free port, gone afterwards."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg

from tests.spark.waiting import wait_until

_USER = "postgres"  # the server refuses to run as root; packages make this user


class LocalPostgres:
    """A server and its files; statements of tests go through `run`."""

    def __init__(self, binaries: Path) -> None:
        self._binaries = binaries
        self._folder = Path(tempfile.mkdtemp(prefix="penstock-postgres-"))
        self._server: subprocess.Popen[bytes] | None = None
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        if os.geteuid() == 0:
            os.chown(self._folder, pwd.getpwnam(_USER).pw_uid, -1)
        init = [
            str(binaries / "initdb"),
            "-D",
            str(self._data),
            "-A",
            "trust",
            "-U",
            "tester",
            "-E",
            "UTF8",
            "--no-sync",
        ]
        made = subprocess.run(self._as_user(init), cwd=self._folder, capture_output=True, text=True, check=False)
        assert made.returncode == 0, made.stderr

    @property
    def url(self) -> str:
        return f"jdbc:postgresql://127.0.0.1:{self.port}/postgres?user=tester"

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    def _as_user(self, command: list[str]) -> list[str]:
        if os.geteuid() != 0:
            return command
        return ["setpriv", f"--reuid={_USER}", f"--regid={_USER}", "--clear-groups", *command]

    def start(self) -> None:
        """Start the server; returns when it answers."""
        command = [
            str(self._binaries / "postgres"),
            "-D",
            str(self._data),
            "-k",
            str(self._folder),
            "-p",
            str(self.port),
        ]
        with (self._folder / "log").open("ab") as log:
            self._server = subprocess.Popen(
                self._as_user([*command, "-c", "fsync=off", "-c", "max_connections=30"]),
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        wait_until(self._answers, "PostgreSQL answers")

    def _answers(self) -> bool:
        assert self._server is not None
        assert self._server.poll() is None, (self._folder / "log").read_text()
        with contextlib.suppress(psycopg.OperationalError):
            return self.run("SELECT 1") == [(1,)]
        return False

    def stop(self, how: int = signal.SIGINT) -> None:
        """Stop it: quickly but in good order, or (SIGQUIT) as in a crash."""
        if self._server is not None:
            self._server.send_signal(how)
            self._server.wait(60)
            self._server = None

    def remove(self) -> None:
        """Stop it and remove its files."""
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self._folder, ignore_errors=True)

    def connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(host="127.0.0.1", port=self.port, user="tester", dbname="postgres", autocommit=True)

    @contextlib.contextmanager
    def new_database(self) -> Iterator[str]:
        """A database that nobody else uses, by its URL; dropped with whoever is still connected to it."""
        name = f"d_{uuid.uuid4().hex[:12]}"
        self.run(f"CREATE DATABASE {name}")
        try:
            yield f"postgresql://tester@127.0.0.1:{self.port}/{name}"
        finally:
            self.run(f"DROP DATABASE {name} WITH (FORCE)")

    def run(self, sql: str) -> list[Any]:
        with self.connect() as connection:
            cursor = connection.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []


def find_binaries() -> Path | None:
    """Where initdb and postgres are: on the path, or where Debian puts them."""
    on_path = shutil.which("initdb")
    if on_path is not None:
        return Path(on_path).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    return versions[-1].parent if versions else None
