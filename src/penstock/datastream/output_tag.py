"""OutputTag, under PyFlink's path; defined in `penstock.vocabulary.output_tag`."""

from __future__ import annotations

from penstock.vocabulary.output_tag import (
    OutputTag,
)

__all__ = [
    "OutputTag",
]
