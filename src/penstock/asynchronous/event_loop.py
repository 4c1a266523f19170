"""The event loop of this process: made when it is first needed, shared by all operators, left behind if it hangs."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from typing import Any


class EventLoopThread:
    """An event loop and the daemon thread it runs in."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.is_stopped = False
        self.stopped_by = "user code stopped it, with loop.stop() or with sys.exit() in a task that no call awaits"
        threading.Thread(target=self._run, name="penstock-calls", daemon=True).start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        except SystemExit:
            pass  # of user code: it ends this loop and no more, and whoever waits for a call is told
        finally:
            self.is_stopped = True
            self.loop.close()

    def post(self, action: Callable[..., Any], *arguments: Any) -> None:
        """Have something done in the loop's thread; a loop that was left behind does nothing any more."""
        try:
            self.loop.call_soon_threadsafe(action, *arguments)
        except RuntimeError:  # closed
            self.is_stopped = True

    def abandon(self) -> None:
        """Stop the loop with whatever hangs in it: no coroutine of it is resumed. The next call gets another loop."""
        global _shared
        with _lock:
            if _shared is self:
                _shared = None
        self.stopped_by = "a call of another operator hung in it"
        self.is_stopped = True
        self.post(self.loop.stop)


_lock = threading.Lock()
_shared: EventLoopThread | None = None
_inherited: list[EventLoopThread | None] = []


def shared_loop() -> EventLoopThread:
    """The loop of this process; a new one if user code has ended the last."""
    global _shared
    with _lock:
        if _shared is None or _shared.is_stopped:
            _shared = EventLoopThread()
        return _shared


def _start_anew_in_child() -> None:
    """A forked process has no threads but the one that forked, and perhaps a lock that nobody will release."""
    global _lock, _shared
    # Kept for good: collecting the loop would close descriptors that the parent still listens to.
    _inherited.append(_shared)
    _lock, _shared = threading.Lock(), None


os.register_at_fork(after_in_child=_start_anew_in_child)
