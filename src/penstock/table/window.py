"""Windows of the Table API: `Tumble`, `Slide` and `Session` for groups, `Over` for the rows around each row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from penstock.errors import SqlError
from penstock.table.expression import Expression
from penstock.table.expression_methods.term import Term
from penstock.table.expressions import CURRENT_RANGE, CURRENT_ROW, UNBOUNDED_RANGE, col
from penstock.table.sql.nodes import BoundValue
from penstock.vocabulary.sql.logical_types import Kind

__all__ = [
    "GroupWindow",
    "Over",
    "OverWindow",
    "OverWindowPartitioned",
    "OverWindowPartitionedOrdered",
    "OverWindowPartitionedOrderedPreceding",
    "Session",
    "SessionWithGap",
    "SessionWithGapOnTime",
    "Slide",
    "SlideWithSize",
    "SlideWithSizeAndSlide",
    "SlideWithSizeAndSlideOnTime",
    "Tumble",
    "TumbleWithSize",
    "TumbleWithSizeOnTime",
]


@dataclass(frozen=True)
class GroupWindow:
    """A window with a time attribute and a name; `lengths` are those of the SQL function, in its order."""

    function: str
    lengths: tuple[Expression, ...]
    time: Expression
    name: str

    @property
    def counts_rows(self) -> bool:
        """Whether its lengths are numbers of rows."""
        return all(_is_row_count(each) for each in self.lengths)

    def row_counts(self) -> list[int]:
        """The numbers of rows."""
        return [int(each._node.args["literal"].value) for each in self.lengths]

    def node(self, suffix: str = "") -> exp.Expr:
        """The function of SQL for the window, or for a property of it."""
        arguments = [self.time._node.copy(), *[each._node.copy() for each in self.lengths]]
        return exp.Anonymous(this=self.function + suffix, expressions=arguments)


def _is_row_count(length: Expression) -> bool:
    literal = length._node.args.get("literal") if isinstance(length._node, BoundValue) else None
    return literal is not None and literal.type.kind in (Kind.BIGINT, Kind.INTEGER)


def _expression(field: Any) -> Expression:
    return field if isinstance(field, Expression) else col(field)


class Tumble:
    """Windows of a fixed length, one after another: `Tumble.over(lit(10).minutes).on(col("rowtime")).alias("w")`."""

    @classmethod
    def over(cls, size: Expression) -> TumbleWithSize:
        """The length, of time or `row_interval`."""
        return TumbleWithSize(size)


@dataclass(frozen=True)
class TumbleWithSize:
    """A tumbling window without a time attribute yet."""

    size: Expression

    def on(self, time_field: Expression) -> TumbleWithSizeOnTime:
        """The time attribute."""
        return TumbleWithSizeOnTime(self.size, _expression(time_field))


@dataclass(frozen=True)
class TumbleWithSizeOnTime:
    """A tumbling window without a name yet."""

    size: Expression
    time: Expression

    def alias(self, alias: str) -> GroupWindow:
        """The name, by which `group_by` and `col(name).start` know it."""
        return GroupWindow("TUMBLE", (self.size,), self.time, alias)


class Session:
    """Windows that end where nothing comes for a while: `Session.with_gap(lit(5).minutes).on(...).alias("w")`."""

    @classmethod
    def with_gap(cls, gap: Expression) -> SessionWithGap:
        """How long nothing must come."""
        return SessionWithGap(gap)


@dataclass(frozen=True)
class SessionWithGap:
    """A session window without a time attribute yet."""

    gap: Expression

    def on(self, time_field: Expression) -> SessionWithGapOnTime:
        """The time attribute."""
        return SessionWithGapOnTime(self.gap, _expression(time_field))


@dataclass(frozen=True)
class SessionWithGapOnTime:
    """A session window without a name yet."""

    gap: Expression
    time: Expression

    def alias(self, alias: str) -> GroupWindow:
        """The name, by which `group_by` and `col(name).start` know it."""
        return GroupWindow("SESSION", (self.gap,), self.time, alias)


class Slide:
    """Windows of a fixed length that begin in a fixed rhythm: `Slide.over(...).every(...).on(...).alias("w")`."""

    @classmethod
    def over(cls, size: Expression) -> SlideWithSize:
        """The length, of time or `row_interval`."""
        return SlideWithSize(size)


@dataclass(frozen=True)
class SlideWithSize:
    """A sliding window without a rhythm yet."""

    size: Expression

    def every(self, slide: Expression) -> SlideWithSizeAndSlide:
        """The time from one beginning to the next."""
        return SlideWithSizeAndSlide(self.size, slide)


@dataclass(frozen=True)
class SlideWithSizeAndSlide:
    """A sliding window without a time attribute yet."""

    size: Expression
    slide: Expression

    def on(self, time_field: Expression) -> SlideWithSizeAndSlideOnTime:
        """The time attribute."""
        return SlideWithSizeAndSlideOnTime(self.size, self.slide, _expression(time_field))


@dataclass(frozen=True)
class SlideWithSizeAndSlideOnTime:
    """A sliding window without a name yet."""

    size: Expression
    slide: Expression
    time: Expression

    def alias(self, alias: str) -> GroupWindow:
        """The name, by which `group_by` and `col(name).start` know it."""
        return GroupWindow("HOP", (self.slide, self.size), self.time, alias)


@dataclass(frozen=True)
class OverWindow:
    """The rows before each row, with a name."""

    partition: tuple[Expression, ...]
    order: Expression
    first: Term
    last: Term | None
    name: str

    def node(self) -> exp.Expr:
        """The WINDOW clause of SQL."""
        order = self.order._node.copy()
        ordered = order if isinstance(order, exp.Ordered) else exp.Ordered(this=order, desc=False)
        return exp.Window(
            this=exp.to_identifier(self.name, quoted=True),
            partition_by=[each._node.copy() for each in self.partition],
            order=exp.Order(expressions=[ordered]),
            spec=self._frame(),
        )

    def _frame(self) -> exp.Expr:
        if self.last is not None and self.last._text not in (CURRENT_ROW._text, CURRENT_RANGE._text):
            raise SqlError(f"Over window '{self.name}': following must be CURRENT_ROW or CURRENT_RANGE.")
        first = self.first
        words = {"UNBOUNDED_ROW": "UNBOUNDED", "UNBOUNDED_RANGE": "UNBOUNDED"}
        words |= {"CURRENT_ROW": "CURRENT ROW", "CURRENT_RANGE": "CURRENT ROW"}
        is_word = isinstance(first._node, exp.Var)
        is_rows = first._text.endswith("_ROW") if is_word else _is_row_count(_expression(first))
        return exp.WindowSpec(
            kind="ROWS" if is_rows else "RANGE",
            start=words[first._text] if is_word else first._node.copy(),
            start_side="PRECEDING",
            end="CURRENT ROW",
        )


class Over:
    """The rows before each row: `Over.partition_by(col("k")).order_by(col("rowtime")).alias("w")`."""

    @classmethod
    def order_by(cls, order_by: Expression) -> OverWindowPartitionedOrdered:
        """The time attribute that orders the rows."""
        return OverWindowPartitionedOrdered((), _expression(order_by))

    @classmethod
    def partition_by(cls, *partition_by: Expression) -> OverWindowPartitioned:
        """The columns that divide the rows."""
        return OverWindowPartitioned(tuple(map(_expression, partition_by)))


@dataclass(frozen=True)
class OverWindowPartitioned:
    """An over window without an order yet."""

    partition: tuple[Expression, ...]

    def order_by(self, order_by: Expression) -> OverWindowPartitionedOrdered:
        """The time attribute that orders the rows."""
        return OverWindowPartitionedOrdered(self.partition, _expression(order_by))


@dataclass(frozen=True)
class OverWindowPartitionedOrdered:
    """An over window whose first row is not said yet: all rows before."""

    partition: tuple[Expression, ...]
    order: Expression

    def preceding(self, preceding: Expression) -> OverWindowPartitionedOrderedPreceding:
        """Where it begins: rows, a length of time, UNBOUNDED_ROW or UNBOUNDED_RANGE."""
        return OverWindowPartitionedOrderedPreceding(self.partition, self.order, preceding)

    def alias(self, alias: str) -> OverWindow:
        """The name, by which `over(name)` knows it."""
        return OverWindow(self.partition, self.order, UNBOUNDED_RANGE, None, alias)


@dataclass(frozen=True)
class OverWindowPartitionedOrderedPreceding:
    """An over window without a name yet."""

    partition: tuple[Expression, ...]
    order: Expression
    first: Expression
    last: Expression | None = None

    def following(self, following: Expression) -> OverWindowPartitionedOrderedPreceding:
        """Where it ends: CURRENT_ROW or CURRENT_RANGE."""
        return replace(self, last=following)

    def alias(self, alias: str) -> OverWindow:
        """The name, by which `over(name)` knows it."""
        return OverWindow(self.partition, self.order, self.first, self.last, alias)
