"""The windows of GROUP BY in the legacy syntax: `GROUP BY TUMBLE(ts, INTERVAL '1' HOUR)` and `TUMBLE_START(...)`."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from penstock.errors import PenstockError
from penstock.table.binder.expressions import ExpressionBinder
from penstock.table.binder.function_calls import function_name
from penstock.vocabulary.sql.logical_types import Kind, TimeAttribute
from penstock.vocabulary.sql.typed_expressions import FieldRef, Literal, TypedExpression
from penstock.vocabulary.sql.windows import WindowKind, WindowSpec

__all__ = ["GROUP_WINDOWS", "GroupWindow", "as_time", "interval_millis", "property_of", "window_zone"]

GROUP_WINDOWS = ("TUMBLE", "HOP", "SESSION")
PROPERTIES = {"START": "start", "END": "end", "ROWTIME": "rowtime", "PROCTIME": "proctime"}


@dataclass(frozen=True)
class GroupWindow:
    """A window over a time attribute."""

    spec: WindowSpec
    time: FieldRef

    @property
    def time_property(self) -> str:
        """What its time attribute is called among the properties."""
        return "rowtime" if self.time.type.time_attribute is TimeAttribute.ROWTIME else "proctime"

    @staticmethod
    def of(node: exp.Expr, binder: ExpressionBinder) -> GroupWindow:
        """The window of a call."""
        name = function_name(node)
        first, *lengths = node.expressions
        time = as_time(binder.bind(first), binder)
        if not isinstance(time, FieldRef) or time.type.time_attribute is None:
            raise binder.session.problems.at(
                node,
                f"{name} of GROUP BY needs a time attribute, but this is {time.type}; declare a WATERMARK for the "
                f"column, or use PROCTIME()",
            )
        millis = [interval_millis(each, binder) for each in lengths]
        wanted = 2 if name == "HOP" else 1
        if len(millis) not in (wanted, wanted + (name != "SESSION")):
            raise binder.session.problems.at(node, f"{name} takes a time attribute and {wanted} INTERVAL(s)")
        offset = millis[wanted] if len(millis) > wanted else 0
        size, slide = (millis[1], millis[0]) if name == "HOP" else (millis[0], 0)
        return GroupWindow(WindowSpec(WindowKind(name), size, slide, offset, window_zone(time, binder)), time)


def as_time(bound: TypedExpression, binder: ExpressionBinder) -> TypedExpression:
    """A column as a time attribute: in batch mode any timestamp is one, since all rows are there."""
    is_time = bound.type.kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ) and bound.type.precision <= 3
    if (
        bound.type.time_attribute is None
        and is_time
        and isinstance(bound, FieldRef)
        and binder.session.context.is_batch
    ):
        return FieldRef(bound.index, replace(bound.type, time_attribute=TimeAttribute.ROWTIME))
    return bound


def window_zone(time: TypedExpression, binder: ExpressionBinder) -> str | None:
    """The zone whose clock windows follow: that of the session for times that are moments."""
    return binder.session.context.zone if time.type.kind is Kind.TIMESTAMP_LTZ else None


def interval_millis(node: exp.Expr, binder: ExpressionBinder) -> int:
    """A constant length in milliseconds."""
    bound = binder.bind(node.expression if isinstance(node, exp.Kwarg) else node)
    if not isinstance(bound, Literal) or bound.type.kind is not Kind.INTERVAL_MILLIS:
        raise binder.session.problems.at(node, "A window needs a constant INTERVAL of days to seconds")
    millis: int = bound.value
    return millis


def property_of(node: exp.Expr, name: str, window: GroupWindow, binder: ExpressionBinder) -> str | None:
    """Which property of the window an auxiliary function asks for; None if it is none."""
    kind, _, word = name.partition("_")
    if kind not in GROUP_WINDOWS or word not in PROPERTIES:
        return None
    call = exp.Anonymous(this=kind, expressions=[each.copy() for each in node.expressions])
    try:
        same = GroupWindow.of(call, ExpressionBinder(binder.session, binder.scope)) == window
    except PenstockError:
        same = False
    if not same:
        raise binder.session.problems.at(
            node, f"{name} needs the same arguments as {window.spec.kind.value} of GROUP BY"
        )
    return PROPERTIES[word]
