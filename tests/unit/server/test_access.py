"""Who is let in, who may change something, and what a browser of somebody who is logged in cannot be made to do."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from penstock.errors import ConfigurationError
from penstock.server.access import COOKIE, Access, own_access, token_file_access
from penstock.server.dispatcher.registry import Launch, Submission
from penstock.server.dispatcher.submitted_views import waiting_document
from penstock.server.job_views import ClientView
from penstock.server.serving import Place, login_link
from penstock.tokens import Role
from tests.unit.engine.announced import QuietJob
from tests.unit.server.serving_jobs import OPERATE, READ, client_of, two_tokens

ACCESS = two_tokens()
CANCEL = "/jobs/{job}"


class Job(QuietJob):
    def document(self) -> dict[str, object]:
        whole = waiting_document(Submission(self.job_id, "p", "quiet", Launch(), created_ms=1000))
        return {**whole, **super().document(), "name": "quiet"}


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[TestClient, Job]]:
    job = Job()
    with client_of(ClientView(job), ACCESS) as client:
        yield client, job


@pytest.fixture
def job(served: tuple[TestClient, Job]) -> Job:
    served[1].asked.clear()
    return served[1]


@pytest.fixture
def client(served: tuple[TestClient, Job]) -> TestClient:
    served[0].cookies.clear()
    return served[0]


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def basic(password: str) -> dict[str, str]:
    return {"authorization": "Basic " + base64.b64encode(f"anybody:{password}".encode()).decode()}


def session(role: Role) -> dict[str, str]:
    return {"cookie": f"{COOKIE}={ACCESS.new_session(role)}"}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        (bearer("wrong" * 5), 401),
        (bearer(""), 401),
        ({"authorization": "Basic not-base-64"}, 401),
        ({"authorization": "Basic " + base64.b64encode(b"\xff\xfe").decode()}, 401),
        ({"cookie": f"{COOKIE}=operate.99999999999.{'0' * 64}"}, 401),
        ({"cookie": f"{COOKIE}=\x01;;=,"}, 401),
        ({"cookie": f"{COOKIE}={ACCESS.new_session(Role.OPERATE, seconds=-1)}"}, 401),
        ({"cookie": f"{COOKIE}={ACCESS.new_link_code(Role.OPERATE)}"}, 401),
        (bearer(READ), 200),
        (bearer(OPERATE), 200),
        (basic(READ), 200),
        (session(Role.READ), 200),
    ],
)
@pytest.mark.parametrize("path", ["/config", "/v1/jobs", "/openapi.json", "/docs"])
def test_nothing_is_told_without_a_token(client: TestClient, headers: dict[str, str], status: int, path: str) -> None:
    answer = client.get(path, headers=headers)
    assert answer.status_code == status
    if status == 401:
        assert answer.json() == {"errors": ["no valid token: send `Authorization: Bearer TOKEN`"]}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (bearer(READ), 403),
        (session(Role.READ) | {"sec-fetch-site": "same-origin"}, 403),
        (bearer(OPERATE), 202),
        (basic(OPERATE), 202),
        (session(Role.OPERATE) | {"sec-fetch-site": "same-origin"}, 202),
        (session(Role.OPERATE) | {"origin": "http://127.0.0.1"}, 202),
        # A page of another site can have a browser send the cookie, but cannot hide where it comes from.
        (session(Role.OPERATE) | {"sec-fetch-site": "cross-site"}, 403),
        (session(Role.OPERATE) | {"sec-fetch-site": "same-site", "origin": "http://127.0.0.1"}, 403),
        (session(Role.OPERATE) | {"origin": "http://evil.example"}, 403),
        (session(Role.OPERATE) | {"origin": "null"}, 403),
        (session(Role.OPERATE), 403),
    ],
)
@pytest.mark.parametrize(("method", "end"), [("PATCH", ""), ("GET", "/yarn-cancel")])
def test_changing_something_needs_the_role_and_a_page_of_our_own(
    client: TestClient, job: Job, headers: dict[str, str], status: int, method: str, end: str
) -> None:
    path = CANCEL.format(job=job.job_id) + end
    assert client.request(method, path, headers=headers).status_code == status
    if status == 403:
        assert job.asked == []


def test_an_open_server_is_still_closed_to_pages_of_other_sites(job: Job) -> None:
    path = CANCEL.format(job=job.job_id)
    with client_of(ClientView(job), Access()) as client:
        assert client.patch(path, headers={"origin": "http://evil.example"}).status_code == 403
        assert client.get(f"{path}/yarn-cancel", headers={"sec-fetch-site": "cross-site"}).status_code == 403
        # A name of theirs that leads to this machine: the browser takes it for their site.
        answer = client.get("/jobs", headers={"host": "evil.example:8081"})
        assert answer.status_code == 421 and job.asked == []
        assert client.get("/jobs", headers={"host": "localhost:8081"}).status_code == 200
        assert client.get("/jobs", headers={"host": "[::1]:8081"}).status_code == 200


def test_a_browser_logs_in_with_a_token_or_a_link_and_out_again(client: TestClient) -> None:
    page = client.get("/", headers={"accept": "text/html"})
    assert (page.status_code, page.headers["location"]) == (303, "/login")
    assert client.get("/login").status_code == 200
    assert client.post("/login", data={"token": "wrong"}).status_code == 401
    entered = client.post("/login", data={"token": READ})
    assert entered.status_code == 303
    cookie = entered.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=lax" in cookie and READ not in cookie
    assert client.get("/jobs").status_code == 200  # the client keeps cookies
    client.post("/logout", headers={"origin": "http://127.0.0.1"})
    assert client.get("/jobs").status_code in (401, 403)
    client.cookies.clear()
    link = login_link("http://127.0.0.1", ACCESS)
    assert client.get(link).status_code == 303 and client.get("/jobs").status_code == 200
    assert client.get("/login?code=operate.1.abc").status_code == 401
    old = ACCESS.new_link_code(Role.OPERATE, seconds=-1)
    assert client.get(f"/login?code={old}").status_code == 401


def test_login_takes_no_request_from_another_site_and_no_novel(client: TestClient) -> None:
    headers = {"origin": "http://evil.example"}
    assert client.post("/login", data={"token": OPERATE}, headers=headers).status_code == 403
    assert client.post("/login", content=b"token=" + b"x" * 10_000).status_code == 413


def test_answers_carry_what_keeps_browsers_from_harm(client: TestClient) -> None:
    for answer in (client.get("/login"), client.get("/jobs", headers=bearer(READ)), client.get("/jobs")):
        policy = answer.headers["content-security-policy"]
        assert "script-src 'self';" in policy and "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "server" not in answer.headers


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_a_server_that_others_can_reach_needs_a_token_and_tls(host: str) -> None:
    with pytest.raises(ConfigurationError, match=f"does not listen on {host} without a token and TLS"):
        Place(host).check(Access())
    with pytest.raises(ConfigurationError, match="without TLS: other machines"):
        Place(host).check(ACCESS)
    with pytest.raises(ConfigurationError, match="without a token: other machines"):
        Place(host, certificate="c", key="k").check(Access())
    Place(host, certificate="c", key="k").check(ACCESS)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.9.9.9"])
def test_loopback_may_do_without(host: str) -> None:
    Place(host).check(Access())


def test_the_token_file_is_made_once_and_only_for_its_user(tmp_path: Path) -> None:
    path = tmp_path / "server" / "tokens"
    made = own_access(path)
    assert sorted(made.tokens.values()) == [Role.READ, Role.OPERATE]
    assert path.stat().st_mode & 0o777 == 0o600 and path.parent.stat().st_mode & 0o777 == 0o700
    assert own_access(path) == made
    path.chmod(0o640)
    with pytest.raises(ConfigurationError, match="others can read the tokens"):
        own_access(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("operate short\n", "at least 16 printable"),
        ("admin " + "x" * 20, "line 1: must be `operate TOKEN` or `read TOKEN`"),
        ("# nothing\n", "has no tokens"),
        ("operate " + "ä" * 20, "printable ASCII"),
    ],
)
def test_bad_token_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "tokens"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(ConfigurationError, match=message):
        token_file_access(path)


def test_tokens_are_not_shown() -> None:
    assert OPERATE not in repr(ACCESS)
