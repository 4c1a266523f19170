"""The options `scan.watermark.*` of a table, which say how its source makes watermarks; Flink has the same."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.common.no_effect import warn_of_no_effect
from penstock.common.watermark_strategy import WatermarkAlignment
from penstock.errors import SqlError
from penstock.table.algebra.nodes import Scan
from penstock.table.connectors.options import Options

_ALIGNMENT = "scan.watermark.alignment."
_GROUP, _MAX_DRIFT, _INTERVAL = f"{_ALIGNMENT}group", f"{_ALIGNMENT}max-drift", f"{_ALIGNMENT}update-interval"
_GAP = "scan.watermark.emit.on-event.gap"
_DEFAULT_INTERVAL_MS = 1_000


@dataclass(frozen=True)
class WatermarkOptions:
    """How the source of a table makes watermarks. `idle_timeout_ms` is None where the table says nothing of it."""

    is_prompt: bool = False
    idle_timeout_ms: int | None = None
    alignment: WatermarkAlignment | None = None

    @classmethod
    def of(cls, scan: Scan) -> WatermarkOptions:
        """Read the options of a table, and those that a query gives for itself."""
        options = Options({**dict(scan.table.options), **dict(scan.hints)}, ".".join(scan.table.path))
        if options.get(_GAP, "1") != "1":
            warn_of_no_effect(f"'{_GAP}' of table {options.name}", "watermarks are emitted after every row")
        return cls(
            options.get("scan.watermark.emit.strategy") == "on-event",
            options.millis("scan.watermark.idle-timeout"),
            _alignment(options),
        )


def refuse_alignment(scan: Scan, reason: str) -> None:
    """Refuse a table that asks for alignment, if it does, where its source makes no watermarks."""
    if WatermarkOptions.of(scan).alignment is not None:
        raise SqlError(f"Table {'.'.join(scan.table.path)}: '{_GROUP}' cannot be kept to, because {reason}.")


def _alignment(options: Options) -> WatermarkAlignment | None:
    group, drift_ms = options.get(_GROUP), options.millis(_MAX_DRIFT)
    if group is None and drift_ms is None and _INTERVAL not in options:
        return None
    if group is None or drift_ms is None:
        raise SqlError(f"Table {options.name}: '{_GROUP}' and '{_MAX_DRIFT}' belong together; give both.")
    interval_ms = options.millis(_INTERVAL, _DEFAULT_INTERVAL_MS)
    if not interval_ms:
        raise SqlError(f"Table {options.name}: '{_INTERVAL}' must be above 0.")
    return WatermarkAlignment(group, drift_ms, interval_ms)
