"""Base classes of connectors, under PyFlink's path; defined in `penstock.connectors`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from penstock.connectors.sink import DeliveryGuarantee, Sink
from penstock.connectors.source import Source
from penstock.pyflink_names import names_from_elsewhere

__all__ = ["DeliveryGuarantee", "Sink", "Source", "StreamTransformer", "SupportsPreprocessing"]


class StreamTransformer(ABC):
    """Changes the stream before it reaches a sink."""

    @abstractmethod
    def apply(self, ds: Any) -> Any:
        """Return the stream to write instead of `ds`."""


class SupportsPreprocessing(ABC):
    """A sink that transforms its stream first, when it is added to the stream."""

    @abstractmethod
    def get_transformer(self) -> StreamTransformer | None:
        """Return the transformer, or None."""


if not TYPE_CHECKING:
    __getattr__ = names_from_elsewhere(__name__)
