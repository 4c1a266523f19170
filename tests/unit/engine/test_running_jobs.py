"""The way into a running job: cards, sockets, what can be asked, and what is left of the dead."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from penstock.errors import ConfigurationError, JobNotFoundError, PenstockError
from penstock.job.announcing import running_jobs_of_this_process
from penstock.job.cards import CardFolder, JobCard, user_folder
from penstock.job.running_jobs import find_job, running_jobs
from penstock.job.socket import JobSocket, ask
from tests.unit.engine.announced import announced


@pytest.fixture(autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> CardFolder:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path_factory.mktemp("h")))
    return CardFolder.of_this_user()


def files(folder: CardFolder) -> list[str]:
    return sorted(path.suffix for path in folder.path.iterdir())


def test_a_job_is_known_until_it_ends(folder: CardFolder) -> None:
    with announced("totals", savepoints="/savepoints") as job:
        assert files(folder) == [".json", ".sock"]
        assert running_jobs_of_this_process() == [job]
        ((found, status),) = running_jobs()
        assert (status["name"], status["status"], status["id"]) == ("totals", "RUNNING", job.job_id)
        assert (status["batch"], status["records"], status["watermark"]) == (7, 12_345, 1_700_000_000_000)
        assert (status["pid"], status["checkpoint"]) == (os.getpid(), "/checkpoints/one")
        assert (status["savepoint_directory"], status["restarts"]) == ("/savepoints", 1)
        assert found.metrics() == {"totals": {"records_in": 3.0}}
    assert (files(folder), running_jobs(), running_jobs_of_this_process()) == ([], [], [])


def test_a_process_that_ends_waits_for_a_card_that_is_being_removed(
    folder: CardFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    removing, may_go_on, remove = threading.Event(), threading.Event(), CardFolder.remove

    def slow(self: CardFolder, card: JobCard) -> None:
        removing.set()
        assert may_go_on.wait(30)
        remove(self, card)

    monkeypatch.setattr(CardFolder, "remove", slow)
    with announced("orders") as job:
        ending = threading.Thread(target=job.end)
        ending.start()
        assert removing.wait(30)
        # What is in this list is withdrawn, and waited for, when the process ends.
        assert job in running_jobs_of_this_process()
        may_go_on.set()
        ending.join()
    assert job not in running_jobs_of_this_process()
    assert folder.cards() == []


def test_what_is_asked_reaches_the_job() -> None:
    with announced("totals") as job:
        ((found, _),) = running_jobs()
        assert found.savepoint("/there") == "/there/savepoint-1"
        with pytest.raises(PenstockError, match="nowhere cannot be used"):
            found.savepoint("nowhere")
        assert found.stop(None, drain=True) == "None/savepoint-2"
        assert job.asked == [("savepoint", "/there"), ("savepoint", "nowhere"), ("stop", True, None)]
        with pytest.raises(JobNotFoundError, match="ended before it answered"):
            found.cancel()


def test_nobody_else_can_look_in(folder: CardFolder) -> None:
    folder.path.mkdir(mode=0o755, parents=True)
    with announced("totals"):
        modes = {path.suffix: stat.S_IMODE(path.stat().st_mode) for path in (folder.path, *folder.path.iterdir())}
        assert modes == {"": 0o700, ".json": 0o600, ".sock": 0o600}
        (card,) = folder.cards()
        with pytest.raises(PenstockError, match="does not contain the token"):
            ask(card.address, "guessed", {"do": "cancel"})
        with pytest.raises(PenstockError, match="a job has no answer for 'fly'; use one of status, "):
            ask(card.address, card.token, {"do": "fly"})


@pytest.mark.parametrize("sent", [b"hello\n", b"[1]\n", b"\xff\xfe\n", b"\n", b"x" * 70_000])
def test_rubbish_is_refused_and_does_no_harm(folder: CardFolder, sent: bytes) -> None:
    with announced("totals"):
        (card,) = folder.cards()
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(card.address.removeprefix("unix:"))
            connection.sendall(sent)
            assert json.loads(connection.recv(1000))["error"] == "the request is not a line of JSON"
        assert len(running_jobs()) == 1


def test_a_path_that_is_too_long_for_a_socket_becomes_a_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / ("deep" * 30)))
    with announced("totals") as job:
        ((found, _),) = running_jobs()
        assert found.card.address.startswith("tcp:")
        assert found.savepoint("/there") == "/there/savepoint-1"
        with pytest.raises(PenstockError, match="token"):
            ask(found.card.address, "", {"do": "cancel"})
        assert job.asked == [("savepoint", "/there")]
    assert running_jobs() == []


def dead_card(folder: CardFolder, pid: int, address: str, file: str = "dead-1") -> JobCard:
    folder.open()
    card = JobCard("d" * 32, "dead", pid, "/checkpoints/dead", 1, address, "token", file=file)
    folder.put(card)
    return card


def gone_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_cards_of_the_dead_go_when_they_are_found(folder: CardFolder) -> None:
    folder.open()
    path = folder.path / "dead-1.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))  # nobody listens: as after a kill
    dead_card(folder, os.getpid(), f"unix:{path}")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    dead_card(folder, os.getpid(), f"tcp:{port}", "dead-2")
    dead_card(folder, os.getpid(), f"unix:{folder.path}/never", "dead-3")
    with announced("alive"):
        assert [status["name"] for _, status in running_jobs()] == ["alive"]
        assert files(folder) == [".json", ".sock"]


def test_a_port_that_somebody_else_has_now_is_no_job(folder: CardFolder) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        dead_card(folder, os.getpid(), f"tcp:{server.getsockname()[1]}")

        def be_rude() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=be_rude)
        thread.start()
        assert running_jobs() == []
        thread.join()
    assert files(folder) == []


def test_a_job_that_starts_sweeps_up_after_killed_ones(folder: CardFolder) -> None:
    dead_card(folder, gone_pid(), f"unix:{folder.path}/never")
    (folder.path / "broken.json").write_text("{")
    (folder.path / "later.json").write_text('{"format": 3}')
    with announced("alive"):
        assert {path.name for path in folder.path.glob("*.json")} - {"later.json"} == {f"{folder.cards()[0].file}.json"}
        assert (folder.path / "later.json").exists()


def test_one_that_does_not_answer_is_shown_and_one_whose_process_is_gone_is_not(
    folder: CardFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.job.running_jobs._STATUS_SECONDS", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as server:  # accepts, and says nothing
        address = f"tcp:{server.getsockname()[1]}"
        dead_card(folder, os.getpid(), address, "busy")
        dead_card(folder, gone_pid(), address, "gone")
        assert [(status["status"], status["pid"]) for _, status in running_jobs()] == [("NOT ANSWERING", os.getpid())]
    assert [path.name for path in folder.path.iterdir()] == ["busy.json"]


def test_cards_of_other_machines_are_left_alone(folder: CardFolder) -> None:
    card = dead_card(folder, gone_pid(), "unix:/nowhere")
    path = folder.path / f"{card.file}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "host": "elsewhere"}))
    assert running_jobs() == []
    folder.sweep()
    assert path.exists()


def test_a_job_is_found_by_id_name_process_and_beginning() -> None:
    with announced("first", "ab" + "0" * 30) as first, announced("second", "ac" + "0" * 30) as second:
        for text in (first.job_id, "first", "ab"):
            assert find_job(text)[0].card.name == "first"
        assert find_job("ac0")[0].card.job_id == second.job_id
        with pytest.raises(JobNotFoundError, match=r"'a' may be ab00.*'first'.*, ac00.*'second'"):
            find_job("a")
        with pytest.raises(JobNotFoundError, match="may be"):
            find_job(str(os.getpid()))
        with pytest.raises(JobNotFoundError, match=r"no running job .*'third'; running jobs: ab00"):
            find_job("third")
    with pytest.raises(JobNotFoundError, match="no job is running"):
        find_job("first")


def test_two_jobs_of_one_name_are_told_apart_by_their_ids() -> None:
    with announced("same", "ab" + "0" * 30), announced("same", "cd" + "0" * 30) as second:
        with pytest.raises(JobNotFoundError, match=r"'same' may be ab00.*pass the id"):
            find_job("same")
        find_job("cd")[0].cancel()
        assert second.asked == [("cancel",)]
        assert find_job("same")[0].card.job_id.startswith("ab")


def test_a_name_wins_over_the_beginning_of_an_id() -> None:
    with announced("cafe", "ab" + "0" * 30), announced("other", "cafe" + "0" * 28):
        assert find_job("cafe")[0].card.name == "cafe"


def test_a_job_that_cannot_be_announced_runs_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "file"))
    with announced("unseen") as job:
        assert running_jobs_of_this_process() == [job]
    assert "'unseen' will not appear in `penstock list`" in caplog.text


def test_a_folder_of_somebody_else_is_not_used(folder: CardFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: os.stat("/").st_uid + 4711)
    with pytest.raises(ConfigurationError, match="belongs to another user: set PENSTOCK_HOME"):
        folder.open()


ENDS_AT_ONCE = """
import threading
from tests.unit.engine.announced import announced

