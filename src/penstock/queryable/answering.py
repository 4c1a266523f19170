"""Queries of state and their answers, as JSON can have them; all of one answer is of one sealed version."""

from __future__ import annotations

import base64
import binascii
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import KeyEncodingError, QueryError
from penstock.keys.groups import key_group, subtask_of
from penstock.keys.plain_decoding import plain_key, read_plain_key
from penstock.queryable.content import KeyedStateInfo, OperatorInfo, VersionContent
from penstock.queryable.json_values import as_json
from penstock.queryable.map_entries import DEFAULT_LIMIT, EntryChoice
from penstock.queryable.replica import Replica
from penstock.queryable.requested_keys import key_from_text, requested_key
from penstock.queryable.rows_of_key import KEYED, KeyReader, Window
from penstock.queryable.store import StoreView, part_prefix
from penstock.state.declarations import MAP_KEY, VALUE
from penstock.state.serializers import Schema, described
from penstock.state.store import prefix_end

MOST_KEYS = 10_000
MOST_ENTRIES = 100_000


@dataclass(frozen=True)
class StateQuery:
    """What is asked for: a state by operator and name, or by queryable name, and some of its keys.

    Keys are JSON, or texts as people type them with `are_texts`: JSON, or bare words. `map_keys`, `prefix`, `first` and
    `last` choose entries of maps, `window` is a window by its start, or by start and end.
    """

    keys: list[Any] = field(default_factory=list)
    operator: str | None = None
    state: str | None = None
    queryable: str | None = None
    are_texts: bool = False
    map_keys: list[Any] | None = None
    prefix: str | None = None
    first: Any = None
    last: Any = None
    window: Any = None
    limit: int = DEFAULT_LIMIT


def answer(replica: Replica, query: StateQuery) -> dict[str, Any]:
    """Answer a query from the version that the replica holds now."""
    _check(query)
    with replica.reading() as (view, content):
        operator, state = _found(content, query, view)
        head = _head(replica, content, operator, state)
        if state is None:  # a queryable name whose state has no entry of any key yet
            return {**head, "results": [{"key": key, "found": False, "value": None} for key in query.keys]}
        now_ms = time.time_ns() // 1_000_000
        values = content.values_of(operator, state, allows_pickles=replica.allows_pickles)
        reader = KeyReader(view, operator, state, values, now_ms)
        choice, window = _choice(query, state), _window(query.window)
        results = [{"key": key, **reader.read(_key_code(key, operator, query), window, choice)} for key in query.keys]
        return {**head, "results": results}


def list_keys(
    replica: Replica, operator_name: str, state_name: str, *, limit: int = 100, after: str | None = None
) -> dict[str, Any]:
    """The keys that have something in a state, some at a time; `next` of an answer is `after` of the next one."""
    limit = _limited(limit, MOST_KEYS)
    with replica.reading() as (view, content):
        operator = content.find_operator(operator_name)
        state = content.find_state(operator, state_name, view)
        keys: list[Any] = []
        last = None
        for code, key in _stored_keys(view, operator, state, _place(after)):
            if len(keys) == limit:
                return {**_head(replica, content, operator, state), "keys": keys, "next": _cursor(last)}
            keys.append(as_json(key))
            last = code
        return {**_head(replica, content, operator, state), "keys": keys, "next": None}


def describe(replica: Replica) -> dict[str, Any]:
    """The job with its operators and states, and how old what is held of them is."""
    with replica.reading() as (view, content):
        operators = [
            {
                "uid": each.uid,
                "name": each.name,
                "kind": each.kind,
                "parallelism": each.parallelism,
                "key_type": _type_text([each.described["key"]]) if each.described.get("key") else None,
                "states": [_state_text(state) for state in content.states_of(each, view).values()],
            }
            for each in content.operators.values()
        ]
        queryable = {
            name: {"operator": each.uid, "state": state}
            for each in content.operators.values()
            for name, state in each.described.get("queryable", {}).items()
        }
        return {**_version_head(replica, content), "operators": operators, "queryable": queryable}


def _state_text(state: KeyedStateInfo) -> dict[str, Any]:
    return {
        "name": state.name,
        "kind": state.kind,
        "type": _type_text(state.schemas.get(VALUE, [])),
        "map_key_type": _type_text(state.schemas.get(MAP_KEY, [])),
        "queryable_name": state.queryable_name,
    }


def _type_text(schemas: list[Schema]) -> str | None:
    return " or ".join(map(described, schemas)) or None


def _found(content: VersionContent, query: StateQuery, view: StoreView) -> tuple[OperatorInfo, KeyedStateInfo | None]:
    if query.queryable is not None:
        return content.find_queryable(query.queryable, view)
    operator = content.find_operator(query.operator or "")
    return operator, content.find_state(operator, query.state or "", view)


