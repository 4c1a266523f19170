"""A small client of the SQL gateway, for tests; and what a gateway has running."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.server.servers import Server


@dataclass
class SqlSession:
    """An open session."""

    server: Server
    handle: str
    version: str = "v4"

    @staticmethod
    def open(server: Server, **properties: str) -> SqlSession:
        given = {"table.local-time-zone": "UTC", **properties}
        handle = server.call("POST", "/v4/sessions", {"sessionName": "test", "properties": given})["sessionHandle"]
        return SqlSession(server, handle)

    @property
    def path(self) -> str:
        return f"/{self.version}/sessions/{self.handle}"

    def call(self, method: str, path: str, body: Any = None) -> Any:
        return self.server.call(method, f"{self.path}{path}", body)

    def begin(self, statement: str, **settings: str) -> str:
        body = {"statement": statement, "executionConfig": settings}
        return str(self.call("POST", "/statements", body)["operationHandle"])

    def page(self, operation: str, token: int = 0, row_format: str = "JSON") -> dict[str, Any]:
        """A page of a result, once it is there."""
        path = f"/operations/{operation}/result/{token}?rowFormat={row_format}"
        while (page := self.call("GET", path))["resultType"] == "NOT_READY":
            pass
        return dict(page)

    def pages(self, operation: str, row_format: str = "JSON") -> list[dict[str, Any]]:
        """All pages of a result, by the addresses that the answers give."""
        found = [self.page(operation, 0, row_format)]
        while found[-1]["resultType"] != "EOS":
            found.append(self.server.get(found[-1]["nextResultUri"]))
        return found

    def rows(self, statement: str, row_format: str = "JSON") -> list[tuple[Any, ...]]:
        """The rows of a statement, as (kind, *fields)."""
        pages = self.pages(self.begin(statement), row_format)
        return [(row["kind"], *row["fields"]) for page in pages for row in page["results"]["data"]]

    def close(self) -> None:
        assert self.call("DELETE", "") == {"status": "CLOSED"}


def session_processes(folder: Path) -> list[int]:
    """The processes of sessions of servers whose data is below a folder."""
    found = []
    for place in Path("/proc").iterdir():
        with suppress(OSError):
            line = (place / "cmdline").read_bytes() if place.name.isdigit() else b""
            words = line.decode(errors="replace").split("\0")
            if "penstock.cli.sql_gateway" in words and any(word.startswith(f"{folder}/") for word in words):
                found.append(int(place.name))
    return found


def group_of(leader: int) -> set[int]:
    """All processes of the group of a session: its own, and those that Spark started."""
    found = set()
    for place in Path("/proc").iterdir():
        with suppress(OSError):
            if place.name.isdigit():
                fields = (place / "stat").read_text().rpartition(")")[2].split()
                if int(fields[2]) == leader and fields[0] != "Z":
                    found.add(int(place.name))
    return found
