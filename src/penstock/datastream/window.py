"""Windows, assigners, triggers and evictors, under PyFlink's path; defined in `penstock.vocabulary.window`."""

from __future__ import annotations

from penstock.vocabulary import window
from penstock.vocabulary.window import *  # noqa: F403 - whatever the vocabulary lists is here too

__all__ = window.__all__