def _version_head(replica: Replica, content: VersionContent) -> dict[str, Any]:
    return {
        "job_id": content.job_id,
        "job_name": content.job_name,
        "version": content.version,
        "sealed_ms": content.sealed_ms,
        "age_ms": max(0, time.time_ns() // 1_000_000 - content.sealed_ms),
        "problem": replica.problem,
    }


def _head(
    replica: Replica, content: VersionContent, operator: OperatorInfo, state: KeyedStateInfo | None
) -> dict[str, Any]:
    found = {"operator": operator.uid, "state": state and state.name, "kind": state and state.kind}
    return {**_version_head(replica, content), **found}


def _key_code(key: Any, operator: OperatorInfo, query: StateQuery) -> bytes:
    read = key_from_text if query.are_texts else requested_key
    if isinstance(key, dict) and list(key) == ["$encoded"]:
        return _from_hex(key["$encoded"])
    return read(key, operator.described.get("key"), operator.described.get("key_class"))


def _from_hex(text: Any) -> bytes:
    try:
        return bytes.fromhex(text)
    except (TypeError, ValueError):
        raise QueryError("the $encoded form of a key is its bytes in hexadecimal digits") from None


def _choice(query: StateQuery, state: KeyedStateInfo) -> EntryChoice:
    schemas = state.schemas.get(MAP_KEY, [])
    schema = schemas[0] if len(schemas) == 1 else None
    read = key_from_text if query.are_texts else requested_key
    codes = None if query.map_keys is None else tuple([read(key, schema) for key in query.map_keys])
    first, last = (_end(end, read, schema) for end in (query.first, query.last))
    return EntryChoice(codes, query.prefix, first, last, _limited(query.limit, MOST_ENTRIES))


def _end(given: Any, read: Any, schema: Schema | None) -> Any:
    """An end of a range as the value that keys are compared with."""
    if given is None:
        return None
    # Never the class of an enum or dataclass: the bytes come from a request.
    return plain_key(read(given, schema))


def _window(given: Any) -> Window | None:
    if given is None:
        return None
    numbers = given if isinstance(given, list) else [given]
    if not 1 <= len(numbers) <= 2 or not all(type(number) is int for number in numbers):
        raise QueryError("a window is asked for by its start in milliseconds, or by start and end, or by its number")
    return Window(*numbers)


def _check(query: StateQuery) -> None:
    if not query.keys:
        raise QueryError("a query needs at least one key")
    if len(query.keys) > MOST_KEYS:
        raise QueryError(f"a query has {len(query.keys)} keys; at most {MOST_KEYS} are answered at once")
    chosen = [query.map_keys is not None, query.prefix is not None, (query.first, query.last) != (None, None)]
    if sum(chosen) > 1:
        raise QueryError("entries of a map are chosen by map_key, by prefix or by from and to: give one of them")


def _limited(limit: Any, most: int) -> int:
    if type(limit) is not int or not 1 <= limit <= most:
        raise QueryError(f"limit must be a whole number from 1 to {most}, got {limit!r}")
    return limit


def _stored_keys(
    view: StoreView, operator: OperatorInfo, state: KeyedStateInfo, after: bytes
) -> Iterator[tuple[bytes, Any]]:
    """The keys of a state by key group, from behind a key on; each is sought, so maps are not gone over."""
    first = key_group(after, operator.max_parallelism) if after else 0
    for group in range(first, operator.max_parallelism):
        subtask = subtask_of(group, operator.parallelism, operator.max_parallelism)
        part = part_prefix(operator.vertex, subtask)
        head = part + KEYED + operator.number + group.to_bytes(2, "big") + state.id
        begin = prefix_end(head + after) if after and group == first else head
        while begin is not None and (row := next(view.range(begin, prefix_end(head)), None)) is not None:
            key, end = _read_stored(row[0], len(head), operator)
            yield row[0][len(head) : end], key
            begin = prefix_end(row[0][:end])


def _read_stored(row: bytes, start: int, operator: OperatorInfo) -> tuple[Any, int]:
    described_class = operator.described.get("key_class")
    fields = {} if described_class is None else {(described_class[0], described_class[1]): described_class[2]}
    try:
        return read_plain_key(row, start, fields)
    except KeyEncodingError as error:
        raise QueryError(f"{error}: declare the type of the key in key_by(..., key_type=...)", 409) from None


def _cursor(code: bytes | None) -> str | None:
    return None if code is None else base64.urlsafe_b64encode(code).decode()


def _place(after: str | None) -> bytes:
    try:
        return base64.b64decode((after or "").encode(), b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise QueryError("`after` is not the `next` of an earlier answer") from None
