"""PyFlink's names for sources that are read one after the other; the work is done in `penstock.connectors`."""

from __future__ import annotations

from penstock.connectors import hybrid_source
from penstock.connectors.source import Source
from penstock.errors import ConfigurationError

__all__ = ["HybridSource", "HybridSourceBuilder"]


class HybridSource(hybrid_source.HybridSource):
    """Reads bounded sources and then the last one, which may go on for ever."""

    @staticmethod
    def builder(first_source: Source) -> HybridSourceBuilder:
        """Start with the source that is read first."""
        return HybridSourceBuilder().add_source(first_source)


class HybridSourceBuilder:
    """Collects sources in the order they are read."""

    def __init__(self) -> None:
        self._sources: list[Source] = []

    def add_source(self, source: Source) -> HybridSourceBuilder:
        """Read another source when the one before has ended."""
        if not isinstance(source, Source):
            hint = "; call .build() on it first" if callable(getattr(source, "build", None)) else ""
            raise ConfigurationError(f"HybridSource.add_source: expected a Source, got {source!r}{hint}.")
        self._sources.append(source)
        return self

    def build(self) -> HybridSource:
        """Make the source; all but the last must be bounded."""
        return HybridSource(self._sources)
