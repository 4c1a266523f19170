"""`QueryableStateClient`: state of jobs by key, from a query server, a dispatcher, or a checkpoint directory itself."""

from __future__ import annotations

import base64
import dataclasses
import enum
import http.client
import json
import ssl
import threading
import urllib.parse
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from types import TracebackType
from typing import Any, Protocol, Self
from uuid import UUID

from penstock.common.completable_future import CompletableFuture
from penstock.common.types import Row
from penstock.errors import QueryError
from penstock.queryable.tokens import own_token

# A datetime is a date too, so it comes first.
_TAGS: list[tuple[type, str, Callable[[Any], Any]]] = [
    (datetime, "$timestamp", datetime.isoformat),
    (date, "$date", date.isoformat),
    (time, "$time", time.isoformat),
    (timedelta, "$seconds", timedelta.total_seconds),
    (Decimal, "$decimal", str),
    (UUID, "$uuid", str),
    (bytes, "$bytes", lambda key: base64.b64encode(key).decode()),
    (frozenset, "$set", lambda key: [sent_key(each) for each in key]),
]


@dataclass(frozen=True)
class KeyedAnswer:
    """What one key has. `version` is the sealed version that it is of, `age_ms` how long ago that was sealed.

    `value` is the value, list, or dict of a map; for state of windows, `windows` has pairs of window and value.
    `problem` says why there is no newer version, if something is wrong. `truncated` tells that a map has more entries.
    """

    key: Any
    found: bool
    value: Any
    windows: list[tuple[Any, Any]]
    version: int
    sealed_ms: int
    age_ms: int
    problem: str | None
    truncated: bool = False


class _Asked(Protocol):
    """Something that answers queries as the HTTP API does."""

    def ask(self, path: str, body: dict[str, Any] | None = None, **parameters: Any) -> Any:
        """Return the JSON of an answer; raises `QueryError`."""

    def close(self) -> None:
        """Let go of what it holds."""


