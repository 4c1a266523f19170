"""Check that user functions take the arguments they will be called with, before anything runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from penstock.errors import GraphError
from penstock.vocabulary.functions import Function

_MAY_TAKE_MORE = {
    **dict.fromkeys(("apply", "co_group", "join"), 1),
    **dict.fromkeys(("flat_map", "flat_map1", "flat_map2", "on_timer", "process", "process_broadcast_element"), 1),
    **dict.fromkeys(("process_element", "process_element1", "process_element2", "process_match"), 1),
    **{"select": 1, "flat_select": 2, "timeout": 2},
}
"""How many arguments more a method may take: `out` for `out.collect(result)`, or the id of a pattern."""


def check_signatures(method: str, func: Any, kind: type[Function]) -> None:
    """Raise unless a function object's methods, or a plain callable, take what they will be called with."""
    if isinstance(func, Function):
        for name, expected in _expected_methods(type(func)).items():
            _check(method, f"{type(func).__name__}.{name}", getattr(func, name, None), name, expected)
    elif len(methods := _own_methods(kind)) == 1:
        (name,) = methods
        _check(method, "the function", func, name, methods[name])


def check_callable(method: str, func: Callable[..., Any], parameters: tuple[str, ...]) -> None:
    """Raise unless a callable takes these parameters."""
    _check(method, "the function", func, "", parameters)


def _expected_methods(kind: type) -> dict[str, tuple[str, ...]]:
    """Parameters of the methods that Penstock calls, by name, from the nearest class that declares them."""
    bases = [each for each in kind.__mro__ if issubclass(each, Function) and each.__module__.startswith("penstock.")]
    expected: dict[str, tuple[str, ...]] = {}
    for base in bases:
        for name, parameters in _own_methods(base).items():
            expected.setdefault(name, parameters)
    return expected


def _own_methods(kind: type) -> dict[str, tuple[str, ...]]:
    return {
        name: tuple(inspect.signature(value).parameters)[1:]
        for name, value in vars(kind).items()
        if inspect.isfunction(value) and not name.startswith("_")
    }


def _check(method: str, owner: str, func: Any, name: str, expected: tuple[str, ...]) -> None:
    if not callable(func):
        return
    _refuse_async(method, owner, func, name)
    try:
        signature = inspect.signature(func)
    except (TypeError, ValueError):  # some built-ins have none
        return
    given = tuple(signature.parameters)
    is_reordered = given != expected and sorted(given) == sorted(expected)
    counts = range(len(expected), len(expected) + _MAY_TAKE_MORE.get(name, 0) + 1)
    if is_reordered or not any(_can_be_called(signature, count) for count in counts):
        raise GraphError(
            f"{method}: {owner} is called with ({', '.join(expected)}), but yours takes ({', '.join(given)})."
        )


def _refuse_async(method: str, owner: str, func: Any, name: str) -> None:
    called = func if inspect.isroutine(func) else getattr(func, "__call__", func)  # noqa: B004 - an object's own method
    is_async = inspect.iscoroutinefunction(called) or inspect.isasyncgenfunction(called)
    if is_async and name not in ("async_invoke", "timeout"):  # these two have a check of their own
        raise GraphError(
            f"{method}: {owner} is `async def`, so nobody would wait for its result; use "
            "AsyncDataStream.unordered_wait(stream, AsyncFunction, timeout) for asynchronous calls."
        )


def _can_be_called(signature: inspect.Signature, count: int) -> bool:
    try:
        signature.bind(*[None] * count)
    except TypeError:
        return False
    return True
