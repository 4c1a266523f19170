"""Operators of joins FOR SYSTEM_TIME AS OF: with versions by row time, with lookups by processing time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.datastream.stream import DataStream
from penstock.errors import SqlValidationError
from penstock.runtime.lookups import Lookup
from penstock.runtime.operators import table as operators
from penstock.table.algebra.join_nodes import JoinKind
from penstock.table.algebra.temporal_nodes import LookupJoin, TemporalJoin
from penstock.table.binder.conditions import conjunction
from penstock.table.changelog.modes import ChangelogMode
from penstock.table.connectors.contract import LookupOffer, LookupRequest
from penstock.table.connectors.retried_lookups import RetriedLookup
from penstock.table.metadata.keys import smallest, upsert_keys
from penstock.table.rules.lookup_access import LookupAccess, lookup_access
from penstock.vocabulary.sql.logical_types import row_of
from penstock.vocabulary.sql.row_kinds import DELETE, UPDATE_AFTER
from penstock.vocabulary.sql.typed_expressions import FieldRef

if TYPE_CHECKING:
    from penstock.table.translation.translator import Translator

__all__ = ["lookup_join", "temporal_join"]


def temporal_join(translator: Translator, node: TemporalJoin) -> DataStream:
    """A join with versions."""
    operator = operators.TemporalJoinOperator(
        join=operators.JoinKind(node.kind.value),
        left=operators.JoinSide(node.left.types, node.left_keys),
        right=operators.JoinSide(node.right.types, node.right_keys),
        left_time=node.left_time,
        right_time=node.right_time,
        condition=node.condition,
        filter_nulls=tuple([not each for each in node.null_safe]),
        state_ttl_ms=translator.settings.state_ttl_ms,
        zone=translator.settings.zone,
    )
    return translator.two_inputs(node, operator)


def lookup_join(translator: Translator, node: LookupJoin) -> DataStream:
    """A join with what a table outside has."""
    access = lookup_access(node)
    offer = _offer(access)
    terms = _terms(translator, node, access, offer)
    keeps = translator.settings.resolves_updates and _takes_back(translator.mode(node))
    if offer.asynchronous is not None and _is_asynchronous(node, offer) and not keeps:
        return _asynchronous(translator, node, offer, terms)
    lookup = offer.blocking
    if lookup is None:
        raise SqlValidationError(
            f"Table {'.'.join(access.scan.table.path)} can only be looked up asynchronously, and rows that change "
            f"cannot be with TRY_RESOLVE; set 'table.optimizer.non-deterministic-update.strategy' to IGNORE. In "
            f"{node.describe()}"
        )
    if node.options.max_attempts:
        lookup = RetriedLookup(lookup, node.options.max_attempts, node.options.delay_ms)
    if keeps:
        return _materialized(translator, node, lookup, terms, offer)
    operator = operators.LookupJoinOperator(lookup=lookup, terms=terms, cache=offer.cache)
    return translator.then(node, operator, _edges(translator, node))


def _takes_back(mode: ChangelogMode) -> bool:
    """Whether rows are taken back by all their fields; a consumer that overwrites by key needs only that."""
    return mode.has_update_before or (DELETE in mode.kinds and UPDATE_AFTER not in mode.kinds)


def _offer(access: LookupAccess) -> LookupOffer:
    columns = [access.scan.table.source_columns[each] for each in access.scan.columns]
    metadata = [each.name for each in columns if each.metadata_key is not None]
    if metadata:
        raise SqlValidationError(
            f"Table {'.'.join(access.scan.table.path)}: the metadata column '{metadata[0]}' cannot be looked up; leave "
            f"it out of the query."
        )
    row_type = row_of(tuple([each.name for each in columns]), tuple([each.type.as_plain_time() for each in columns]))
    offer: LookupOffer = access.scan.source.lookup(LookupRequest(row_type, access.key_columns, access.filters))
    return offer


def _terms(translator: Translator, node: LookupJoin, access: LookupAccess, offer: LookupOffer) -> operators.LookupTerms:
    left = [each for each in access.filters if not any(each is taken for taken in offer.taken)]
    places = [each.index if isinstance(each, FieldRef) else -1 for each in access.projections]
    is_plain = places == list(range(len(access.scan.types)))
    return operators.LookupTerms(
        key_fields=access.left_keys,
        constants=tuple([each.value for each in access.constants]),
        width=len(access.projections),
        is_left=node.kind is JoinKind.LEFT,
        before=conjunction(access.before),
        found_condition=conjunction(left),
        projections=None if is_plain else access.projections,
        condition=conjunction(access.conditions),
        zone=translator.settings.zone,
    )


def _is_asynchronous(node: LookupJoin, offer: LookupOffer) -> bool:
    """A hint is a wish: without the other way there is no choice. As in Flink, asynchronous calls come first."""
    return node.options.is_asynchronous is not False or offer.blocking is None


def _edges(translator: Translator, node: LookupJoin) -> Any:
    stream = translator.stream(node.left)
    return translator.keyed_edges(stream, node.left_keys) if node.options.shuffles else stream.edges


def _asynchronous(
    translator: Translator, node: LookupJoin, offer: LookupOffer, terms: operators.LookupTerms
) -> DataStream:
    assert offer.asynchronous is not None
    options, settings = node.options, translator.settings
    unordered = settings.lookup_allows_unordered if options.allows_unordered is None else options.allows_unordered
    operator = operators.AsyncLookupJoinOperator(
        lookup=offer.asynchronous,
        terms=terms,
        cache=offer.cache,
        timeout_ms=options.timeout_ms or settings.lookup_timeout_ms,
        capacity=options.capacity or settings.lookup_capacity,
        # Changes of a row must not overtake each other, whatever was asked for.
        is_ordered=not unordered or translator.has_changes(node.left),
        max_attempts=options.max_attempts,
        delay_ms=options.delay_ms,
    )
    return translator.then(node, operator, _edges(translator, node))


def _materialized(
    translator: Translator, node: LookupJoin, lookup: Lookup, terms: operators.LookupTerms, offer: LookupOffer
) -> DataStream:
    key = smallest(upsert_keys(node.left)) or tuple(range(len(node.left.types)))
    operator = operators.MaterializedLookupJoinOperator(
        lookup=lookup,
        terms=terms,
        types=node.right.types,
        cache=offer.cache,
        state_ttl_ms=translator.settings.state_ttl_ms,
    )
    return translator.keyed(node, operator, node.left, key)
