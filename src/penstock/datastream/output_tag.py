"""OutputTag, under PyFlink's path; defined in `penstock.vocabulary.output_tag`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.pyflink_names import names_from_elsewhere
from penstock.vocabulary.output_tag import (
    OutputTag,
)

__all__ = [
    "OutputTag",
]

if not TYPE_CHECKING:
    __getattr__ = names_from_elsewhere(__name__)
