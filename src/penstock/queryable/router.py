"""The HTTP API of replicas: jobs, what they have, their state by key. Runs alone, or inside of another application.

Mount it with `app.include_router(queryable_router(replicas))`. Who may ask is not decided here: put a guard before it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool

from penstock.errors import PenstockError, QueryError
from penstock.queryable.answering import answer, describe, list_keys
from penstock.queryable.replica import Replica
from penstock.queryable.replicas import Replicas
from penstock.queryable.requests import query_of_body, query_of_texts, whole_number

MOST_BODY_BYTES = 1 << 20

_PARAMETERS = {
    "job": "id or name of the job; may be left out if there is only one",
    "operator": "uid or name of the operator",
    "state": "name of the state",
    "name": "queryable name, instead of operator and state",
    "key": "a key as JSON, or a bare word for a text; may be given several times",
    "map_key": "only this entry of a map; may be given several times",
    "prefix": "only entries of a map whose key begins with this text",
    "from": "only entries of a map from this key on",
    "to": "only entries of a map before this key",
    "window": "only this window: its start in milliseconds, or start,end",
    "limit": "most entries of a map, or keys",
    "after": "`next` of the answer before",
}


def queryable_router(replicas: Replicas, prefix: str = "/queryable") -> APIRouter:
    """The routes below a prefix."""
    routes = _Routes(replicas)
    router = APIRouter(prefix=prefix, tags=["queryable state"])

    def add(path: str, endpoint: Callable[..., Any], method: str, *names: str) -> None:
        parameters = [
            {"name": name, "in": "query", "schema": {"type": "string"}, "description": _PARAMETERS[name]}
            for name in names
        ]
        # The first is the one that answers: FastAPI's own takes longer than the answer itself. It is for the reference.
        router.add_route(prefix + path, endpoint, methods=[method], include_in_schema=False)
        router.add_api_route(
            path, endpoint, methods=[method], response_model=None, openapi_extra={"parameters": parameters}
        )

    add("/jobs", routes.jobs, "GET")
    add("/job", routes.job, "GET", "job")
    entries = ("map_key", "prefix", "from", "to", "window", "limit")
    add("/state", routes.state, "GET", "job", "operator", "state", "name", "key", *entries)
    add("/state", routes.state_of_body, "POST")
    add("/keys", routes.keys, "GET", "job", "operator", "state", "limit", "after")
    return router


class _Routes:
    """One method for each route. Reads take microseconds, so they run in the event loop itself."""

    def __init__(self, replicas: Replicas) -> None:
        self._replicas = replicas

    async def jobs(self, request: Request) -> Response:
        """Jobs whose state can be queried here, the one that was sealed last first."""
        return await self._answered(lambda: run_in_threadpool(self._replicas.statuses))

    async def job(self, request: Request) -> Response:
        """A job: its newest version that is held here and its age, operators, states, queryable names."""
        return await self._of_replica(request.query_params.get("job"), describe)

    async def state(self, request: Request) -> Response:
        """State of some keys, all of one sealed version."""
        given = request.query_params
        try:
            query = query_of_texts(given.multi_items())
        except PenstockError as error:
            return failed(error)
        return await self._of_replica(given.get("job"), lambda replica: answer(replica, query))

    async def state_of_body(self, request: Request) -> Response:
        """The same with the query as JSON in the body: keys, and operator and state, or name."""
        try:
            body = await _json_body(request)
            query = query_of_body(body)
        except PenstockError as error:
            return failed(error)
        return await self._of_replica(body.get("job"), lambda replica: answer(replica, query))

    async def keys(self, request: Request) -> Response:
        """The keys of a state, some at a time."""
        given = request.query_params

        def read(replica: Replica) -> dict[str, Any]:
            limit, after = whole_number(given.get("limit", "100"), "limit"), given.get("after")
            operator, state = given.get("operator", ""), given.get("state", "")
            return list_keys(replica, operator, state, limit=limit, after=after)

        return await self._of_replica(given.get("job"), read)

    async def _of_replica(self, job: str | None, read: Callable[[Replica], dict[str, Any]]) -> Response:
        replica = self._replicas.quickly_found(job)
        try:
            if replica is None:
                replica = await run_in_threadpool(self._replicas.find, job)
            return succeeded(read(replica))
        except PenstockError as error:
            return failed(error)

    async def _answered(self, read: Callable[[], Any]) -> Response:
        try:
            return succeeded(await read())
        except PenstockError as error:
            return failed(error)


def succeeded(content: Any) -> Response:
    """An answer as JSON."""
    return Response(json.dumps(content), media_type="application/json")


def failed(error: PenstockError) -> Response:
    """An error as JSON, in the form that Flink's REST API has."""
    status = error.status if isinstance(error, QueryError) else 500
    return Response(json.dumps({"errors": [str(error)]}), status, media_type="application/json")


async def _json_body(request: Request) -> dict[str, Any]:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MOST_BODY_BYTES:
            raise QueryError(f"the body has more than {MOST_BODY_BYTES} bytes: ask for fewer keys at once", 413)
        parts.append(part)
    try:
        body = json.loads(b"".join(parts))
    except (ValueError, RecursionError):
        raise QueryError("the body is not JSON") from None
    if not isinstance(body, dict):
        raise QueryError("the body is not a JSON object")
    return body
