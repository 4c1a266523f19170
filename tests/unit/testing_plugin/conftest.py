"""Loads what runs inside these tests need: pytester drops what such a run has loaded, and C extensions load once."""

from __future__ import annotations

import penstock.testing.harness
import penstock.testing.in_process  # noqa: F401
