"""Windows as the namespace of their state and timers."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import Any, NamedTuple

from penstock.errors import GraphError

# In front of what a custom serializer writes: no bytes at all would be the namespace of state without a window.
_CUSTOM = b"\x01"


class WindowCodec(NamedTuple):
    """The two directions."""

    to_bytes: Callable[[Any], bytes]
    from_bytes: Callable[[bytes], Any]


def codec_of(assigner: Any) -> WindowCodec:
    """The codec of an assigner's windows."""
    serializer = assigner.get_window_serializer()
    if hasattr(serializer, "to_bytes") and hasattr(serializer, "from_bytes"):
        return WindowCodec(serializer.to_bytes, serializer.from_bytes)
    if not hasattr(serializer, "serialize") or not hasattr(serializer, "deserialize"):
        raise GraphError(
            f"{type(assigner).__name__}.get_window_serializer() must return a TypeSerializer for its windows, such as "
            f"TimeWindowSerializer(); it returned {serializer!r}"
        )

    def to_bytes(window: Any) -> bytes:
        stream = BytesIO()
        serializer.serialize(window, stream)
        return _CUSTOM + stream.getvalue()

    def from_bytes(data: bytes) -> Any:
        return serializer.deserialize(BytesIO(data[len(_CUSTOM) :]))

    return WindowCodec(to_bytes, from_bytes)
