"""PyFlink's module of connector foundations: the contracts live in `penstock.connectors`, this gives them its path."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from penstock.connectors.sink import DeliveryGuarantee, Sink
from penstock.connectors.source import Source

__all__ = ["DeliveryGuarantee", "Sink", "Source", "StreamTransformer", "SupportsPreprocessing"]


class StreamTransformer(ABC):
    """A change to the stream that a sink wants in front of itself."""

    @abstractmethod
    def apply(self, ds: Any) -> Any:
        """Return the stream that the sink should get instead of `ds`."""


class SupportsPreprocessing(ABC):
    """A sink that transforms its stream first; asked when the sink is added to the stream."""

    @abstractmethod
    def get_transformer(self) -> StreamTransformer | None:
        """Return the transformer, or None."""
