"""Predicates for retrying async calls, under PyFlink's path."""

from __future__ import annotations

from penstock.vocabulary.async_retry_predicates import (
    empty_result_predicate,
    exception_type_predicate,
    has_exception_predicate,
)

__all__ = [
    "empty_result_predicate",
    "exception_type_predicate",
    "has_exception_predicate",
]