with announced("short") as job:
    stop = job.stop_with_savepoint

    def slow(*arguments):
        path = stop(*arguments)
        threading.Event().wait(0.3)  # longer than a process takes to end
        return path

    job.stop_with_savepoint = slow
    print("ready", flush=True)
    job.wait()
"""


def test_the_answer_to_a_stop_is_heard_although_the_process_ends() -> None:
    """The program ends as soon as its job does; who asked for that waits for the path."""
    command = [sys.executable, "-c", ENDS_AT_ONCE]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3]) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert find_job("short")[0].stop("/there", drain=False) == "/there/savepoint-2"
    assert process.returncode == 0


def test_a_long_request_keeps_nobody_waiting(tmp_path_factory: pytest.TempPathFactory) -> None:
    entered, release = threading.Event(), threading.Event()

    def answer(request: dict[str, object]) -> object:
        if request["do"] == "long":
            entered.set()
            release.wait(30)
        return request["do"]

    place = JobSocket(tmp_path_factory.mktemp("s") / "s", answer)
    heard: list[object] = []
    thread = threading.Thread(target=lambda: heard.append(ask(place.address, place.token, {"do": "long"})))
    thread.start()
    assert entered.wait(30)
    assert ask(place.address, place.token, {"do": "short"}) == "short"
    place.close()
    place.close()
    release.set()
    thread.join(30)
    assert heard == ["long"]
    with pytest.raises(ConnectionError):
        ask(place.address, place.token, {"do": "short"})


def test_where_the_folder_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "own"))
    assert user_folder() == tmp_path / "own"
    monkeypatch.delenv("PENSTOCK_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert user_folder() == tmp_path / "cache" / "penstock"
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file" / "cache"))
    assert user_folder().name == f"penstock-{os.getuid()}"


def forged(card: JobCard, path: Path) -> None:
    """A card that leads to somebody else's socket."""
    path.write_text(json.dumps({"format": 2, **{key: value for key, value in vars(card).items() if key != "file"}}))


