"""The end of a plan: what a table demands of rows, and rows kept by primary key where the changelog needs it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.datastream.stream import DataStream
from penstock.errors import SqlValidationError
from penstock.runtime.operators import table as operators
from penstock.runtime.operators.table.constraints import COLLECTIONS, SIZED
from penstock.table.algebra import nodes
from penstock.table.metadata.keys import smallest, upsert_keys
from penstock.table.order_of_changes import kept_in_order
from penstock.table.translation.settings import TableSettings
from penstock.table.translation.translator import Translator
from penstock.vocabulary.sql.logical_types import MAX_LENGTH, LogicalType, row_of

__all__ = ["translate_sink"]


def translate_sink(translator: Translator, node: nodes.Sink) -> Any:
    """Hand the rows of a plan to the connector of its table."""
    stream = translator.stream(node.input)
    stream = _constrained(translator, node, stream)
    key = node.primary_key
    if node.materializes:
        operator = operators.UpsertMaterializeOperator(
            types=node.types,
            upsert_key=smallest(upsert_keys(node.input)),
            state_ttl_ms=translator.settings.state_ttl_ms,
        )
        stream = translator.then(node, operator, translator.keyed_edges(stream, key), "materialize")
    if node.conflict == "NOTHING" and not node.materializes and not translator.has_changes(node.input):
        first = operators.DeduplicateOperator(
            types=node.types, keep_last=False, state_ttl_ms=translator.settings.state_ttl_ms
        )
        stream = translator.then(node, first, translator.keyed_edges(stream, key), "first")
    columns = node.columns
    row_type = row_of(tuple([each.name for each in columns]), tuple([each.type.as_plain_time() for each in columns]))
    metadata = tuple([each.metadata_key for each in columns if each.metadata_key is not None])
    graph = translator.environment.graph
    known = set(graph.nodes)
    consumed = node.sink.consume(stream, row_type, key, ".".join(node.table.path), metadata)
    return kept_in_order(consumed, graph, stream, set(graph.nodes) - known)


def _constrained(translator: Translator, node: nodes.Sink, stream: DataStream) -> DataStream:
    settings = translator.settings
    types = tuple([each.type.as_plain_time() for each in node.columns])
    cuts_in_collections = settings.nested_enforcer == "ROWS_AND_COLLECTIONS" and settings.length_enforcer == "TRIM_PAD"
    if cuts_in_collections and any(_is_sized_in_collection(each, False) for each in types):
        raise SqlValidationError(
            "'table.exec.sink.type-length-enforcer' = 'TRIM_PAD' cannot cut and pad values nested in collections; set "
            "'table.exec.sink.nested-constraint-enforcer' to 'ROWS', or use 'ERROR'."
        )
    if not _is_needed(settings, types, node.input.types):
        return stream
    operator = operators.ConstraintEnforcerOperator(
        names=tuple([each.name for each in node.columns]),
        types=types,
        drops_null=settings.drops_null,
        lengths=settings.length_enforcer,
        nested=settings.nested_enforcer,
    )
    return translator.then(node, operator, stream.edges, "constraints")


def _is_needed(settings: TableSettings, types: Sequence[LogicalType], given: Sequence[LogicalType]) -> bool:
    if any(not to.nullable and each.nullable for to, each in zip(types, given, strict=True)):
        return True
    if settings.nested_enforcer != "IGNORE" and any(each.parts for each in types):
        return True
    return settings.length_enforcer != "IGNORE" and any(map(_is_sized, types))


def _is_sized(declared: LogicalType) -> bool:
    return declared.kind in SIZED and declared.precision < MAX_LENGTH


def _is_sized_in_collection(declared: LogicalType, is_inside: bool) -> bool:
    if is_inside and _is_sized(declared):
        return True
    return any(_is_sized_in_collection(each, is_inside or declared.kind in COLLECTIONS) for each in declared.parts)
