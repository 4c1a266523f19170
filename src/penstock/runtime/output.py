"""What an operator emits goes to chained operators and to exchange writers, by main or side output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.common.column_block import ColumnBlock
from penstock.common.own_copies import own_copies
from penstock.runtime import rows
from penstock.runtime.exchange import ExchangeWriter
from penstock.runtime.rows import AnyTimestamps, Timestamps, Values

if TYPE_CHECKING:
    from penstock.runtime.operators.operator import StreamOperator


class Output:
    """The outgoing side of one operator. Counts what leaves by the main output.

    What is emitted must be nobody else's any more, and whoever is fed has it to himself: where there are several, they
    get copies of objects that can be changed. Writers only read, so they share one.
    """

    def __init__(self, *, shares_objects: bool = False) -> None:
        self._shares_objects = shares_objects
        self.records_out = 0
        self.side_records_out = 0
        self.unread_sides: set[str] = set()
        """Side outputs that got records and have no consumer."""
        self._chained: dict[str | None, list[StreamOperator]] = {}
        self._writers: dict[str | None, list[ExchangeWriter]] = {}
        self._all_chained: list[StreamOperator] = []
        self._all_writers: list[ExchangeWriter] = []

    def add_chained(self, tag: str | None, operator: StreamOperator) -> None:
        """Feed an operator of the same vertex."""
        self._chained.setdefault(tag, []).append(operator)
        self._all_chained.append(operator)

    def add_writer(self, tag: str | None, writer: ExchangeWriter) -> None:
        """Feed an edge to another vertex."""
        self._writers.setdefault(tag, []).append(writer)
        self._all_writers.append(writer)

    def emit(self, values: Values, timestamps: AnyTimestamps) -> None:
        """Emit records of the main output: a list, or a block of columns."""
        if values:
            self.records_out += len(values)
            self._send(None, values, timestamps)

    def emit_side(self, tag: str, values: list[Any], timestamps: Timestamps) -> None:
        """Emit records of a side output; without a consumer they are dropped, as in Flink."""
        if values:
            self.side_records_out += len(values)
            if tag not in self._chained and tag not in self._writers:
                self.unread_sides.add(tag)
            self._send(tag, values, timestamps)

    def misnamed_sides(self) -> list[str]:
        """Return a sentence for each side output that gets records while others are read: its name may be wrong."""
        read = sorted({tag for tag in (*self._chained, *self._writers) if tag is not None})
        names = ", ".join(map(repr, read))
        return [
            f"records go to the side output {tag!r}, which nobody reads; get_side_output() asks for {names}"
            for tag in sorted(self.unread_sides)
            if read
        ]

    def _send(self, tag: str | None, values: Values, timestamps: AnyTimestamps) -> None:
        chained, writers = self._chained.get(tag, ()), self._writers.get(tag, ())
        last = -1 if writers else len(chained) - 1
        for place, operator in enumerate(chained):
            given = values if place == last or self._shares_objects else apart(values)
            operator.receive(given, timestamps, None)
        for writer in writers:
            writer.write(values, timestamps)

    def emit_watermark(self, watermark: int) -> None:
        """Emit a watermark on every output."""
        for operator in self._all_chained:
            operator.on_watermark(watermark)
        payload = rows.encode_number(watermark)
        for writer in self._all_writers:
            writer.control(rows.WATERMARK, payload)

    def emit_status(self, is_idle: bool) -> None:
        """Say that nothing is to be expected for now, or that there is again."""
        for operator in self._all_chained:
            operator.on_status(is_idle)
        payload = rows.IDLE if is_idle else rows.ACTIVE
        for writer in self._all_writers:
            writer.control(rows.STATUS, payload)

    def emit_end(self) -> None:
        """Say that nothing will come any more."""
        for operator in self._all_chained:
            operator.on_end()
        for writer in self._all_writers:
            writer.control(rows.END, b"")


def apart(values: Values) -> Values:
    """The same records as objects of their own."""
    return values.apart() if isinstance(values, ColumnBlock) else own_copies(values)
