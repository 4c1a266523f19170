"""Settings given to all environments of a program from outside, such as by `penstock run`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from penstock.common.configuration import Configuration

_given = Configuration()


def with_given(configuration: Configuration | None) -> Configuration | None:
    """Return the program's own configuration on top of the given one; its own keys win."""
    if not _given.key_set() or not isinstance(configuration, Configuration | None):
        return configuration
    return Configuration(_given).add_all(configuration or Configuration())


@contextmanager
def giving(configuration: Configuration) -> Iterator[None]:
    """Apply a configuration to all environments created in the block."""
    global _given
    before, _given = _given, Configuration(configuration)
    try:
        yield
    finally:
        _given = before
