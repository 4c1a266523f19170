"""The stream classes, under PyFlink's path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.datastream.broadcast_stream import BroadcastConnectedStream, BroadcastStream
from penstock.datastream.cached_data_stream import CachedDataStream
from penstock.datastream.closeable_iterator import CloseableIterator
from penstock.datastream.connected_streams import ConnectedStreams
from penstock.datastream.keyed_stream import KeyedStream
from penstock.datastream.node_handle import DataStreamSink
from penstock.datastream.stream import DataStream
from penstock.datastream.windowed_stream import AllWindowedStream, WindowedStream
from penstock.pyflink_names import names_from_elsewhere

__all__ = [
    "AllWindowedStream",
    "BroadcastConnectedStream",
    "BroadcastStream",
    "CachedDataStream",
    "CloseableIterator",
    "ConnectedStreams",
    "DataStream",
    "DataStreamSink",
    "KeyedStream",
    "WindowedStream",
]

if not TYPE_CHECKING:
    __getattr__ = names_from_elsewhere(__name__)
