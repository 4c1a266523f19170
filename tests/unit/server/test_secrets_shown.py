"""Passwords and tokens: nobody is shown them by the server, and nobody comes in by what was left or used before."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from penstock.common import Configuration
from penstock.server.access import COOKIE, Access
from penstock.server.answers import Refusal
from penstock.server.app import create_app
from penstock.server.cluster_routes import ServerFacts
from penstock.server.dispatcher import supervisor as supervisor_module
from penstock.server.dispatcher.database import open_database
from penstock.server.dispatcher.dispatcher import Dispatcher
from penstock.server.dispatcher.processes import DriverProcess
from penstock.server.dispatcher.programs import Program
from penstock.server.dispatcher.registry import ENDED, Launch, Registry
from penstock.server.dispatcher.requirements import checked_requirements
from penstock.server.dispatcher.routes import dispatcher_routes
from penstock.server.dispatcher.supervisor import Supervisor
from penstock.server.running import ServerOptions, _log_to, _shown
from penstock.tokens import Role
from tests.spark.waiting import wait_until
from tests.unit.server.serving_jobs import OPERATE, READ, two_tokens

SECRET = "hunter2hunter2"
TELLS_COMMAND = """
import pathlib, sys
pathlib.Path(sys.argv[1]).write_bytes(pathlib.Path("/proc/self/cmdline").read_bytes())
"""
URL = f"postgresql://penstock:{SECRET}@db.example/penstock?sslpassword={SECRET}"


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "h"))
    made = Registry(open_database(str(tmp_path / "r" / "x.sqlite")))
    yield made
    made.close()


@pytest.fixture
def client(registry: Registry, tmp_path: Path) -> Iterator[TestClient]:
    dispatcher = Dispatcher(registry, tmp_path / "data", "http://x")
    access = replace(two_tokens(), used_up=registry)
    facts = ServerFacts(settings=_shown(ServerOptions(registry=URL)))
    app = create_app(dispatcher, access, facts, routes=[dispatcher_routes(dispatcher)])
    with TestClient(app, base_url="http://localhost", follow_redirects=False) as made:
        yield made


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


@pytest.mark.parametrize("token", [READ, OPERATE])
def test_no_answer_has_a_password_in_it(client: TestClient, registry: Registry, token: str) -> None:
    arguments = ["--db-password", SECRET, f"--token={SECRET}", URL, f"-Dx.password={SECRET}"]
    settings = {"my.password": SECRET, "db.url": URL, "jaas": SECRET}
    made = registry.add_submission("p", "a.py", Launch(arguments, settings))
    over = registry.add_submission("p", "b.py", Launch(arguments, settings))
    registry.change(over, state=ENDED, outcome="FAILED", error=f"no way to {URL}")
    paths = ["/jobmanager/config", "/penstock/submissions", f"/penstock/submissions/{made.id}", "/jobs/overview"]
    paths += [f"/jobs/{each.id}{end}" for each in (made, over) for end in ("", "/config", "/exceptions")]
    paths += [f"/penstock/jobs/{made.id}", "/applications/overview", f"/applications/{made.id}/jobmanager/config"]
    for path in paths:
        answer = client.get(path, headers=bearer(token))
        assert answer.status_code == 200, path
        assert SECRET not in answer.text, path
    told = client.get("/jobmanager/config", headers=bearer(token)).json()
    assert {"key": "registry", "value": "postgresql://penstock:******@db.example/penstock?sslpassword=******"} in told


def test_arguments_are_hidden_from_who_may_only_look(client: TestClient, registry: Registry) -> None:
    made = registry.add_submission("p", "a.py", Launch(["plain", SECRET]))
    path = f"/penstock/submissions/{made.id}"
    assert client.get(path, headers=bearer(READ)).json()["launch"]["arguments"] == ["******", "******"]
    assert client.get(path, headers=bearer(OPERATE)).json()["launch"]["arguments"] == ["plain", SECRET]


@pytest.mark.parametrize("path", ["/v1/sessions/x/operations/y/result/0%0A", "/sessions%0A", "/jobs/x/yarn-cancel%0A"])
@pytest.mark.parametrize("token", [READ, OPERATE])
def test_the_end_of_a_line_in_a_path_does_not_make_a_change_a_look(client: TestClient, path: str, token: str) -> None:
    answer = client.get(path, headers=bearer(token))
    assert answer.status_code == 400 and "control characters" in answer.text


@pytest.mark.parametrize(
    "host", ["localhost:x@evil.example", "evil.example@localhost", "localhost:80@evil:80", "localhost:", "localhost/x"]
)
def test_a_host_with_more_than_a_name_and_a_port_is_refused(client: TestClient, host: str) -> None:
    assert client.get("/config", headers={**bearer(READ), "host": host}).status_code == 421


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8081", "127.0.0.1:1", "[::1]:8081", "[::1]"])
def test_hosts_that_are_fine(client: TestClient, host: str) -> None:
    assert client.get("/config", headers={**bearer(READ), "host": host}).status_code == 200


def test_who_logs_out_is_out_and_so_is_whoever_has_a_copy_of_the_cookie(client: TestClient, registry: Registry) -> None:
    code = two_tokens().new_link_code(Role.OPERATE)
    assert client.get("/login", params={"code": code}).status_code == 303
    cookie = client.cookies[COOKIE]
    assert client.get("/config").status_code == 200
    assert client.post("/logout", headers={"sec-fetch-site": "same-origin"}).status_code == 303
    client.cookies.clear()
    assert client.get("/config", headers={"cookie": f"{COOKIE}={cookie}"}).status_code == 401
    another = replace(two_tokens(), used_up=Registry(open_database(str(registry._database._path))))  # type: ignore[attr-defined]
    assert another.role_of_session(cookie) is None, "another server of the same registry knows"
    another.used_up.close()  # type: ignore[attr-defined]


def test_a_link_lets_one_in_and_once(client: TestClient) -> None:
    code = two_tokens().new_link_code(Role.OPERATE)
    assert client.get("/login", params={"code": code}).status_code == 303
    client.cookies.clear()
    again = client.get("/login", params={"code": code})
    assert again.status_code == 401 and "was followed before" in again.text


def test_what_is_used_up_is_so_without_a_registry_too() -> None:
    access = Access({OPERATE: Role.OPERATE})
    code, cookie = access.new_link_code(Role.READ), access.new_session(Role.OPERATE)
    assert (access.take_link_code(code), access.take_link_code(code)) == (Role.READ, None)
    assert access.role_of_session(cookie) == Role.OPERATE
    access.end_session(cookie)
    access.end_session("nonsense")
    assert access.role_of_session(cookie) is None


def test_what_is_used_up_is_forgotten_when_it_would_be_over(registry: Registry) -> None:
    assert registry.use("a", int(time.time()) - 5) and registry.use("b", int(time.time()) + 60)
    assert not registry.is_used("a") and registry.is_used("b") and not registry.use("b", int(time.time()) + 60)


@pytest.mark.parametrize("text", ["-r other.txt", "numpy>=2 --pre", "numpy; python_version > '3' --pre"])
def test_a_requirement_with_an_option_is_refused(text: str) -> None:
    with pytest.raises(Refusal, match="only names and versions of packages"):
        checked_requirements(text)


def test_the_log_of_the_server_is_its_users_alone(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.touch(0o644)
    import logging

    root = logging.getLogger()
    before = root.handlers[:]
    root.handlers.clear()
    try:
        _log_to(path)
    finally:
        for handler in root.handlers:
            handler.close()
        root.handlers[:] = before
    assert path.stat().st_mode & 0o777 == 0o600


def test_nothing_of_settings_and_arguments_is_on_the_command_line_of_a_driver(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Program("a.py", TELLS_COMMAND.encode())
    registry.add_program(program.id, program.name, program.content, "", 1)
    made = registry.add_submission(
        program.id, "a.py", Launch([str(tmp_path / "told"), SECRET], {"my.password": SECRET})
    )
    commands: list[Any] = []
    start = supervisor_module.start_driver

    def noted(command: list[str], *others: Any) -> DriverProcess:
        commands.append(command)
        return start(command, *others)

    monkeypatch.setattr(supervisor_module, "start_driver", noted)
    supervisor = Supervisor(registry, tmp_path / "data", 10)
    lead = registry.take_lead("one", "", None, 60_000)

    def has_ended() -> bool:
        supervisor.look(lead)
        found = registry.submission(made.id)
        return found is not None and found.state == ENDED

    wait_until(has_ended, "the program has run")
    assert SECRET not in str(commands) and SECRET.encode() not in (tmp_path / "told").read_bytes()


def test_nothing_of_settings_and_arguments_is_on_the_command_line_of_a_detached_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from penstock.cli.detached import DetachedProgram
    from penstock.cli.program import Program as CliProgram

    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "h"))
    (tmp_path / "a.py").write_text(TELLS_COMMAND)
    configuration = Configuration().set_string("my.password", SECRET)
    program = CliProgram(str(tmp_path / "a.py"), False, (str(tmp_path / "told"), SECRET))
    detached = DetachedProgram(program, configuration, tmp_path / "log")
    assert detached.await_job() == 0, detached.tail()
    assert sys.executable.encode() in (tmp_path / "told").read_bytes()
    assert SECRET.encode() not in (tmp_path / "told").read_bytes()
