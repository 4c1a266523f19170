"""Settings that whoever starts a program gives to all environments that it makes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from penstock.common.configuration import Configuration

_given = Configuration()


def with_given(configuration: Configuration | None) -> Configuration | None:
    """What a program configures itself on top of what it was given; its own keys win."""
    if not _given.key_set() or not isinstance(configuration, Configuration | None):
        return configuration
    return Configuration(_given).add_all(configuration or Configuration())


@contextmanager
def giving(configuration: Configuration) -> Iterator[None]:
    """Give a configuration to a program for as long as the block lasts."""
    global _given
    before, _given = _given, Configuration(configuration)
    try:
        yield
    finally:
        _given = before
