"""How windows become bytes, in an order that is that of time."""

from __future__ import annotations

import struct
from typing import BinaryIO

from penstock.common.serializer import TypeSerializer
from penstock.vocabulary.window.windows import CountWindow, GlobalWindow, TimeWindow

__all__ = ["CountWindowSerializer", "GlobalWindowSerializer", "TimeWindowSerializer"]

# Added before packing without sign, so that negative numbers sort before positive ones.
_SIGN = 1 << 63
_ONE = struct.Struct(">Q")
_TWO = struct.Struct(">QQ")


class TimeWindowSerializer(TypeSerializer[TimeWindow]):
    """Writes a time window as 16 bytes: start, then end."""

    state_identity = "TimeWindowSerializer"

    def serialize(self, element: TimeWindow, stream: BinaryIO) -> None:
        """Write a window to the stream."""
        stream.write(self.to_bytes(element))

    def deserialize(self, stream: BinaryIO) -> TimeWindow:
        """Read a window from the stream."""
        return self.from_bytes(stream.read(_TWO.size))

    def to_bytes(self, window: TimeWindow) -> bytes:
        """Return the bytes of a window."""
        try:
            return _TWO.pack(window.start + _SIGN, window.end + _SIGN)
        except struct.error as error:
            raise ValueError(f"{window!r} reaches beyond the 64-bit range of timestamps") from error

    def from_bytes(self, data: bytes) -> TimeWindow:
        """Return the window that these bytes stand for."""
        start, end = _TWO.unpack(data)
        return TimeWindow(start - _SIGN, end - _SIGN)


class CountWindowSerializer(TypeSerializer[CountWindow]):
    """Writes a count window as the 8 bytes of its number."""

    state_identity = "CountWindowSerializer"

    def serialize(self, element: CountWindow, stream: BinaryIO) -> None:
        """Write a window to the stream."""
        stream.write(self.to_bytes(element))

    def deserialize(self, stream: BinaryIO) -> CountWindow:
        """Read a window from the stream."""
        return self.from_bytes(stream.read(_ONE.size))

    def to_bytes(self, window: CountWindow) -> bytes:
        """Return the bytes of a window."""
        return _ONE.pack(window.id + _SIGN)

    def from_bytes(self, data: bytes) -> CountWindow:
        """Return the window that these bytes stand for."""
        return CountWindow(_ONE.unpack(data)[0] - _SIGN)


class GlobalWindowSerializer(TypeSerializer[GlobalWindow]):
    """Writes the global window as one byte: no bytes at all would be the namespace of state without a window."""

    state_identity = "GlobalWindowSerializer"

    def serialize(self, element: GlobalWindow, stream: BinaryIO) -> None:
        """Write the window to the stream."""
        stream.write(self.to_bytes(element))

    def deserialize(self, stream: BinaryIO) -> GlobalWindow:
        """Read the window from the stream."""
        return self.from_bytes(stream.read(1))

    def to_bytes(self, window: GlobalWindow) -> bytes:
        """Return the byte of the window."""
        return b"\x00"

    def from_bytes(self, data: bytes) -> GlobalWindow:
        """Return the window."""
        return GlobalWindow.get()
