"""TO_CHANGELOG and FROM_CHANGELOG: `FROM_CHANGELOG(input => TABLE t, op => DESCRIPTOR(c), op_mapping => MAP[...])`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from penstock.table.algebra.changelog_nodes import FromChangelog, ToChangelog
from penstock.table.algebra.plan_node import PlanNode
from penstock.table.sql.nodes import DefaultArgument, MapConstructor, TableArgument

if TYPE_CHECKING:
    from penstock.table.binder.relations import RelationBinder

__all__ = ["CHANGELOG_FUNCTIONS", "bind_changelog_function"]

CHANGELOG_FUNCTIONS = ("TO_CHANGELOG", "FROM_CHANGELOG")
PARAMETERS = ("INPUT", "OP", "OP_MAPPING")
KINDS = ("INSERT", "UPDATE_BEFORE", "UPDATE_AFTER", "DELETE")


def bind_changelog_function(relations: RelationBinder, name: str, call: exp.Expr) -> PlanNode:
    """The plan of the function over its table."""
    given = _by_parameter(relations, name, call)
    problems = relations.session.problems
    if not isinstance(given.get("INPUT"), TableArgument):
        raise problems.at(call, f"{name} needs an argument input => TABLE t")
    if given["INPUT"].args.get("partition_by"):
        raise problems.at(call, f"{name} with PARTITION BY is not supported; leave it out")
    source, _ = relations.relation(given["INPUT"])
    column = given["OP"].expressions[0].name if "OP" in given else "op"
    pairs = _mapping(relations, call, given.get("OP_MAPPING"))
    if name == "TO_CHANGELOG":
        return ToChangelog(source, column, _codes(relations, call, pairs))
    if column not in source.names:
        raise problems.at(call, f"FROM_CHANGELOG: there is no column '{column}' that says what a row does")
    return FromChangelog(source, source.names.index(column), _kinds(relations, call, pairs))


def _by_parameter(relations: RelationBinder, name: str, call: exp.Expr) -> dict[str, exp.Expr]:
    given: dict[str, exp.Expr] = {}
    for position, argument in enumerate(call.expressions):
        is_named = isinstance(argument, exp.Kwarg)
        parameter = argument.this.name.upper() if is_named else PARAMETERS[min(position, len(PARAMETERS) - 1)]
        if parameter not in PARAMETERS:
            raise relations.session.problems.at(
                argument, f"{name} with {parameter.lower()} is not supported; its parameters are input, op, op_mapping"
            )
        value = argument.expression if is_named else argument
        if not isinstance(value, DefaultArgument):
            given[parameter] = value
    return given


def _mapping(relations: RelationBinder, call: exp.Expr, given: exp.Expr | None) -> list[tuple[str, str]] | None:
    """Single keys and their values: a key may be several with commas between."""
    if given is None:
        return None
    if not isinstance(given, MapConstructor) or not all(isinstance(each, exp.Literal) for each in given.expressions):
        raise relations.session.problems.at(call, "op_mapping must be a MAP of texts")
    texts = [each.name for each in given.expressions]
    pairs = [(key.strip(), code) for keys, code in zip(texts[::2], texts[1::2], strict=True) for key in keys.split(",")]
    seen = [key for key, _ in pairs]
    twice = next((key for key in seen if seen.count(key) > 1), None)
    if twice is not None:
        raise relations.session.problems.at(call, f"Duplicate change operation: '{twice}' is in op_mapping twice")
    return pairs


def _kind(relations: RelationBinder, call: exp.Expr, word: str) -> int:
    if word not in KINDS:
        raise relations.session.problems.at(
            call, f"Unknown change operation: '{word}' in op_mapping; there are {', '.join(KINDS)}"
        )
    return KINDS.index(word)


def _codes(relations: RelationBinder, call: exp.Expr, pairs: list[tuple[str, str]] | None) -> tuple[str | None, ...]:
    if pairs is None:
        return KINDS
    codes: list[str | None] = [None] * len(KINDS)
    for word, code in pairs:
        codes[_kind(relations, call, word)] = code
    return tuple(codes)


def _kinds(
    relations: RelationBinder, call: exp.Expr, pairs: list[tuple[str, str]] | None
) -> tuple[tuple[str, int], ...]:
    if pairs is None:
        return tuple([(word, kind) for kind, word in enumerate(KINDS)])
    return tuple([(code, _kind(relations, call, word)) for code, word in pairs])