def test_a_card_that_another_user_could_have_written_is_not_read(folder: CardFolder, tmp_path: Path) -> None:
    with announced("real"):
        (card,) = folder.cards()
        forged(card, tmp_path / "elsewhere.json")
        (folder.path / "link.json").symlink_to(tmp_path / "elsewhere.json")
        forged(card, folder.path / "writable.json")
        (folder.path / "writable.json").chmod(0o666)
        os.mkfifo(folder.path / "pipe.json")
        assert [each.file for each in folder.cards()] == [card.file]


def test_a_link_in_the_place_of_the_folder_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, other = tmp_path / "home", tmp_path / "of another user"
    home.mkdir()
    other.mkdir()
    (home / "jobs").symlink_to(other)
    monkeypatch.setenv("PENSTOCK_HOME", str(home))
    forged(JobCard("a" * 32, "forged", 1, "/x", 1, "tcp:1", "t"), other / "forged.json")
    for look in (running_jobs, CardFolder.of_this_user().open):
        with pytest.raises(ConfigurationError, match=r"is a link or not a folder .*set PENSTOCK_HOME"):
            look()


def test_a_folder_in_a_home_of_another_user_is_refused_before_it_is_read(
    folder: CardFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.open()
    real = os.stat(folder.path.parent)
    changed = os.stat_result((*real[:4], 4711, *real[5:]))
    monkeypatch.setattr(os, "stat", lambda path, **more: changed)
    with pytest.raises(ConfigurationError, match="belongs to another user"):
        running_jobs()


def test_the_socket_of_another_user_is_not_asked(folder: CardFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    with announced("totals"):
        (card,) = folder.cards()
        monkeypatch.setattr(os, "geteuid", lambda: 4711)
        with pytest.raises(ConnectionError, match="is not a socket of this user's"):
            ask(card.address, card.token, {"do": "status"})


def test_who_does_not_know_the_token_is_no_job_and_never_sees_it(folder: CardFolder) -> None:
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        card = dead_card(folder, os.getpid(), f"tcp:{server.getsockname()[1]}")

        def pretend() -> None:
            connection, _ = server.accept()
            with connection:
                heard.append(connection.recv(1000))
                connection.sendall(b'{"result": "/path/of/my/choosing", "proof": ""}\n')

        thread = threading.Thread(target=pretend)
        thread.start()
        with pytest.raises(ConnectionError, match="does not answer like a job"):
            ask(card.address, "secret-token", {"do": "stop"})
        thread.join()
    assert b"secret-token" not in heard[0]
