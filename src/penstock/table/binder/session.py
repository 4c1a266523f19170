"""What a whole act of binding shares: the catalog, settings, the text for messages, and which views are being read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

from sqlglot import exp

from penstock.errors import ConfigurationError
from penstock.graph.declared_settings import BUNDLE_ROWS, SERIES_ROWS
from penstock.graph.setting_values import duration_ms
from penstock.table.binder.problems import Problems
from penstock.table.catalog.entries import CatalogTable, CatalogView
from penstock.vocabulary.sql.user_functions import Surroundings

__all__ = ["CatalogLookup", "PlanningContext", "Session"]


class CatalogLookup(Protocol):
    """How the binder asks for tables and views: a `CatalogManager`."""

    def full_name(self, parts: Sequence[str]) -> tuple[str, str, str]:
        """A name with the current catalog and database before it."""
        ...

    def resolve(self, parts: Sequence[str]) -> CatalogTable | CatalogView:
        """The table or view of a name; raises CatalogError if there is none."""
        ...


@dataclass(frozen=True)
class PlanningContext:
    """What planning needs from an environment.

    `source_of` and `sink_of` make the connector of a table: of its path, the entry of the catalog and the options of a
    hint. `parse_query` and `parse_expression` read the texts that a catalog keeps. `text` is what messages point
    into. `settings` are those of the environment's configuration, as texts.
    """

    catalog: CatalogLookup
    source_of: Callable[[tuple[str, ...], CatalogTable, Mapping[str, str]], Any]
    sink_of: Callable[[tuple[str, ...], CatalogTable, Mapping[str, str]], Any]
    parse_query: Callable[[str], exp.Expr]
    parse_expression: Callable[[str], exp.Expr]
    settings: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
    function_of: Callable[[tuple[str, ...]], Any] | None = None
    """A user function by name, or None."""

    def with_text(self, text: str) -> PlanningContext:
        """The same for another text."""
        return replace(self, text=text)

    @property
    def is_batch(self) -> bool:
        """Whether tables are what they are when all their input has been read."""
        return self.settings.get("execution.runtime-mode", "").upper() == "BATCH"

    @cached_property
    def surroundings(self) -> Surroundings:
        """What settings say about user functions."""
        return _surroundings(self.settings, self.zone)

    @property
    def zone(self) -> str:
        """The session's time zone."""
        zone = self.settings.get("table.local-time-zone", "default")
        return "UTC" if zone in ("default", "") else zone


_ASYNC = "table.exec.async-scalar."
SERIES_SIZES = (SERIES_ROWS, BUNDLE_ROWS)
"""Keys that say how many rows a pandas Series may have; the smaller one counts, as in PyFlink."""


def _surroundings(settings: Mapping[str, str], zone: str) -> Surroundings:
    given = {key.removeprefix(_ASYNC): value for key, value in settings.items() if key.startswith(_ASYNC)}
    usual = Surroundings()
    is_retried = given.get("retry-strategy", "FIXED_DELAY").upper() != "NO_RETRY"
    return Surroundings(
        zone,
        duration_ms(given["timeout"]) if "timeout" in given else usual.timeout_ms,
        int(given.get("max-concurrent-operations", given.get("buffer-capacity", usual.capacity))),
        int(given.get("max-attempts", usual.attempts)) if is_retried else 1,
        duration_ms(given["retry-delay"]) if "retry-delay" in given else usual.retry_delay_ms,
        min((_positive(key, settings[key]) for key in SERIES_SIZES if key in settings), default=None),
    )


def _positive(key: str, value: str) -> int:
    if not value.strip().isdecimal() or int(value) < 1:
        raise ConfigurationError(f"{key} must be a number of 1 or more, not {value!r}.")
    return int(value)


@dataclass(frozen=True)
class Session:
    """The context of one query text, and the names that WITH has given to queries."""

    context: PlanningContext
    problems: Problems
    views: tuple[tuple[str, ...], ...] = ()
    """Views that are being read, to see a view that reads itself."""
    home: tuple[str, ...] = ()
    """The catalog and database in which the names of a view are looked up; none: the current ones."""

    @staticmethod
    def of(context: PlanningContext) -> Session:
        """A session for the text of a context."""
        return Session(context, Problems(context.text))

    def inside_view(self, path: tuple[str, ...], view: CatalogView) -> Session:
        """The session for the query of a view."""
        home = (view.catalog, view.database)
        return Session(self.context.with_text(view.query), Problems(view.query), (*self.views, path), home)

    def find(self, parts: tuple[str, ...]) -> tuple[tuple[str, ...], CatalogTable | CatalogView]:
        """The full name and the entry of a table or view; raises CatalogError if there is none."""
        whole = (*self.home[: 3 - len(parts)], *parts) if self.home else parts
        return self.context.catalog.full_name(whole), self.context.catalog.resolve(whole)
