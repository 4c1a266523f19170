"""Fields of a stream that become columns: by name or by position, with other names and attributes of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from penstock.errors import SqlError
from penstock.table.binder.problems import near_names
from penstock.table.catalog.columns import (
    Column,
    ComputedColumn,
    MetadataColumn,
    PhysicalColumn,
    TableSchema,
    WatermarkSpec,
)
from penstock.table.expression_methods.term import Term
from penstock.vocabulary.sql.logical_types import Kind, LogicalType

__all__ = ["ChosenFields", "chosen_fields"]

_ROWTIME, _PROCTIME = "$rowtime", "$proctime"
_TIMES = {"$WINDOW_ROWTIME": _ROWTIME, "$WINDOW_PROCTIME": _PROCTIME}
_TIME_KINDS = (Kind.BIGINT, Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ)


@dataclass(frozen=True)
class _Asked:
    """One expression: the field it names, what it is called, and which attribute of time it is, if any."""

    field: str
    name: str
    time: str | None = None
    is_alias: bool = False


@dataclass(frozen=True)
class ChosenFields:
    """Columns of a table of a stream: pairs of an inner name and the name to be shown."""

    physical: tuple[PhysicalColumn, ...]
    choices: tuple[tuple[str, str], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names that are shown."""
        return tuple([name for _, name in self.choices])

    @property
    def renames_all(self) -> bool:
        """Whether all fields are there in their order, and nothing else."""
        return [field for field, _ in self.choices] == [each.name for each in self.physical]

    def schema(self) -> TableSchema:
        """The fields of the stream, and the attributes of time that are asked for."""
        asked = {field for field, _ in self.choices}
        columns: list[Column] = list(self.physical)
        if _ROWTIME in asked:
            columns.append(MetadataColumn(_ROWTIME, LogicalType(Kind.TIMESTAMP, parameters=(3,)), "rowtime", True))
        if _PROCTIME in asked:
            columns.append(ComputedColumn(_PROCTIME, "PROCTIME()"))
        watermark = WatermarkSpec(_ROWTIME, "SOURCE_WATERMARK()") if _ROWTIME in asked else None
        return TableSchema(tuple(columns), watermark)


def chosen_fields(given: Sequence[Any], physical: tuple[PhysicalColumn, ...]) -> ChosenFields:
    """Return the columns that expressions choose of the fields of a stream, as Flink does.

    They are taken by position if none of them names a field; `f.alias("a")` names one.
    """
    asked = [_asked(each) for each in given]
    known = [each.name for each in physical]
    by_position = not any(each.is_alias or (each.time is None and each.field in known) for each in asked)
    choose = _by_position if by_position else _by_name
    choices = tuple([(choose(place, each, physical), each.name) for place, each in enumerate(asked)])
    names = [name for _, name in choices]
    for time in (_ROWTIME, _PROCTIME):
        if [field for field, _ in choices].count(time) > 1:
            raise SqlError(f"from_data_stream: there is more than one .{time[1:]}; a table has one of each kind.")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise SqlError(f"from_data_stream: two columns are called '{twice}'; give one of them an alias.")
    return ChosenFields(physical, choices)


def _asked(given: Any) -> _Asked:
    if isinstance(given, str):
        return _Asked(given, given)
    node = given._node if isinstance(given, Term) else None
    name = None
    if isinstance(node, exp.Alias) and not node.args.get("more"):
        node, name = node.this, node.alias
    time = _TIMES.get(str(node.this)) if isinstance(node, exp.Anonymous) else None
    if time is not None and isinstance(node, exp.Anonymous):
        node = node.expressions[0]
    if not isinstance(node, exp.Column):
        raise SqlError(
            f"from_data_stream: {given} is no field; it takes col('name') with .rowtime, .proctime or .alias('other'). "
            f"Compute other columns with select() afterwards, or declare them in a Schema."
        )
    return _Asked(node.name, name or node.name, time, name is not None and time is None)


def _by_name(place: int, asked: _Asked, physical: tuple[PhysicalColumn, ...]) -> str:
    found = {each.name: each for each in physical}
    if asked.time is not None:
        if asked.field in found:
            _check_time(asked, found[asked.field])
        return asked.time
    if asked.field not in found:
        raise SqlError(
            f"from_data_stream: the stream has no field '{asked.field}'; it has {', '.join(found)}."
            f"{near_names(asked.field, tuple(found))}"
        )
    return asked.field


def _by_position(place: int, asked: _Asked, physical: tuple[PhysicalColumn, ...]) -> str:
    if asked.time == _PROCTIME and place < len(physical):
        raise SqlError(
            f"from_data_stream: '{asked.name}' stands for field '{physical[place].name}', which a .proctime cannot "
            f"replace; put it behind the fields, or name the fields of the stream."
        )
    if asked.time is not None:
        if place < len(physical):
            _check_time(asked, physical[place])
        return asked.time
    if place >= len(physical):
        known = ", ".join([each.name for each in physical])
        raise SqlError(f"from_data_stream: '{asked.name}' is one name too many; the stream has the fields {known}.")
    return physical[place].name


def _check_time(asked: _Asked, column: PhysicalColumn) -> None:
    if asked.time == _ROWTIME and column.type.kind not in _TIME_KINDS:
        raise SqlError(
            f"from_data_stream: .rowtime replaces field '{column.name}', which is {column.type} and no time; it takes "
            f"the place of a BIGINT or TIMESTAMP, or a name that the stream does not have."
        )
