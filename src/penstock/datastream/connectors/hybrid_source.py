"""Sources read one after another, under PyFlink's names."""

from __future__ import annotations

from typing import Any, Generic

from penstock.common.type_variables import A, T_co
from penstock.connectors import hybrid_source
from penstock.connectors.source import Source
from penstock.errors import ConfigurationError

__all__ = ["HybridSource", "HybridSourceBuilder"]


class HybridSource(hybrid_source.HybridSource[T_co]):
    """Reads bounded sources one after another, then a last one, which may be unbounded."""

    @staticmethod
    def builder(first_source: Source[A]) -> HybridSourceBuilder[A]:
        """Start with the source that is read first."""
        builder: HybridSourceBuilder[A] = HybridSourceBuilder()
        return builder.add_source(first_source)


class HybridSourceBuilder(Generic[T_co]):
    """Builds a `HybridSource`."""

    def __init__(self) -> None:
        self._sources: list[Source[Any]] = []

    def add_source(self, source: Source[T_co]) -> HybridSourceBuilder[T_co]:
        """Read this source after the previous one has ended."""
        if not isinstance(source, Source):
            hint = "; call .build() on it first" if callable(getattr(source, "build", None)) else ""
            raise ConfigurationError(f"HybridSource.add_source: expected a Source, got {source!r}{hint}.")
        self._sources.append(source)
        return self

    def build(self) -> HybridSource[T_co]:
        """Make the source; all but the last must be bounded."""
        return HybridSource(self._sources)
