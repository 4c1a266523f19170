"""TimeDomain, under PyFlink's path; defined in `penstock.vocabulary.time_domain`."""

from __future__ import annotations

from penstock.vocabulary.time_domain import (
    TimeDomain,
)

__all__ = [
    "TimeDomain",
]
