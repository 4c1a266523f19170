"""Windows, assigners, triggers and evictors, under PyFlink's path; defined in `penstock.vocabulary.window`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.pyflink_names import names_from_elsewhere
from penstock.vocabulary import window
from penstock.vocabulary.window import *  # noqa: F403 - whatever the vocabulary lists is here too

__all__ = window.__all__

if not TYPE_CHECKING:
    __getattr__ = names_from_elsewhere(__name__)
