"""Limits of a web server on who sends no request, or sends one too slowly: for all of Penstock's that run on uvicorn.

A request must be there within seconds, its body at a rate that any line has, and only so many may be under way at once:
then the one that has been under way longest is hung up on, so nobody is kept out by others who never finish.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

HEAD_SECONDS = 10.0
BODY_SECONDS = 20.0
BODY_BYTES_PER_SECOND = 20_000
MOST_UNFINISHED = 300
MOST_UNFINISHED_OF_ADDRESS = 200
_LOOK_SECONDS = 1.0

_Base: Any = AutoHTTPProtocol


class LimitedProtocol(_Base):  # type: ignore[misc]
    """uvicorn's protocol with an eye on connections whose request is not complete."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Take a connection."""
        super().connection_made(transport)
        self._since = time.monotonic()
        self._received = 0
        self._was_unfinished = True
        _make_room(self)
        self._look = self.loop.call_later(_LOOK_SECONDS, self._on_look)

    def connection_lost(self, exc: Exception | None) -> None:
        """It has gone."""
        self._look.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """A part of a request."""
        if not self._was_unfinished:
            self._since, self._received, self._was_unfinished = time.monotonic(), 0, True
        self._received += len(data)
        self.limit_concurrency = self._limit()
        super().data_received(data)
        self._was_unfinished = self.is_unfinished

    def _limit(self) -> int | None:
        """The limit of connections. uvicorn also counts those that were hung up on a moment ago, and their tasks."""
        limit: int | None = self.config.limit_concurrency
        if limit is None or max(len(self.connections), len(self.tasks)) < limit:
            return limit
        open_ones = sum(not each.transport.is_closing() for each in self.connections)
        return None if open_ones < limit else limit

    @property
    def has_head(self) -> bool:
        """Whether it is known what is asked for."""
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def is_unfinished(self) -> bool:
        """Whether a part of the request is still to come."""
        return not self.has_head or bool(self.cycle.more_body)

    def _is_too_slow(self) -> bool:
        if not self.is_unfinished:
            return False
        seconds = BODY_SECONDS + self._received / BODY_BYTES_PER_SECOND if self.has_head else HEAD_SECONDS
        return time.monotonic() - self._since > seconds

    def _on_look(self) -> None:
        if self._is_too_slow():
            self.transport.abort()
            return
        if not self.is_unfinished:
            self._was_unfinished = False
        self._look = self.loop.call_later(_LOOK_SECONDS, self._on_look)


def _make_room(new: LimitedProtocol) -> None:
    """Hang up on the oldest that has not finished its request, if there are too many; first of the same address."""
    open_ones = [each for each in new.connections if each is not new and not each.transport.is_closing()]
    waiting = [each for each in open_ones if each.is_unfinished]
    if len(waiting) >= MOST_UNFINISHED_OF_ADDRESS:
        address = _address(new)
        of_address = [each for each in waiting if _address(each) == address]
        too_many = len(of_address) >= MOST_UNFINISHED_OF_ADDRESS
        if too_many or len(waiting) >= MOST_UNFINISHED:
            found = of_address if too_many else waiting
            # Who has told what it asks for is more likely to be somebody; so is who has had no time to tell.
            silent = [each for each in found if not each.has_head and time.monotonic() - each._since > _LOOK_SECONDS]
            min(silent or found, key=lambda each: each._since).transport.abort()


def _address(connection: LimitedProtocol) -> str:
    return connection.client[0] if connection.client else ""
