"""The settings of tables that decide about operators, read from an environment's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.errors import ConfigurationError
from penstock.graph.setting_values import duration_ms
from penstock.runtime.operators.table.bundles import MINI_BATCH_SIZE

__all__ = ["TableSettings"]

REUSES_PARTS = "table.optimizer.reuse-sub-plan-enabled"
SHARES_PARTS = "table.optimizer.reuse-optimize-block-with-digest-enabled"
REUSES_SOURCES = "table.optimizer.reuse-source-enabled"
PHASES = "table.optimizer.agg-phase-strategy"


@dataclass(frozen=True)
class TableSettings:
    """What the configuration says about tables."""

    state_ttl_ms: int = 0
    is_mini_batch: bool = False
    mini_batch_size: int = MINI_BATCH_SIZE
    is_two_phase: bool = True
    zone: str = "UTC"
    drops_null: bool = False
    length_enforcer: str = "IGNORE"
    nested_enforcer: str = "IGNORE"
    upsert_materialize: str = "AUTO"
    idle_timeout_ms: int | None = None
    has_duplicate_events: bool = False
    is_batch: bool = False
    sorts_at_end: bool = False
    """Whether ORDER BY of an input that ends may be by any field, all rows coming out at the end."""
    lookup_capacity: int = 100
    lookup_timeout_ms: int = 180_000
    lookup_allows_unordered: bool = False
    resolves_updates: bool = False
    """Whether what was looked up is kept, so that it can be taken back as it was."""
    reuses_sources: bool = True
    reuses_parts: bool = True
    shares_parts: bool = False
    """Whether what INSERTs of a job have in common is planned apart, to be computed once whatever they read of it."""

    @staticmethod
    def of(settings: Mapping[str, str]) -> TableSettings:
        """Read the settings of an environment."""
        zone = settings.get("table.local-time-zone", "default")
        is_batch = settings.get("execution.runtime-mode", "").upper() == "BATCH"
        idle = _millis(settings, "table.exec.source.idle-timeout")
        return TableSettings(
            state_ttl_ms=_millis(settings, "table.exec.state.ttl"),
            is_mini_batch=_flag(settings, "table.exec.mini-batch.enabled"),
            mini_batch_size=_size(settings, "table.exec.mini-batch.size"),
            is_two_phase=_word(settings, PHASES, "AUTO", ("AUTO", "ONE_PHASE", "TWO_PHASE")) != "ONE_PHASE",
            zone="UTC" if zone in ("default", "") else zone,
            drops_null=_word(settings, "table.exec.sink.not-null-enforcer", "ERROR", ("ERROR", "DROP")) == "DROP",
            length_enforcer=_word(
                settings, "table.exec.sink.type-length-enforcer", "IGNORE", ("IGNORE", "TRIM_PAD", "ERROR")
            ),
            nested_enforcer=_word(
                settings,
                "table.exec.sink.nested-constraint-enforcer",
                "IGNORE",
                ("IGNORE", "ROWS", "ROWS_AND_COLLECTIONS"),
            ),
            upsert_materialize=_word(settings, "table.exec.sink.upsert-materialize", "AUTO", ("AUTO", "NONE", "FORCE")),
            idle_timeout_ms=idle or None,
            sorts_at_end=_flag(settings, "__table.exec.sort.non-temporal.enabled__") or is_batch,
            is_batch=is_batch,
            has_duplicate_events=_flag(settings, "table.exec.source.cdc-events-duplicate"),
            lookup_capacity=_count(settings, "table.exec.async-lookup.buffer-capacity", 100),
            lookup_timeout_ms=_millis(settings, "table.exec.async-lookup.timeout") or 180_000,
            lookup_allows_unordered=_word(
                settings, "table.exec.async-lookup.output-mode", "ORDERED", ("ORDERED", "ALLOW_UNORDERED")
            )
            == "ALLOW_UNORDERED",
            resolves_updates=_word(
                settings,
                "table.optimizer.non-deterministic-update.strategy",
                "IGNORE",
                ("IGNORE", "TRY_RESOLVE"),
            )
            == "TRY_RESOLVE",
            reuses_parts=_flag(settings, REUSES_PARTS, True),
            shares_parts=_flag(settings, SHARES_PARTS),
            reuses_sources=_flag(settings, REUSES_PARTS, True) and _flag(settings, REUSES_SOURCES, True),
        )


def _count(settings: Mapping[str, str], key: str, default: int) -> int:
    value = str(settings.get(key, default))
    if not value.isdigit() or int(value) < 1:
        raise ConfigurationError(f"{key} must be a whole number of 1 or more, not {value!r}.")
    return int(value)


def _flag(settings: Mapping[str, str], key: str, default: bool = False) -> bool:
    return str(settings.get(key, default)).lower() == "true"


def _size(settings: Mapping[str, str], key: str) -> int:
    """A number of rows; without one, as many as a batch usually has in a block."""
    value = str(settings.get(key, -1))
    try:
        size = int(value)
    except ValueError:
        raise ConfigurationError(f"{key} must be a number of rows, not {value!r}.") from None
    return size if size > 0 else MINI_BATCH_SIZE


def _millis(settings: Mapping[str, str], key: str) -> int:
    value = settings.get(key)
    return 0 if value is None else duration_ms(value)


def _word(settings: Mapping[str, str], key: str, default: str, known: tuple[str, ...]) -> str:
    word = str(settings.get(key, default)).upper().replace("-", "_")
    if word not in known:
        raise ConfigurationError(f"{key} must be one of {', '.join(known)}, not {settings[key]!r}.")
    return word
