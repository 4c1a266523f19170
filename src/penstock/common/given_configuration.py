"""Settings that whoever starts a program gives to all environments that it makes; owns their place, no meaning."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from penstock.common.configuration import Configuration

_given = Configuration()


def given_configuration() -> Configuration:
    """A copy of what was given to the program that runs; empty if nobody gave anything."""
    return Configuration(_given)


@contextmanager
def giving(configuration: Configuration) -> Iterator[None]:
    """Give a configuration to a program for as long as the block lasts."""
    global _given
    before, _given = _given, Configuration(configuration)
    try:
        yield
    finally:
        _given = before
