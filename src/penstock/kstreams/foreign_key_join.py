"""The join of two tables by a foreign key: subscriptions go to the foreign key's task, answers come back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.errors import StreamsError
from penstock.kstreams.functions import checked_function, value_mapper
from penstock.kstreams.options import Materialized, TableJoined
from penstock.kstreams.topology import Topology
from penstock.runtime.operators.kstreams.foreign_key_joins import (
    ForeignTableUpdate,
    ResponseJoin,
    SubscriptionLookup,
    SubscriptionReceive,
    SubscriptionSend,
)
from penstock.runtime.operators.kstreams.tables import TableSource
from penstock.vocabulary.kstreams.stores import StoreBuilder, StoreSupplier

if TYPE_CHECKING:
    from penstock.kstreams.table import KTable

_FK = "KTABLE-FK-JOIN-"
_REGISTRATION = _FK + "SUBSCRIPTION-REGISTRATION-"
_RESPONSE = _FK + "SUBSCRIPTION-RESPONSE-"
_PROCESSOR = _FK + "SUBSCRIPTION-PROCESSOR-"
_RESOLVER = _FK + "SUBSCRIPTION-RESPONSE-RESOLVER-PROCESSOR-"
_OUTPUT = _FK + "OUTPUT-"
_SINK, _SOURCE = "KTABLE-SINK-", "KTABLE-SOURCE-"
_STORE = _FK + "SUBSCRIPTION-STATE-STORE-"


def _to_row(topic: str, key: Any, response: Any, partitions: int) -> int:
    """Answers go back to the partition that the subscription came from."""
    return int(response[2])


class _Names:
    """Names of the nodes, stores and topics, taken from the counter in the order of Kafka Streams."""

    def __init__(self, this: KTable, options: TableJoined, materialized: Materialized) -> None:
        names, given = this.construction.names, options.name
        self.registration_topic = names.with_suffix(given, "-subscription-registration", _REGISTRATION) + "-topic"
        self.send = names.with_suffix(given, "-subscription-registration-processor", _REGISTRATION)
        self.registration_sink = names.with_suffix(given, "-subscription-registration-sink", _SINK)
        self.registration_source = names.with_suffix(given, "-subscription-registration-source", _SOURCE)
        self.store = names.with_suffix(given, "-subscription-store", _STORE)
        self.receive = names.with_suffix(given, "-subscription-receive", _PROCESSOR)
        self.lookup = names.with_suffix(given, "-subscription-join-foreign", _PROCESSOR)
        self.update = names.with_suffix(given, "-foreign-join-subscription", _PROCESSOR)
        self.response_topic = names.with_suffix(given, "-subscription-response", _RESPONSE) + "-topic"
        self.response_sink = names.with_suffix(given, "-subscription-response-sink", _SINK)
        self.response_source = names.with_suffix(given, "-subscription-response-source", _SOURCE)
        self.resolver = names.with_suffix(given, "-subscription-response-resolver", _RESOLVER)
        self.result = names.with_suffix(given, "-result", _OUTPUT)
        self.result_store = materialized.name or names.store(_OUTPUT)


def join_by_foreign_key(
    this: KTable,
    other: KTable,
    foreign_key_extractor: Callable[..., Any],
    joiner: Callable[[Any, Any], Any],
    table_joined: TableJoined | Materialized | None = None,
    materialized: Materialized | None = None,
    *,
    is_left: bool,
    method: str,
) -> KTable:
    """Join rows of `this` with the row of `other` whose key is `foreign_key_extractor(value)`."""
    if isinstance(table_joined, Materialized):
        table_joined, materialized = None, table_joined
    if table_joined is not None and not isinstance(table_joined, TableJoined):
        raise StreamsError(f"{method}() by a foreign key takes a TableJoined, got {table_joined!r}.")
    options, kept = table_joined or TableJoined(), materialized or Materialized()
    other.processor.enable_sending_old_values(force=True)
    this.processor.enable_sending_old_values(force=True)
    extractor, checked = value_mapper(foreign_key_extractor, method), checked_function(joiner, method)
    names = _Names(this, options, kept)
    _add_request(this, other, names, options, SubscriptionSend(extractor, this.value_serde, is_left=is_left))
    responder = options.partitioner or _to_row
    construction = this.construction
    construction.add_topic(
        names.response_topic,
        names.response_sink,
        names.response_source,
        [names.lookup, names.update],
        this.key_serde,
        responder,
    )
    row_stores = this.processor.store_names()
    resolver = ResponseJoin(this.processor, checked, this.value_serde, is_left=is_left)
    construction.add_processor(names.resolver, resolver, [names.response_source], lambda: row_stores)
    return _result(this, names, kept)


def _add_request(this: KTable, other: KTable, names: _Names, options: TableJoined, send: SubscriptionSend) -> None:
    construction = this.construction
    construction.add_processor(names.send, send, [this.name])
    construction.add_topic(
        names.registration_topic,
        names.registration_sink,
        names.registration_source,
        [names.send],
        other.key_serde,
        options.other_partitioner,
    )
    subscriptions = StoreBuilder(StoreSupplier(names.store, "subscriptions"), this.key_serde)
    construction.add_store(subscriptions)
    foreign_stores = other.processor.store_names()
    receive, lookup = SubscriptionReceive(names.store), SubscriptionLookup(other.processor)
    construction.add_processor(names.receive, receive, [names.registration_source], lambda: [names.store])
    construction.add_processor(names.lookup, lookup, [names.receive], lambda: foreign_stores)
    update = ForeignTableUpdate(names.store)
    construction.add_processor(names.update, update, [other.name], lambda: [names.store])


def _result(this: KTable, names: _Names, options: Materialized) -> KTable:
    """The answers make a table, in a store if somebody needs one."""
    construction = this.construction
    processor = TableSource(names.result_store, options.name)
    key_serde = options.key_serde or this.key_serde
    supplier = StoreSupplier(names.result_store, "key_value", True)
    construction.add_processor(names.result, processor, [names.resolver])
    builder = StoreBuilder(supplier, key_serde, options.value_serde)

    def write(topology: Topology) -> None:
        if processor.queryable_name is not None:
            topology.add_state_store(builder, names.result)

    construction.add(write)
    sources = this.source_nodes | {names.response_source}
    return type(this)(construction, names.result, processor, key_serde, options.value_serde, source_nodes=sources)
