"""The command `state show`: what is in a savepoint or a checkpoint."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.output import Columns, moment, number, one_line, show_json, size
from penstock.common.constants import MIN_WATERMARK
from penstock.errors import KeyEncodingError

if TYPE_CHECKING:
    from penstock.savepoint.inspection import Inspection, KeyShare, OperatorSummary, StateSummary

app = typer.Typer(
    help="Inspect the state of jobs in savepoints and checkpoints.", no_args_is_help=True, rich_markup_mode=None
)

_TIMER_NAMES = {"__event_time_timers__": "(event time)", "__processing_time_timers__": "(processing time)"}
_SHOWN_POSITIONS = 8
_SHOWN_KEY = 60


@app.callback()
def _group() -> None:
    """Inspect the state of jobs in savepoints and checkpoints."""


@app.command()
def show(
    path: Annotated[str, typer.Argument(metavar="PATH", help="A savepoint, or the checkpoint directory of any job.")],
    operator: Annotated[
        str | None, typer.Option("--operator", metavar="UID", help="Only the operator with this uid.")
    ] = None,
    state: Annotated[str | None, typer.Option("--state", metavar="NAME", help="Only states with this name.")] = None,
    top: Annotated[int, typer.Option("--top", metavar="N", min=0, help="How many of the largest keys to show.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show operators, states, their sizes and their largest keys. Nothing is changed, and no job is disturbed."""
    # Here, because other commands need not wait until half of Penstock is loaded.
    from penstock.savepoint.inspection import inspect

    found = inspect(path, operator=operator, state=state, top=top)
    if as_json:
        show_json(_plain(found))
        return
    _show_head(found)
    if found.versions and operator is None and state is None:
        _show_versions(found)
    for each in found.operators:
        if state is None or each.states:
            _show_operator(each)


def _show_head(found: Inspection) -> None:
    manifest = found.manifest
    kind = "savepoint" if found.is_savepoint else "checkpoint"
    typer.echo(f"{kind} {found.place}")
    typer.echo(f"job {one_line(manifest.job_name)!r} ({manifest.job_id}), version {manifest.version}")
    if found.is_savepoint:
        stored = sum(file.bytes for file in manifest.files.values())
        typer.echo(
            f"written {moment(manifest.time_ms)} by Penstock {manifest.penstock_version}, "
            f"{len(manifest.files)} files, {size(stored)}"
        )


def _show_versions(found: Inspection) -> None:
    table = Columns("version", "files", "size", "sealed", "age", numbers=("version", "files", "size", "age"))
    now_ms = time.time_ns() // 1_000_000
    for each in found.versions:
        stored = "damaged" if each.bytes is None else size(each.bytes)
        age = None if each.sealed_ms is None else f"{max(0, now_ms - each.sealed_ms) / 1000:,.0f} s"
        table.add(each.version, each.files, stored, moment(each.sealed_ms), age)
    typer.echo()
    table.show()


def _show_operator(operator: OperatorSummary) -> None:
    record = operator.record
    facts = [f"parallelism {record.parallelism}"]
    facts += [f"{record.max_parallelism} key groups"] if any(state.key_groups for state in operator.states) else []
    facts += [f"watermark {moment(min(record.watermarks, default=None))}"]
    typer.echo()
    typer.echo(f"operator {one_line(operator.uid)}: {one_line(record.name)} ({record.kind}), {', '.join(facts)}")
    if operator.positions is not None:
        typer.echo(f"  positions of {len(operator.positions)} splits: {_short(operator.positions)}")
    if operator.partitions is not None:
        named = [f"{name}: {position}" for name, position in sorted(operator.partitions.items())]
        typer.echo(f"  positions of {len(named)} partitions: {_short(named)}")
    if operator.frames is not None:
        typer.echo(f"  positions by Spark: {_short(operator.frames)}")
    if record.output:
        typer.echo(f"  unfinished files of the sink: {len(record.output)}")
    if operator.states:
        _show_states(operator.states)
    largest = [(state.name, share) for state in operator.states for share in state.by_bytes]
    _show_keys("largest keys", largest)
    most = [(state.name, share) for state in operator.states for share in state.by_entries if share.entries > 1]
    _show_keys("keys with most entries", most)


def _show_states(states: list[StateSummary]) -> None:
    table = Columns(
        "state", "kind", "entries", "bytes", "keys", "key groups", "next timer", "type",
        numbers=("entries", "bytes", "keys", "key groups"), cut="type",
    )  # fmt: skip
    for state in states:
        name = _TIMER_NAMES.get(state.name, state.name) if state.kind == "timer" else state.name
        due = moment(state.next_timer_ms)
        figures = (number(state.entries), size(state.bytes), number(state.keys), number(state.key_groups))
        table.add(name, state.kind, *figures, due, state.type)
    table.show(indent=2)


def _show_keys(title: str, shares: list[tuple[str, KeyShare]]) -> None:
    if not shares:
        return
    table = Columns("state", title, "entries", "bytes", numbers=("entries", "bytes"), cut=title)
    for state, share in shares:
        text = key_text(share.key)
        shown = text if len(text) <= _SHOWN_KEY else text[: _SHOWN_KEY - 3] + "..."
        table.add(state, shown, number(share.entries), size(share.bytes))
    typer.echo()
    table.show(indent=2)


def key_text(key: bytes) -> str:
    """A key as Python writes it; its bytes if it is of a class that is not here."""
    from penstock.keys.codec import decode_key

    try:
        return repr(decode_key(key))
    except KeyEncodingError:
        return f"0x{key.hex()}"


def _short(items: list[Any]) -> str:
    shown = ", ".join(one_line(str(item)) for item in items[:_SHOWN_POSITIONS])
    return f"{shown}, ..." if len(items) > _SHOWN_POSITIONS else shown


def _plain(found: Inspection) -> dict[str, Any]:
    """All of it as JSON can have it; figures are numbers, times are milliseconds."""
    manifest = found.manifest
    return {
        "place": found.place,
        "kind": "savepoint" if found.is_savepoint else "checkpoint",
        "job_id": manifest.job_id,
        "job_name": manifest.job_name,
        "version": manifest.version,
        "written_ms": manifest.time_ms or None,
        "versions": [asdict(each) for each in found.versions],
        "operators": [_plain_operator(each) for each in found.operators],
    }


def _plain_operator(operator: OperatorSummary) -> dict[str, Any]:
    record = operator.record
    return {
        "uid": operator.uid,
        "name": record.name,
        "kind": record.kind,
        "parallelism": record.parallelism,
        "max_parallelism": record.max_parallelism,
        "watermarks": [None if mark == MIN_WATERMARK else mark for mark in record.watermarks],
        "positions": operator.positions,
        "partitions": operator.partitions,
        "spark_positions": operator.frames,
        "unfinished_files": len(record.output),
        "states": [_plain_state(state) for state in operator.states],
    }


def _plain_state(state: StateSummary) -> dict[str, Any]:
    plain = {
        name: getattr(state, name)
        for name in ("name", "kind", "type", "entries", "bytes", "keys", "key_groups", "next_timer_ms")
    }
    return {
        **plain,
        "largest_keys": [_plain_share(share) for share in state.by_bytes],
        "keys_with_most_entries": [_plain_share(share) for share in state.by_entries],
    }


def _plain_share(share: KeyShare) -> dict[str, Any]:
    return {"key": key_text(share.key), "entries": share.entries, "bytes": share.bytes}
