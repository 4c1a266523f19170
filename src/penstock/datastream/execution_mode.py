"""RuntimeExecutionMode, under PyFlink's path; defined in `penstock.vocabulary.execution_mode`."""

from __future__ import annotations

from penstock.vocabulary.execution_mode import (
    RuntimeExecutionMode,
)

__all__ = [
    "RuntimeExecutionMode",
]
