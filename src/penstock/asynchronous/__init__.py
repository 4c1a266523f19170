"""Where asynchronous calls run: one event loop in a thread of its own for each process. Knows no operator."""

from __future__ import annotations

from penstock.asynchronous.call_runner import LoopCallRunner

__all__ = ["LoopCallRunner"]
