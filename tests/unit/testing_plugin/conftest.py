"""Loads what runs inside these tests need: pytester drops what such a run has loaded, and C extensions load once."""

from __future__ import annotations

import penstock.engine.in_process.submission
import penstock.testing.crashes
import penstock.testing.harness  # noqa: F401
