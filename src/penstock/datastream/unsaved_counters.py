"""Warn of functions that count in `self` or in a global: a restart loses the count, and each subtask has its own."""

from __future__ import annotations

import ast
import inspect
import textwrap
import tokenize
import warnings
from collections.abc import Iterator
from typing import Any

from penstock.common.no_effect import level_of_program
from penstock.errors import LikelyMistakeWarning
from penstock.vocabulary.checkpointed_function import CheckpointedFunction, ListCheckpointed
from penstock.vocabulary.functions import Function

_CALLED_ONCE = frozenset({"open", "close"})


def warn_of_unsaved_counters(method: str, func: Any) -> None:
    """Warn if a function's code has a statement such as `self.count += 1`, and nothing saves the field."""
    if isinstance(func, CheckpointedFunction | ListCheckpointed) or type(func).__module__.startswith("penstock."):
        return
    for owner, code in _called_for_records(func):
        for counter in _counters(code):
            warnings.warn(
                f"{method}: {owner} counts in {counter}, which no checkpoint contains: a restart loses it, and each "
                "subtask has its own. Keep it in state, see docs/state.md, or use a metric if only people read it.",
                LikelyMistakeWarning,
                stacklevel=level_of_program(),
            )


def _called_for_records(func: Any) -> Iterator[tuple[str, Any]]:
    if inspect.isfunction(func):
        yield f"{func.__name__}()", func
    elif isinstance(func, Function):
        kind = type(func)
        for name in {name for base in kind.__mro__ for name in vars(base)} - _CALLED_ONCE:
            method = getattr(kind, name)
            if inspect.isfunction(method) and not name.startswith("__") and not _is_ours(method):
                yield f"{kind.__name__}.{name}()", method


def _is_ours(function: Any) -> bool:
    return str(function.__module__).startswith("penstock.")


def _counters(function: Any) -> list[str]:
    """Fields and globals that a function changes by `+=` and the like."""
    code = function.__code__
    # Without a store to something outside of the function there is nothing to find, and source need not be read.
    if not (code.co_names or code.co_freevars) or function.__name__ == "<lambda>":
        return []
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError, tokenize.TokenError):  # no source: typed at a prompt, or made by a program
        return []
    shared = {name for node in ast.walk(tree) if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names}
    first = next(iter(inspect.signature(function).parameters), "")
    own = first if "." in function.__qualname__ else ""
    changed = [_changed(node.target, own, shared) for node in ast.walk(tree) if isinstance(node, ast.AugAssign)]
    return sorted({name for name in changed if name is not None})


def _changed(target: ast.expr, own: str, shared: set[str]) -> str | None:
    while isinstance(target, ast.Subscript):
        target = target.value
    if isinstance(target, ast.Name):
        return f"the global {target.id}" if target.id in shared else None
    if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == own:
        return f"self.{target.attr}"
    return None
