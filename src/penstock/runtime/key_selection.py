"""Keys of many records by the user's selector."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.common.typed_key import TypedKey
from penstock.errors import DeclaredTypeError
from penstock.runtime.failure import current_record

_DURING = "selecting the key"

Failure = Callable[[Exception, str, Any], Exception]
"""What makes the failure of an operator: an error, what was being done, and the record."""


def select_keys(selector: Callable[[Any], Any], values: list[Any], failure: Failure) -> list[Any]:
    """Return the key of each record, as its type says if it has one."""
    is_typed = isinstance(selector, TypedKey)
    select = selector.select if isinstance(selector, TypedKey) else selector
    consumed = iter(values)
    try:
        keys = [select(value) for value in consumed]
    except Exception as error:
        raise failure(error, _DURING, current_record(values, consumed)) from None
    return _typed(selector, keys, values, failure) if is_typed else keys


def _typed(selector: Any, keys: list[Any], values: list[Any], failure: Failure) -> list[Any]:
    try:
        return selector.of_all(keys)  # type: ignore[no-any-return]
    except DeclaredTypeError as error:
        record = next((value for value, key in zip(values, keys, strict=True) if key is error.value), None)
        raise failure(error.with_traceback(None), _DURING, record) from None
