"""Pickles vertices, and names the operator and object that cannot be pickled."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import cloudpickle

from penstock.errors import GraphError
from penstock.graph.plan import Vertex

# A function that holds an object that holds a lock: deeper, the path says less than the first steps of it.
_DEEPEST = 6


def pickled_vertex(vertex: Vertex) -> bytes:
    """Pickle a vertex; what cannot be pickled is named with its operator."""
    try:
        return bytes(cloudpickle.dumps(vertex))
    except Exception as error:
        for chained in vertex.operators:
            if not _is_picklable(chained.operator):
                who = f"operator {chained.name!r} (uid {chained.uid!r})"
                raise GraphError(_complaint(who, chained.operator)) from None
        for edge in vertex.outputs:
            if not _is_picklable(edge.partitioning):
                who = f"the key selector or partitioner behind operator {vertex.operators[edge.operator].name!r}"
                raise GraphError(_complaint(who, edge.partitioning)) from None
        raise GraphError(f"vertex {vertex.name!r} cannot be sent to the workers: {error}") from None


def _complaint(who: str, holder: Any) -> str:
    steps, culprit, error = _path_to_culprit(holder)
    where = " -> ".join(steps)
    through = f" Found by {where}." if where else ""
    return (
        f"{who} cannot be sent to the workers: it refers to a {_kind(culprit)}, which cannot be pickled ({error})."
        f"{through} Create such objects in open() of the function, where each worker makes its own, or pass in what "
        "they are made from."
    )


def _kind(culprit: Any) -> str:
    kind = type(culprit)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _path_to_culprit(holder: Any) -> tuple[list[str], Any, Exception | None]:
    """From an operator to the innermost object that cannot be pickled: the names on the way, it, and the reason."""
    steps: list[str] = []
    current, error = holder, _reason(holder)
    seen = {id(holder)}
    while len(steps) < _DEEPEST:
        found = next(
            ((name, part) for name, part in _parts(current) if id(part) not in seen and not _is_picklable(part)), None
        )
        if found is None:
            break
        name, current = found
        seen.add(id(current))
        error = _reason(current)
        steps.append(name)
    return steps, current, error


def _parts(holder: Any) -> Iterator[tuple[str, Any]]:
    """What an object holds on to, with a name for each that a user recognizes."""
    if inspect.ismethod(holder):
        yield f"the object of method {holder.__qualname__!r}", holder.__self__
    elif inspect.isfunction(holder):
        where = f"in {holder.__qualname__!r}, line {holder.__code__.co_firstlineno} of {holder.__code__.co_filename}"
        captured = inspect.getclosurevars(holder)
        for name, value in {**captured.nonlocals, **captured.globals}.items():
            yield f"variable {name!r} {where}", value
        for value in holder.__defaults__ or ():
            yield f"a default argument {where}", value
    elif isinstance(holder, dict):
        yield from ((f"entry {key!r}", value) for key, value in holder.items())
    elif isinstance(holder, (list, tuple, set, frozenset)):
        yield from ((f"item {position}", value) for position, value in enumerate(holder))
    elif isinstance(holder, type):
        yield from _methods(holder)
    else:
        kind = type(holder).__qualname__
        yield from ((f"attribute {name!r} of {kind!r}", value) for name, value in _attributes(holder))
        yield from _methods(type(holder))


def _methods(kind: type) -> Iterator[tuple[str, Any]]:
    """Classes of a script travel with their methods, and these with what they refer to."""
    for name, member in vars(kind).items():
        if inspect.isfunction(member):
            yield f"method {name!r} of class {kind.__qualname__!r}", member


def _attributes(holder: Any) -> Iterator[tuple[str, Any]]:
    yield from getattr(holder, "__dict__", {}).items()
    for kind in type(holder).__mro__:
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(holder, name):
                yield name, getattr(holder, name)


def _is_picklable(value: Any) -> bool:
    return _reason(value) is None


def _reason(value: Any) -> Exception | None:
    try:
        cloudpickle.dumps(value)
    except Exception as error:
        return error
    return None
