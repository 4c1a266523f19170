"""What strangers do to a server: every mistake is told in a sentence, and nothing else is harmed by it."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import urllib.error
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.commands import app
from tests.server.servers import server
from tests.spark.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def started(folder: Path, *options: str) -> str:
    """Try to start a server that must not start; returns the one line that it says."""
    command = [sys.executable, "-m", "penstock", "server", "--port", "0", "--folder", str(folder / "data"), *options]
    environment = {**os.environ, "PENSTOCK_HOME": str(folder / "h")}
    told = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)
    assert told.returncode == 1
    [line] = told.stderr.splitlines()
    return line


def test_a_server_that_cannot_start_says_why_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    (tmp_path / "broken.sqlite").write_bytes(b"no database" * 1000)
    (tmp_path / "bad.pem").write_text("no certificate")
    inside, pem = str(tmp_path / "file" / "x"), str(tmp_path / "bad.pem")
    for options, words in [
        (["--folder", inside], f"folder {tmp_path}/file/x cannot be used: Not a directory; choose another"),
        (["--registry", f"{inside}/r"], f"folder {tmp_path}/file/x cannot be used: Not a directory; choose another"),
        (["--registry", str(tmp_path / "broken.sqlite")], "cannot be used: file is not a database; restore it or"),
        (["--log", inside], f"log {tmp_path}/file/x cannot be written: Not a directory; choose another --log"),
        (["--tls-certificate", pem, "--tls-key", pem], f"{pem} and {pem} cannot be used as certificate and key: "),
        (["--host", "no.such.host.invalid", "--no-token"], "does not listen on no.such.host.invalid without"),
        (["--token-file", inside], f"the tokens in {tmp_path}/file/x cannot be read"),
    ]:
        told = started(tmp_path, *options)
        assert told.startswith("penstock: ") and words in told


def test_launches_that_no_process_could_have_are_refused(tmp_path: Path) -> None:
    with server(tmp_path) as one:
        program = one.upload("show.py", b"print('run')")
        for body, words in [
            ({"programArgs": 'a "b'}, "the arguments cannot be split into words: No closing quotation"),
            ({"programArgsList": ["a" * 131_072]}, "an argument or setting has more than 100,000 bytes"),
            ({"flinkConfiguration": {"a": "b" * 131_072}}, "an argument or setting has more than 100,000 bytes"),
            ({"programArgsList": ["\ud800"]}, "arguments and settings must be text"),
            ({"flinkConfiguration": {"a": "\ud800"}}, "arguments and settings must be text"),
            ({"programArgsList": ["a\0b"]}, "arguments and settings cannot have NUL"),
        ]:
            with pytest.raises(urllib.error.HTTPError) as told:
                one.call("POST", f"/jars/{program}/run", body)
            assert told.value.code == 400 and words in told.value.read().decode()
        assert one.get("/penstock/submissions")["submissions"] == []


def test_a_program_submitted_many_times_at_once_runs_as_often(tmp_path: Path) -> None:
    files = {"main.py": "import own\nprint('word', own.WORD)\n", "own.py": "WORD = 'whole'\n" + "#" * 1_000_000}
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    with server(tmp_path) as one:
        program = one.upload("etl.zip", stream.getvalue())
        made = [one.call("POST", f"/jars/{program}/run-application", {})["applicationid"] for _ in range(4)]
        for each in made:
            path = f"/penstock/submissions/{each}"
            wait_until(lambda: one.get(path)["state"] == "ENDED", "it has ended")  # noqa: B023
            assert one.get(path)["outcome"] == "FINISHED"
            assert one.get(f"{path}/log")["text"].split() == ["word", "whole"]


def test_a_registry_that_is_removed_under_a_server_is_told(tmp_path: Path) -> None:
    with server(tmp_path, "--registry", str(tmp_path / "r" / "r.sqlite")) as one:
        program = one.upload("show.py", b"print('run')")
        (tmp_path / "r" / "r.sqlite").unlink()
        with pytest.raises(urllib.error.HTTPError) as told:
            one.call("POST", f"/jars/{program}/run", {})
        assert "was removed or replaced while the server ran" in told.value.read().decode()
        wait_until(lambda: "does not lead any more" in one.log.read_text(), "it starts nothing any more")
        assert "Traceback" not in one.log.read_text()


def test_requirements_that_are_no_text_are_told_by_the_command(tmp_path: Path) -> None:
    (tmp_path / "show.py").write_text("")
    (tmp_path / "requirements").write_bytes(b"\xff\xfe")
    words = ["submit", "-r", str(tmp_path / "requirements"), str(tmp_path / "show.py")]
    told = CliRunner().invoke(app, words)
    assert told.exit_code == 2 and "is not a text in UTF-8" in told.output


def test_folders_that_were_there_before_keep_their_rights(tmp_path: Path) -> None:
    """Who names a folder that others use, such as /tmp, must not shut them out of it."""
    for name in ("data", "shared"):
        (tmp_path / name).mkdir()
        (tmp_path / name).chmod(0o1777)
    with server(tmp_path, "--registry", str(tmp_path / "shared" / "r.sqlite")):
        modes = {name: (tmp_path / name).stat().st_mode & 0o7777 for name in ("data", "shared", "data/drivers")}
    assert modes == {"data": 0o1777, "shared": 0o1777, "data/drivers": 0o700}
    assert (tmp_path / "shared" / "r.sqlite").stat().st_mode & 0o777 == 0o600
