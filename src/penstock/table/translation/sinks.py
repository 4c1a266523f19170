"""The end of a plan: what a table demands of rows, and rows kept by primary key where the changelog needs it."""

from __future__ import annotations

from typing import Any

from penstock.datastream.stream import DataStream
from penstock.runtime.operators import table as operators
from penstock.table.algebra import nodes
from penstock.table.metadata.keys import smallest, upsert_keys
from penstock.table.translation.translator import Translator
from penstock.vocabulary.sql.logical_types import MAX_LENGTH, Kind, row_of

__all__ = ["translate_sink"]

SIZED = (Kind.CHAR, Kind.VARCHAR, Kind.BINARY, Kind.VARBINARY)
PADDED = (Kind.CHAR, Kind.BINARY)


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
    known = set(translator.environment.graph.nodes)
    consumed = node.sink.consume(stream, row_type, key, ".".join(node.table.path), metadata)
    _keep_in_order(translator, stream, known)
    return consumed


def _keep_in_order(translator: Translator, stream: DataStream, known: set[int]) -> None:
    """Let what a connector has appended run with the parallelism of its input: changes must stay in order."""
    graph, parallelism = translator.environment.graph, translator.parallelism_after(stream.edges)
    if parallelism is None:
        return
    for each in set(graph.nodes) - known:
        if graph.nodes[each].parallelism is None and not graph.nodes[each].is_single:
            graph.change(each, parallelism=parallelism)


def _constrained(translator: Translator, node: nodes.Sink, stream: DataStream) -> DataStream:
    columns = node.columns
    settings = translator.settings
    not_null = tuple([index for index, each in enumerate(columns) if not each.type.nullable])
    lengths: tuple[tuple[int, int, bool], ...] = ()
    if settings.length_enforcer != "IGNORE":
        sized = [(index, each.type) for index, each in enumerate(columns) if each.type.kind in SIZED]
        lengths = tuple(
            [(index, each.precision, each.kind in PADDED) for index, each in sized if each.precision < MAX_LENGTH]
        )
    if not lengths and not any(node.input.types[each].nullable for each in not_null):
        return stream
    operator = operators.ConstraintEnforcerOperator(
        names=tuple([each.name for each in columns]),
        not_null=not_null,
        drops_null=settings.drops_null,
        lengths=lengths,
        cuts=settings.length_enforcer == "TRIM_PAD",
    )
    return translator.then(node, operator, stream.edges, "constraints")
