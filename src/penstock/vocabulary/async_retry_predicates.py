"""Ready-made tests for retries of asynchronous calls, with PyFlink's names; which strategy uses them is the user's."""

from __future__ import annotations

from typing import Any

__all__ = ["empty_result_predicate", "exception_type_predicate", "has_exception_predicate"]


def empty_result_predicate(result: list[Any] | None) -> bool:
    """Return whether a call gave nothing."""
    return not result


def has_exception_predicate(error: BaseException | None) -> bool:
    """Return whether there is an error, of whatever type."""
    return error is not None


def exception_type_predicate(error: BaseException | None, expected_error_type: type[BaseException]) -> bool:
    """Return whether an error has a type; bind the type with `functools.partial`."""
    return isinstance(error, expected_error_type)
