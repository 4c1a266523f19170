"""A real terminal with a program in it: what is typed, and what is then on the screen."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import pexpect
import psutil
import pyte

COLUMNS, LINES = 120, 40
CTRL_C, CTRL_D, TAB, ENTER, UP = "\x03", "\x04", "\t", "\r", "\x1b[A"
_CHUNK = 65536


class Terminal:
    """Runs a program of Python in a terminal of its own; everything waits for what it should bring, up to a limit."""

    def __init__(self, *words: str, environment: dict[str, str], lines: int = LINES, limit: float = 60.0) -> None:
        self._limit = limit
        self._screen = pyte.Screen(COLUMNS, lines)
        self._stream = pyte.ByteStream(self._screen)
        self._screen.write_process_input = self._answer  # programs ask where the cursor is
        told = {**os.environ, "TERM": "xterm-256color", "PYTHONUNBUFFERED": "1", **environment}
        self._child = pexpect.spawn(
            sys.executable, list(words), dimensions=(lines, COLUMNS), env=told, timeout=limit, echo=False
        )

    def _answer(self, text: str) -> None:
        if self._child.isalive():
            self._child.send(text)

    @property
    def pid(self) -> int:
        return int(self._child.pid)

    def lines(self) -> list[str]:
        """What is on the screen."""
        return [line.rstrip() for line in self._screen.display]

    def type(self, text: str) -> None:
        """Press keys."""
        self._child.send(text)

    def wait(self, condition: Callable[[list[str]], Any]) -> None:
        """Read until the screen is as wanted."""
        until = time.monotonic() + self._limit
        while not condition(self.lines()):
            assert time.monotonic() < until, "not on the screen in time:\n" + "\n".join(self.lines())
            try:
                data = self._child.read_nonblocking(_CHUNK, timeout=1)
            except pexpect.TIMEOUT:
                continue
            except pexpect.EOF:
                raise AssertionError("the program has ended:\n" + "\n".join(self.lines())) from None
            self._stream.feed(data)

    def wait_for(self, *texts: str) -> None:
        """Read until all of these texts are on the screen."""
        self.wait(lambda lines: all(any(text in line for line in lines) for text in texts))

    def wait_for_line(self, text: str) -> None:
        """Read until a line is exactly this, the last one that is not empty."""
        self.wait(lambda lines: next((line for line in reversed(lines) if line), "") == text)

    def wait_for_end(self) -> int:
        """Read until the program ends; returns its exit code."""
        self._stream.feed(self._child.read())
        self._child.wait()
        return int(self._child.exitstatus if self._child.exitstatus is not None else -self._child.signalstatus)

    def children(self) -> list[psutil.Process]:
        """The processes that the program started, and those that they started."""
        return psutil.Process(self.pid).children(recursive=True)

    def close(self) -> None:
        """End the program if it runs."""
        if self._child.isalive():
            self._child.kill(signal.SIGKILL)
        self._child.close(force=True)
