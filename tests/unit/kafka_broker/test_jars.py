"""Fetching the broker's jars: once, whole, by whatever client is there; a script stands in for the client."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from penstock.errors import BrokerError
from penstock.kafka_broker import KAFKA_VERSION, broker_jars, has_broker_jars, jars

# Writes two jars to where it is told, and counts how often it was called.
CLIENT = f"""#!/bin/sh
echo called >> "$CALLS"
for word; do case "$word" in -DoutputDirectory=*) folder="${{word#*=}}";; esac; done
echo classes > "$folder/kafka_2.13-{KAFKA_VERSION}.jar"
echo more > "$folder/other.jar"
"""


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only client of the machine."""
    script = tmp_path / "bin" / "mvn"
    script.parent.mkdir()
    script.write_text(CLIENT)
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:/bin:/usr/bin")
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    monkeypatch.setattr(jars, "java_home", lambda: Path("/nowhere"))
    return script


def calls(client: Path) -> int:
    counted = client.parents[1] / "calls"
    return len(counted.read_text().splitlines()) if counted.exists() else 0


def test_jars_are_fetched_once(client: Path) -> None:
    assert not has_broker_jars()
    folder = broker_jars()
    assert (folder / "other.jar").read_text() == "more\n"
    assert has_broker_jars()
    assert broker_jars() == folder
    assert calls(client) == 1
    assert [path.name for path in folder.parent.iterdir() if path.is_dir()] == [folder.name]


@pytest.mark.parametrize("damage", ["missing jar", "short jar", "no marker", "bad marker"])
def test_a_folder_that_is_not_whole_is_fetched_again(client: Path, damage: str) -> None:
    folder = broker_jars()
    if damage == "missing jar":
        (folder / "other.jar").unlink()
    elif damage == "short jar":
        (folder / "other.jar").write_text("m")
    elif damage == "no marker":
        (folder / "complete.json").unlink()
    else:
        (folder / "complete.json").write_text('{"other.jar": ')
    assert (broker_jars() / "other.jar").read_text() == "more\n"
    assert calls(client) == 2


def test_a_client_that_fails_is_named_with_its_complaint_and_leaves_nothing(client: Path) -> None:
    client.write_text(CLIENT + 'echo "[ERROR] no route to anywhere"; exit 1\n')
    with pytest.raises(BrokerError, match=rf"Kafka {KAFKA_VERSION} with mvn: \[ERROR\] no route to anywhere; check"):
        broker_jars()
    assert not has_broker_jars()
    client.write_text(CLIENT)
    assert broker_jars().is_dir()


def test_a_client_that_brings_something_else_is_not_believed(client: Path) -> None:
    client.write_text("#!/bin/sh\nexit 0\n")
    with pytest.raises(BrokerError, match="it said nothing"):
        broker_jars()


def test_without_maven_the_ivy_of_spark_is_asked(client: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(jars.shutil, "which", lambda name: None)
    monkeypatch.setattr(jars, "java_home", lambda: tmp_path)
    java = tmp_path / "bin" / "java"
    java.write_text(
        '#!/bin/sh\nfor word; do case "$word" in */jars/*) folder="${word%/*}";; esac; done\n'
        f'grep -q kafka_2.13 ivy.xml && echo "$@" > "$folder/kafka_2.13-{KAFKA_VERSION}.jar"\n'
    )
    java.chmod(0o755)
    command = (broker_jars() / f"kafka_2.13-{KAFKA_VERSION}.jar").read_text()
    assert command.startswith("-jar ")
    assert "/ivy-" in command


def test_without_any_client_the_error_says_what_to_install(client: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars.shutil, "which", lambda name: None)
    monkeypatch.setattr(jars, "find_spec", lambda name: None)
    with pytest.raises(BrokerError, match="install Maven"):
        broker_jars()


def test_two_processes_fetch_once(client: Path) -> None:
    program = (
        "from pathlib import Path; from penstock.kafka_broker import jars;"
        "jars.java_home = lambda: Path('/nowhere'); jars.broker_jars()"
    )
    both = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(2)]
    assert [process.wait(60) for process in both] == [0, 0]
    assert calls(client) == 1