class QueryableStateClient:
    """Asks for the state of jobs.

    `address` is the URL of a query server or dispatcher, or a checkpoint directory (or a folder of several), which is
    then read by this process itself. `token` is found where local servers keep it, if none is given.

    ```python
    client = QueryableStateClient("http://127.0.0.1:8087")
    answer = client.get("alice", name="totals", job="orders")
    print(answer.value, answer.version, answer.age_ms)
    ```
    """

    def __init__(self, address: str, token: str | None = None, *, timeout: float = 30.0) -> None:
        """Connect when the first query is asked."""
        is_url = address.startswith(("http://", "https://"))
        self._asked: _Asked = ServedQueries(address, token, timeout) if is_url else _directory(address)
        self._pool: ThreadPoolExecutor | None = None

    def jobs(self) -> list[dict[str, Any]]:
        """Return the jobs whose state can be asked for."""
        return list(self._asked.ask("jobs"))

    def describe(self, job: str | None = None) -> dict[str, Any]:
        """Return operators, states and queryable names of a job; of the only one if none is named."""
        return dict(self._asked.ask("job", job=job))

    def get(self, key: Any, **query: Any) -> KeyedAnswer:
        """Return what one key has; the same arguments as `get_many`."""
        return self.get_many([key], **query)[0]

    def get_many(
        self,
        keys: Iterable[Any],
        *,
        name: str | None = None,
        operator: str | None = None,
        state: str | None = None,
        job: str | None = None,
        map_keys: Iterable[Any] | None = None,
        prefix: str | None = None,
        first: Any = None,
        last: Any = None,
        window: int | Sequence[int] | None = None,
        limit: int | None = None,
    ) -> list[KeyedAnswer]:
        """Return what some keys have, all of one version.

        Name the state by its queryable name, or by operator and state. Of a map, `map_keys`, `prefix` (of texts) or
        `first` and `last` choose entries; `window` is the start of a window, or its start and end.
        """
        wanted = {
            "keys": [sent_key(key) for key in keys],
            "name": name,
            "operator": operator,
            "state": state,
            "job": job,
            "map_keys": None if map_keys is None else [sent_key(key) for key in map_keys],
            "prefix": prefix,
            "from": None if first is None else sent_key(first),
            "to": None if last is None else sent_key(last),
            "window": list(window) if isinstance(window, Sequence) else window,
            "limit": limit,
        }
        found = self._asked.ask("state", {field: value for field, value in wanted.items() if value is not None})
        return [_keyed_answer(found, result) for result in found["results"]]

    def keys(
        self, operator: str, state: str, *, job: str | None = None, limit: int = 100, after: str | None = None
    ) -> dict[str, Any]:
        """Return keys of a state, at most `limit`; `next` of an answer is `after` of the next call."""
        return dict(self._asked.ask("keys", job=job, operator=operator, state=state, limit=limit, after=after))

    def get_kv_state(
        self,
        job_id: Any,
        queryable_state_name: str,
        key: Any,
        key_type_info: Any = None,
        state_descriptor: Any = None,
    ) -> CompletableFuture[KeyedAnswer]:
        """Ask as in Java, without waiting. Types need not be given: the job has described them."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(max_workers=4, thread_name_prefix="penstock-query")
        return CompletableFuture(self._pool.submit(self.get, key, name=queryable_state_name, job=str(job_id)))

    def shutdown_and_wait(self) -> None:
        """Close the client, as in Java."""
        self.close()

    def close(self) -> None:
        """Let go of connections and copies."""
        if self._pool is not None:
            self._pool.shutdown()
        self._asked.close()

    def __enter__(self) -> Self:
        """Return the client itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the client."""
        self.close()


def _keyed_answer(head: dict[str, Any], result: dict[str, Any]) -> KeyedAnswer:
    return KeyedAnswer(
        key=result["key"],
        found=result["found"],
        value=_value_of(result),
        windows=[(_window(each["window"]), _value_of(each)) for each in result.get("windows", [])],
        version=head["version"],
        sealed_ms=head["sealed_ms"],
        age_ms=head["age_ms"],
        problem=head["problem"],
        truncated=bool(result.get("truncated")),
    )


def _value_of(result: dict[str, Any]) -> Any:
    if "entries" not in result:
        return result.get("value")
    return {_hashable(key): value for key, value in result["entries"]}


def _hashable(key: Any) -> Any:
    return tuple(map(_hashable, key)) if isinstance(key, list) else (str(key) if isinstance(key, dict) else key)


def _window(shown: Any) -> Any:
    if isinstance(shown, dict) and "start" in shown:
        return shown["start"], shown["end"]
    return shown["number"] if isinstance(shown, dict) and "number" in shown else shown


class ServedQueries:
    """A query server, by one connection for each thread that asks."""

    def __init__(self, address: str, token: str | None, timeout: float = 30.0) -> None:
        """Connect when something is asked."""
        parts = urllib.parse.urlsplit(address)
        self._secure = parts.scheme == "https"
        self._place = parts.hostname or "", parts.port
        self._path = parts.path.rstrip("/") + "/queryable/"
        self._address = address
        self._timeout = timeout
        self._headers = {"Authorization": f"Bearer {token or own_token()}", "Content-Type": "application/json"}
        self._local = threading.local()
        self._connections: list[http.client.HTTPConnection] = []

    def ask(self, path: str, body: dict[str, Any] | None = None, **parameters: Any) -> Any:
        """Return the JSON of an answer."""
        given = {name: value for name, value in parameters.items() if value is not None}
        target = self._path + path + ("?" + urllib.parse.urlencode(given) if given else "")
        return self._content(target, None if body is None else json.dumps(body).encode())

    def ask_texts(self, pairs: list[tuple[str, str]]) -> Any:
        """Answer a query that a person has typed."""
        return self._content(f"{self._path}state?{urllib.parse.urlencode(pairs)}", None)

    def _content(self, target: str, data: bytes | None) -> Any:
        status, answer = self._exchanged(target, data)
        try:
            content = json.loads(answer)
        except ValueError:
            raise QueryError(f"{self._address} does not answer as a query server does (status {status})") from None
        if status != 200:
            errors = content.get("errors") if isinstance(content, dict) else None
            raise QueryError("; ".join(map(str, errors or [content])), status)
        return content

    def _exchanged(self, target: str, data: bytes | None) -> tuple[int, bytes]:
        for is_last in (False, True):
            connection = self._connection()
            try:
                connection.request("POST" if data is not None else "GET", target, data, self._headers)
                response = connection.getresponse()
                return response.status, response.read()
            except (http.client.HTTPException, OSError) as error:
                self._local.connection = None
                connection.close()
                # A connection that was kept may have been closed by the server meanwhile.
                if is_last:
                    raise QueryError(f"{self._address} cannot be asked: {error}", 503) from None
        raise AssertionError("the last attempt returns or raises")

    def _connection(self) -> http.client.HTTPConnection:
        found: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if found is None:
            host, port = self._place
            if self._secure:
                context = ssl.create_default_context()
                found = http.client.HTTPSConnection(host, port, timeout=self._timeout, context=context)
            else:
                found = http.client.HTTPConnection(host, port, timeout=self._timeout)
            self._local.connection = found
            self._connections.append(found)
        return found

    def close(self) -> None:
        """Let go of the connections."""
        while self._connections:
            self._connections.pop().close()


def _directory(place: str) -> _Asked:
    from penstock.queryable.own_replicas import OwnReplicas

    return OwnReplicas(place)


def sent_key(key: Any) -> Any:
    """Return a Python key as the JSON of a request."""
    if key is None or isinstance(key, (bool, int, float, str, dict)):
        return key
    if isinstance(key, enum.Enum):
        return {"$enum": [type(key).__module__, type(key).__qualname__, key.name]}
    if dataclasses.is_dataclass(key) and not isinstance(key, type):
        return {field.name: sent_key(getattr(key, field.name)) for field in dataclasses.fields(key)}
    if isinstance(key, (tuple, list)):
        return [sent_key(each) for each in key]
    if isinstance(key, Row):
        return [sent_key(each) for each in key]
    for kind, tag, text_of in _TAGS:
        if isinstance(key, kind):
            return {tag: text_of(key)}
    raise QueryError(f"a key of type {type(key).__name__} cannot be asked for")
