"""Names of nodes and stores: those of the user, or numbered ones like Kafka Streams makes."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

from penstock.errors import StreamsError

_LEGAL = re.compile(r"[a-zA-Z0-9._-]{1,249}")


@dataclass(frozen=True)
class Named:
    """A name for an operator: `Named.as_("clean")`; a plain text will do wherever one is asked for."""

    name: str

    @staticmethod
    def as_(name: str) -> Named:
        """Name an operator."""
        return Named(checked_name(name))


def checked_name(name: str) -> str:
    """A name that Kafka would take for a topic."""
    if not isinstance(name, str) or name in (".", "..") or not _LEGAL.fullmatch(name):
        raise StreamsError(
            f"{name!r} cannot be a name: use letters, digits, '.', '_' and '-', at most 249 of them, as in a topic."
        )
    return name


def given_name(named: Named | str | None) -> str | None:
    """The name that was given, or None."""
    if named is None:
        return None
    return checked_name(named.name if isinstance(named, Named) else named)


class NameCounter:
    """Numbers the nodes and stores of a builder, all from one counter."""

    def __init__(self) -> None:
        self._numbers = itertools.count()

    def processor(self, prefix: str) -> str:
        """A new name of a node."""
        return f"{prefix}{next(self._numbers):010d}"

    def store(self, prefix: str) -> str:
        """A new name of a store."""
        return f"{prefix}STATE-STORE-{next(self._numbers):010d}"

    def or_processor(self, named: Named | str | None, prefix: str) -> str:
        """The name that was given, or a new one; like Kafka Streams, use up a number either way."""
        generated = self.processor(prefix)
        return given_name(named) or generated

    def with_suffix(self, named: Named | str | None, suffix: str, prefix: str) -> str:
        """The name that was given with a suffix, or a new one."""
        given, generated = given_name(named), self.processor(prefix)
        return generated if given is None else given + suffix
