"""The jobs of a server, asked over HTTP."""

from __future__ import annotations

import json
import os
import ssl
import threading
import urllib.error
import urllib.parse
import urllib.request
import uuid
from pathlib import Path
from typing import Any

from penstock.cli.targets import Status, status_of, the_one_meant
from penstock.errors import ConfigurationError, JobNotFoundError, PenstockError
from penstock.job.cards import user_folder
from penstock.tokens import TOKEN, Role, tokens_in

_SECONDS = 120.0
_POLL_SECONDS = 0.3


class ServerTarget:
    """A client of a server; errors are told in the words of the server."""

    def __init__(self, url: str, token: str | None = None) -> None:
        parts = urllib.parse.urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ConfigurationError(f"{url!r} is not the URL of a server, such as http://127.0.0.1:8081")
        self.url = f"{parts.scheme}://{parts.netloc}"
        self._token = token or os.environ.get(TOKEN) or _own_token(parts.hostname or "")
        if self._token and parts.scheme == "http" and not _is_loopback(parts.hostname or ""):
            raise ConfigurationError(f"a token is not sent to {self.url} without TLS: use https://")
        self._context = ssl.create_default_context() if parts.scheme == "https" else None

    # ---- what commands ask ----

    def statuses(self, *, also_ended: bool) -> list[Status]:
        """All jobs of the server."""
        found = [status_of(each) for each in self.get("/v1/penstock/jobs")["jobs"]]
        return [each for each in found if also_ended or each["ended_ms"] is None]

    def find(self, text: str, *, also_ended: bool = False) -> Status:
        """The job that is meant; one that runs is preferred."""
        everything = self.statuses(also_ended=True)
        running = [each for each in everything if each["ended_ms"] is None]
        try:
            return the_one_meant(running, text)
        except JobNotFoundError:
            if not also_ended:
                raise
            return the_one_meant(everything, text)

    def document(self, job_id: str) -> dict[str, Any]:
        """Everything that is known of a job."""
        return dict(self.get(f"/v1/penstock/jobs/{job_id}"))

    def savepoint(self, job_id: str, directory: str | None) -> str:
        """Write a savepoint and wait for it."""
        return self._awaited(job_id, "savepoints", {"target-directory": directory})

    def stop(self, job_id: str, directory: str | None, *, drain: bool) -> str:
        """Stop a job and wait for its savepoint."""
        return self._awaited(job_id, "stop", {"targetDirectory": directory, "drain": drain})

    def cancel(self, job_id: str) -> None:
        """Cancel a job and wait for its end."""
        self.call("PATCH", f"/v1/jobs/{job_id}?mode=cancel")
        while self.get(f"/v1/jobs/{job_id}/status")["status"] not in ("CANCELED", "FINISHED", "FAILED"):
            _pause()

    def log(self, job_id: str, offset: int | None, limit: int) -> dict[str, Any]:
        """A part of the log of a driver."""
        where = f"offset={offset}&" if offset is not None else ""
        return dict(self.get(f"/v1/penstock/jobs/{job_id}/log?{where}limit={limit}"))

    def absolute(self, directory: str) -> str:
        """As it is: the server may be on another machine."""
        if not os.path.isabs(directory) and "://" not in directory:
            raise ConfigurationError(
                f"{directory!r} must be an absolute path or a URI: the server has folders of its own"
            )
        return directory

    def _awaited(self, job_id: str, what: str, body: dict[str, Any]) -> str:
        trigger = self.call("POST", f"/v1/jobs/{job_id}/{what}", body)["request-id"]
        while True:
            told = self.get(f"/v1/jobs/{job_id}/savepoints/{trigger}")
            if told["status"]["id"] == "COMPLETED":
                break
            _pause()
        operation = told["operation"]
        if "failure-cause" in operation:
            raise PenstockError(operation["failure-cause"]["stack-trace"])
        return str(operation["location"])

    # ---- programs ----

    def upload(self, name: str, content: bytes, requirements: str) -> str:
        """Give a program to the server; returns its id."""
        mark = uuid.uuid4().hex
        head = f"--{mark}\r\ncontent-disposition: form-data; name="
        body = b"".join(
            [
                f'{head}"requirements"\r\n\r\n{requirements}\r\n'.encode(),
                f'{head}"program"; filename="{name}"\r\ncontent-type: application/octet-stream\r\n\r\n'.encode(),
                content,
                f"\r\n--{mark}--\r\n".encode(),
            ]
        )
        told = self._answer("POST", "/v1/jars/upload", body, f"multipart/form-data; boundary={mark}")
        return str(told["filename"]).rpartition("/")[2]

    def run(self, program: str, launch: dict[str, Any]) -> dict[str, Any]:
        """Start a program; returns the ids of the job and of the submission."""
        return dict(self.call("POST", f"/v1/jars/{urllib.parse.quote(program)}/run", launch))

    # ---- HTTP ----

    def get(self, path: str) -> Any:
        """What the server answers."""
        return self.call("GET", path)

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Ask the server; raises PenstockError with what it says."""
        data = None if body is None else json.dumps(body).encode()
        return self._answer(method, path, data, "application/json")

    def _answer(self, method: str, path: str, data: bytes | None, kind: str) -> Any:
        request = urllib.request.Request(self.url + path, data, {"content-type": kind}, method=method)
        if self._token:
            request.add_unredirected_header("authorization", f"Bearer {self._token}")
        try:
            with urllib.request.urlopen(request, timeout=_SECONDS, context=self._context) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise _told(error) from None
        except (urllib.error.URLError, OSError) as error:
            why = getattr(error, "reason", error)
            raise ConfigurationError(f"the server at {self.url} cannot be reached: {why}") from None


def _told(error: urllib.error.HTTPError) -> PenstockError:
    try:
        text = "; ".join(json.load(error)["errors"])
    except (ValueError, KeyError, TypeError):
        text = f"the server answers {error.code}"
    if error.code == 401:
        return ConfigurationError(f"the server wants a token: set {TOKEN}")
    return JobNotFoundError(text) if error.code == 404 else PenstockError(text)


def _own_token(host: str) -> str | None:
    """The token of this user's own server; sent to no other machine."""
    if not _is_loopback(host):
        return None
    path = user_folder() / "server" / "tokens"
    if not path.exists():
        return None
    return next((token for token, role in tokens_in(path).items() if role == Role.OPERATE), None)


def _is_loopback(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")


def _pause() -> None:
    threading.Event().wait(_POLL_SECONDS)


def packed(path: Path) -> tuple[str, bytes]:
    """A program as it is uploaded: its name, and its bytes; a folder is zipped."""
    import io
    import zipfile

    if path.is_file():
        return path.name, path.read_bytes()
    if not path.is_dir():
        raise ConfigurationError(f"there is no program {path}")
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for each in sorted(path.rglob("*")):
            inside = each.relative_to(path)
            is_wanted = each.is_file() and not each.is_symlink() and "__pycache__" not in inside.parts
            if is_wanted and not any(part.startswith(".") for part in inside.parts):
                # Without times, so that the same folder is the same program.
                archive.writestr(zipfile.ZipInfo(inside.as_posix()), each.read_bytes(), zipfile.ZIP_DEFLATED)
    return f"{path.resolve().name}.zip", stream.getvalue()
