"""Savepoints: the state of a job, complete and independent of it, written, read, and turned into a job's beginning."""

from __future__ import annotations

from penstock.savepoint.opening import open_origin
from penstock.savepoint.origin import Origin
from penstock.savepoint.restoring import Restoration
from penstock.savepoint.retained import CheckpointOrigin
from penstock.savepoint.writing import begin_savepoint, finish_savepoint

__all__ = ["CheckpointOrigin", "Origin", "Restoration", "begin_savepoint", "finish_savepoint", "open_origin"]
