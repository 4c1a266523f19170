"""The commands `query` and `query-server`: state of jobs by key, and the server that answers for it."""

from __future__ import annotations

import json
import os
from typing import Annotated, Any

import typer

from penstock.cli.output import Columns, note, one_line, show_json
from penstock.errors import ConfigurationError, JobNotFoundError, QueryError


def query(
    target: Annotated[
        str,
        typer.Argument(
            metavar="JOB_OR_DIR",
            help="A running job of this machine (id or name), a checkpoint directory, or the URL of a query server.",
        ),
    ],
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="OPERATOR STATE KEY...", help="Operator (uid or name), state, and keys (JSON or text)."),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Queryable name, instead of OPERATOR STATE.")
    ] = None,
    job: Annotated[
        str | None, typer.Option("--job", metavar="JOB", help="The job, where a server has several.")
    ] = None,
    map_key: Annotated[list[str] | None, typer.Option("--map-key", help="Only this entry of a map.")] = None,
    prefix: Annotated[
        str | None, typer.Option("--prefix", help="Only entries whose key begins with this text.")
    ] = None,
    first: Annotated[str | None, typer.Option("--from", help="Only entries of a map from this key on.")] = None,
    last: Annotated[str | None, typer.Option("--to", help="Only entries of a map before this key.")] = None,
    window: Annotated[str | None, typer.Option("--window", help="Only this window: START or START,END in ms.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Most entries of a map, or keys.")] = 100,
    token: Annotated[str | None, typer.Option("--token", help="Token of the server, if it is not this user's.")] = None,
    allow_pickle: Annotated[
        bool, typer.Option("--allow-pickle", help="Load values without a type; only if you trust the directory.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
) -> None:
    """Show the state of keys, as of the last sealed version. Without OPERATOR, show what can be asked for."""
    asked = _asked(target, token, allow_pickle)
    given = list(words or [])
    wanted: dict[str, Any] = {"name": name, "job": job}
    if name is None:
        wanted |= dict(zip(("operator", "state"), given, strict=False))
        given = given[2:]
    try:
        if name is None and "state" not in wanted:
            _show_description(asked.ask("job", job=job), wanted.get("operator"), as_json)
        elif not given:
            _show_keys(asked, wanted, limit, as_json)
        else:
            wanted |= {"prefix": prefix, "from": first, "to": last, "window": window, "limit": str(limit)}
            pairs = [(field, text) for field, text in wanted.items() if text is not None]
            pairs += [("key", key) for key in given] + [("map_key", key) for key in map_key or []]
            _show_answer(asked.ask_texts(pairs), as_json)
    finally:
        asked.close()


def query_server(
    places: Annotated[
        list[str],
        typer.Argument(metavar="DIR...", help="Checkpoint directories, or folders of checkpoint directories."),
    ],
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="Port to listen on; 0 for any that is free.")] = 8087,
    store: Annotated[
        str | None, typer.Option("--store", metavar="DIR", help="Keep the copies here, so that a new start is quick.")
    ] = None,
    poll_ms: Annotated[int, typer.Option("--poll-ms", min=10, help="How often to look for a new version.")] = 200,
    certificate: Annotated[str | None, typer.Option("--tls-certificate", metavar="FILE", help="For https.")] = None,
    key: Annotated[str | None, typer.Option("--tls-key", metavar="FILE", help="For https.")] = None,
    allow_pickle: Annotated[
        bool, typer.Option("--allow-pickle", help="Load values without a type; only if you trust the directories.")
    ] = False,
) -> None:
    """Answer queries of state over HTTP, from copies of checkpoint directories; jobs are not disturbed."""
    serving, replicas, tokens = _server_parts()
    found = replicas.Replicas(places, store=store, allows_pickles=allow_pickle, poll_seconds=poll_ms / 1000)
    listening = serving.Listening(host, port, tuple(tokens.own_tokens()), certificate, key)
    server = serving.query_server(found, listening)
    scheme = "https" if certificate else "http"
    note(f"queries are answered at {scheme}://{host}:{port}/queryable, with the token of this user")
    try:
        server.run()
    finally:
        found.close()


