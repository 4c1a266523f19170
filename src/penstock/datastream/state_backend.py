"""State backends, under PyFlink's path; defined in `penstock.vocabulary.state_backend`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.pyflink_names import names_from_elsewhere
from penstock.vocabulary.state_backend import (
    CustomStateBackend,
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    PredefinedOptions,
    StateBackend,
)

__all__ = [
    "CustomStateBackend",
    "EmbeddedRocksDBStateBackend",
    "HashMapStateBackend",
    "PredefinedOptions",
    "StateBackend",
]

if not TYPE_CHECKING:
    __getattr__ = names_from_elsewhere(__name__)
