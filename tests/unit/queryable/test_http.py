"""Queries over HTTP: the API, its client, the token, and requests of strangers."""

from __future__ import annotations

import http.client
import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI

from penstock.errors import ConfigurationError, QueryError
from penstock.queryable import QueryableStateClient, Replica, serving
from penstock.queryable.replicas import Replicas
from penstock.queryable.router import MOST_BODY_BYTES, queryable_router
from penstock.queryable.serving import Listening, query_server
from penstock.queryable.tokens import own_token, own_tokens
from penstock.tokens import Role
from tests.unit.queryable.jobs import counting_job, expected_state, records_of, run_all

TOKEN, OTHER_TOKEN = "a-token-that-is-long-enough", "another-that-is-long-enough"


@contextmanager
def running(server: uvicorn.Server) -> Iterator[int]:
    """Run a server in a thread; gives its port."""
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until = time.monotonic() + 60
    while not server.started:
        assert thread.is_alive() and time.monotonic() < until, "the server does not start"
        thread.join(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the checkpoint directories of two jobs."""
    made = tmp_path_factory.mktemp("jobs")
    run_all(counting_job(made / "one", records_of(50)))
    other = counting_job(made / "other", records_of(20))
    run_all(other)
    job = json.loads((made / "other" / "penstock" / "job.json").read_text())
    del job["checksum"]
    (made / "other" / "penstock" / "job.json").write_text(json.dumps({**job, "job_name": "other"}))
    (made / "no job").mkdir()
    return made


@pytest.fixture(scope="module")
def port(folder: Path) -> Iterator[int]:
    replicas = Replicas([str(folder)])
    with running(query_server(replicas, Listening(port=0, tokens=(TOKEN, OTHER_TOKEN)))) as found:
        yield found
    replicas.close()


@pytest.fixture
def client(port: int) -> Iterator[QueryableStateClient]:
    with QueryableStateClient(f"http://127.0.0.1:{port}", TOKEN) as made:
        yield made


def asked(port: int, method: str, path: str, body: Any = None, token: str | None = TOKEN) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    connection.request(method, path, data, headers)
    response = connection.getresponse()
    found = response.status, response.read()
    connection.close()
    return found[0], json.loads(found[1] or b"null")


def test_the_client_asks_by_job_operator_state_and_key(client: QueryableStateClient) -> None:
    expected = expected_state(records_of(50))
    keys = sorted(expected)
    found = client.get_many([*keys, "nobody"], operator="keeps", state="total", job="keeping")
    assert [each.value for each in found] == [*(expected[key]["total"] for key in keys), None]
    assert [each.found for each in found] == [True] * len(keys) + [False]
    assert len({each.version for each in found}) == 1
    assert found[0].age_ms >= 0 and found[0].problem is None
    assert time.time() * 1000 - found[0].sealed_ms < 3_600_000
    assert client.get("k1", name="counts", job="keeping").value == expected["k1"]["count"]
    assert client.get("k2", operator="Keep", state="seen", job="keeping").value == expected["k2"]["seen"]
    assert client.get("k1", operator="keeps", state="last", job="keeping").value == expected["k1"]["last"]
    chosen = client.get("k2", operator="keeps", state="seen", job="keeping", map_keys=["n4"]).value
    assert chosen == {"n4": expected["k2"]["seen"]["n4"]}


def test_jobs_descriptions_and_keys(client: QueryableStateClient, folder: Path) -> None:
    jobs = {job["job_name"]: job for job in client.jobs()}
    assert set(jobs) == {"keeping", "other"}
    described = client.describe("other")
    assert described["queryable"] == {"counts": {"operator": "keeps", "state": "count"}}
    by_id = client.describe(jobs["other"]["job_id"][:8])
    assert by_id["job_id"] == jobs["other"]["job_id"]
    found = client.keys("keeps", "total", job="other", limit=4)
    rest = client.keys("keeps", "total", job="other", after=found["next"])
    assert sorted(found["keys"] + rest["keys"]) == [f"k{number}" for number in range(6)]
    with pytest.raises(QueryError, match="say which job is meant"):
        client.describe()
    with pytest.raises(QueryError, match="there is no job 'nobody' here"):
        client.get("k1", name="counts", job="nobody")


def test_as_in_java(client: QueryableStateClient) -> None:
    job_id = client.describe("keeping")["job_id"]
    future = client.get_kv_state(job_id, "counts", "k1")
    assert future.result().value == expected_state(records_of(50))["k1"]["count"]
    client.shutdown_and_wait()


def test_a_url_is_enough(port: int) -> None:
    path = "/queryable/state?job=keeping&name=counts&key=k1&key=k2"
    status, found = asked(port, "GET", path)
    assert status == 200 and [each["key"] for each in found["results"]] == ["k1", "k2"]
    assert asked(port, "GET", path, token=OTHER_TOKEN)[0] == 200
    status, found = asked(port, "GET", "/openapi.json")
    assert status == 200 and "/queryable/state" in found["paths"]


@pytest.mark.parametrize("token", [None, "", "wrong", TOKEN + "x", TOKEN[:-1]])
@pytest.mark.parametrize("path", ["/queryable/jobs", "/queryable/state?key=k1", "/docs", "/nothing"])
def test_without_the_token_there_is_nothing_to_see(port: int, token: str | None, path: str) -> None:
    status, found = asked(port, "GET", path, token=token)
    assert (status, found) == (401, {"errors": ["no valid token: send `Authorization: Bearer TOKEN`"]})


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"not json", 400, "not JSON"),
        (b"[" * 100_000, 400, "not JSON"),
        (b"[1]", 400, "not a JSON object"),
        ({"keys": "k1", "name": "counts"}, 400, "must be an array"),
        ({"keys": ["k1"], "name": 5}, 400, "must be a text"),
        ({"keys": ["k1"], "pickle": "x"}, 400, "nothing else"),
        ({"keys": [], "name": "counts", "job": "keeping"}, 400, "at least one key"),
        ({"keys": [5], "name": "counts", "job": "keeping"}, 400, "expected a text"),
        ({"keys": ["k1"], "name": "counts", "job": "keeping", "limit": "many"}, 400, "limit must be"),
        ({"keys": ["k1"], "name": "counts", "job": "keeping", "window": [1, 2, 3]}, 400, "a window"),
        ({"keys": ["k1"], "name": "nothing", "job": "keeping"}, 404, "no queryable state"),
        ({"keys": [{"$encoded": "zz"}], "name": "counts", "job": "keeping"}, 400, "hexadecimal"),
        (b" " * (MOST_BODY_BYTES + 1), 413, "more than"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_requests_that_make_no_sense(port: int, body: Any, status: int, words: str) -> None:
    found_status, found = asked(port, "POST", "/queryable/state", body)
    assert found_status == status, found
    assert words in found["errors"][0]


def test_parameters_that_make_no_sense(port: int) -> None:
    for path in ("state?limit=x&key=1", "state?window=a&key=1", "state?unknown=1", "keys?limit=0&job=keeping"):
        status, found = asked(port, "GET", f"/queryable/{path}")
        assert status in (400, 404) and found["errors"]


def test_a_key_that_is_no_text_is_echoed_and_not_found(port: int) -> None:
    """Bytes that no key has are looked for and nothing else: they are not decoded."""
    body = {"keys": [{"$encoded": "16070168"}], "name": "counts", "job": "keeping"}
    status, found = asked(port, "POST", "/queryable/state", body)
    assert status == 200 and found["results"][0]["found"] is False


def test_the_router_runs_inside_of_another_application(folder: Path) -> None:
    replicas = Replicas(lambda: [str(folder / "one")])
    app = FastAPI()
    app.include_router(queryable_router(replicas, "/api/queryable"))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", lifespan="off"))
    with running(server) as port:
        status, found = asked(port, "GET", "/api/queryable/state?name=counts&key=k1", token=None)
        assert status == 200 and found["job_name"] == "keeping"
        with QueryableStateClient(f"http://127.0.0.1:{port}/api", TOKEN) as client:
            assert client.get("k1", name="counts").version == found["version"]
    replicas.close()


def test_a_server_that_is_gone(port: int) -> None:
    client = QueryableStateClient("http://127.0.0.1:9", TOKEN)
    with pytest.raises(QueryError, match="cannot be asked"):
        client.jobs()


def test_replicas_that_nobody_asks_are_closed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from penstock.queryable import replicas as module

    monkeypatch.setattr(module, "_LOOK_SECONDS", -1.0)
    with_idle = Replicas([str(folder)], idle_seconds=0.0)
    first = with_idle.find("keeping")
    assert isinstance(first, Replica)
    with_idle.find("other")
    assert [each["job_name"] for each in with_idle.statuses() if each["replica"] is not None] == ["other"]
    with_idle.close()


@pytest.mark.parametrize(
    ("listening", "words"),
    [
        (Listening("0.0.0.0", 0, (TOKEN,)), "--tls-certificate"),
        (Listening("192.0.2.1", 0, (), "cert", "key"), "needs a token"),
        (Listening("example.org", 0, (TOKEN,)), "--tls-certificate"),
    ],
)
def test_nothing_listens_elsewhere_without_token_and_tls(listening: Listening, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        query_server(Replicas([]), listening)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.5.5.5"])
def test_loopback_is_known(host: str) -> None:
    assert serving.is_loopback(host)


def test_the_token_of_a_user_is_made_once_and_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("PENSTOCK_TOKEN", raising=False)
    made = own_token()
    assert own_token() == made and own_tokens()[made] == Role.READ and len(made) >= 32
    file = tmp_path / "home" / "server" / "tokens"
    assert file.stat().st_mode & 0o777 == 0o600
    os.chmod(file, 0o644)
    with pytest.raises(ConfigurationError, match="others can read"):
        own_token()
    monkeypatch.setenv("PENSTOCK_TOKEN", "given by somebody")
    with pytest.raises(ConfigurationError, match="no spaces"):
        own_token()
    monkeypatch.setenv("PENSTOCK_TOKEN", TOKEN)
    assert own_token() == TOKEN