def _server_parts() -> tuple[Any, Any, Any]:
    try:
        from penstock.queryable import replicas, serving, tokens
    except ImportError as error:
        raise ConfigurationError(
            f"a query server needs more packages ({error}): pip install penstock[server]"
        ) from None
    return serving, replicas, tokens


def _asked(target: str, token: str | None, allow_pickle: bool) -> Any:
    """What answers."""
    if target.startswith(("http://", "https://")):
        from penstock.queryable.client import ServedQueries

        return ServedQueries(target, token)
    from penstock.queryable.own_replicas import OwnReplicas

    if "://" in target or os.path.isdir(target):
        return OwnReplicas(target, allows_pickles=allow_pickle)
    from penstock.job.running_jobs import find_job

    try:
        checkpoint = find_job(target)[0].card.checkpoint
    except JobNotFoundError as error:
        raise QueryError(f"{target!r} is no directory, no URL and no running job: {error}") from None
    return OwnReplicas(checkpoint, allows_pickles=allow_pickle)


def _show_answer(found: dict[str, Any], as_json: bool) -> None:
    if as_json:
        show_json(found)
        return
    for result in found["results"]:
        typer.echo(f"{_text(result['key'])}:{_result_text(result)}")
    _show_version(found)


def _result_text(result: dict[str, Any], indent: str = "\n  ") -> str:
    """A value behind its key, on the same line or below it."""
    if not result["found"]:
        return " nothing"
    if "windows" in result:
        found = [(each["window"], {**each, "found": True}) for each in result["windows"]]
        return "".join(f"{indent}{_window_text(window)}:{_result_text(each, indent + '  ')}" for window, each in found)
    if "entries" in result:
        more = f"{indent}... and more: see --limit" if result.get("truncated") else ""
        return "".join(f"{indent}{_text(key)}: {_text(value)}" for key, value in result["entries"]) + more
    return f" {_text(result['value'])}"


def _window_text(window: Any) -> str:
    if isinstance(window, dict) and "start" in window:
        return f"window {window['start']} to {window['end']}"
    return f"window {_text(window)}"


def _show_keys(asked: Any, wanted: dict[str, Any], limit: int, as_json: bool) -> None:
    if wanted.get("name") is not None:
        raise QueryError("give at least one KEY")
    found = asked.ask("keys", job=wanted["job"], operator=wanted["operator"], state=wanted["state"], limit=limit)
    if as_json:
        show_json(found)
        return
    for key in found["keys"]:
        typer.echo(_text(key))
    if found["next"] is not None:
        note("there are more keys: see --limit")
    _show_version(found)


def _show_description(found: dict[str, Any], operator: str | None, as_json: bool) -> None:
    shown = [each for each in found["operators"] if operator in (None, each["uid"], each["name"])]
    if as_json:
        show_json({**found, "operators": shown})
        return
    table = Columns("operator", "uid", "key", "state", "kind", "type", "queryable name", cut="type")
    for each in shown:
        for state in each["states"]:
            kinds = [text for text in (state["map_key_type"], state["type"]) if text]
            table.add(
                each["name"], each["uid"], each["key_type"], state["name"], state["kind"], " -> ".join(kinds) or None,
                state["queryable_name"],
            )  # fmt: skip
    table.show()
    _show_version(found)


def _show_version(found: dict[str, Any]) -> None:
    age = found["age_ms"] / 1000
    note(f"job {one_line(found['job_name'])!r}, version {found['version']}, sealed {age:,.1f} s ago")
    if found["problem"]:
        note(f"no newer version could be read: {one_line(found['problem'])}")


def _text(value: Any) -> str:
    return one_line(json.dumps(value, ensure_ascii=False))
