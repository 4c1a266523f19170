"""The join of two streams: each side is kept for a time, and meets what is kept of the other side."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.errors import StreamsError
from penstock.kstreams.functions import value_joiner
from penstock.kstreams.options import StreamJoined
from penstock.kstreams.topology import Topology
from penstock.runtime.operators.kstreams.stateless import PassThrough
from penstock.runtime.operators.kstreams.stream_joins import LEFT, RIGHT, KeepForJoin, StreamStreamJoin
from penstock.vocabulary.kstreams.stores import StoreBuilder, StoreSupplier
from penstock.vocabulary.kstreams.windows import JoinWindows

if TYPE_CHECKING:
    from penstock.kstreams.stream import KStream


class _Names:
    """Names of the nodes and stores of a join, taken from the counter in the order of Kafka Streams."""

    def __init__(self, this: KStream, options: StreamJoined, keeps: tuple[bool, bool]) -> None:
        names, given = this.construction.names, options.name
        keeps_this, keeps_other = keeps
        this_suffix = "-outer-this-join" if keeps_other else "-this-join"
        other_suffix = "-outer-other-join" if keeps_this else "-other-join"
        self.this_kept = names.with_suffix(given, "-this-windowed", "KSTREAM-WINDOWED-")
        self.other_kept = names.with_suffix(given, "-other-windowed", "KSTREAM-WINDOWED-")
        generated_this = names.processor("KSTREAM-OUTERTHIS-" if keeps_other else "KSTREAM-JOINTHIS-")
        generated_other = names.processor("KSTREAM-OUTEROTHER-" if keeps_this else "KSTREAM-JOINOTHER-")
        self.this = generated_this if given is None else given + this_suffix
        self.other = generated_other if given is None else given + other_suffix
        self.merge = names.with_suffix(given, "-merge", "KSTREAM-MERGE-")
        base = options.store_name
        self.this_store = (generated_this if base is None else base + this_suffix) + "-store"
        self.other_store = (generated_other if base is None else base + other_suffix) + "-store"
        self.unjoined = self._unjoined(base, generated_this, keeps) if keeps_this else None

    @staticmethod
    def _unjoined(base: str | None, generated_this: str, keeps: tuple[bool, bool]) -> str:
        suffix = "-outer-shared-join" if keeps[1] else "-left-shared-join"
        if base is not None:
            return f"{base}{suffix}-store"
        number = generated_this.rsplit("-", 1)[1]
        return f"KSTREAM-OUTERSHARED-{number}-store"


def join_streams(
    this: KStream,
    other: KStream,
    joiner: Callable[..., Any],
    windows: JoinWindows,
    stream_joined: StreamJoined | None = None,
    *,
    keeps: tuple[bool, bool],
    method: str,
) -> KStream:
    """Join two streams; `keeps` says for either side whether records without partner come out too."""
    if not isinstance(windows, JoinWindows):
        raise StreamsError(f"{method}() of two streams needs JoinWindows, got {windows!r}.")
    options = stream_joined or StreamJoined()
    checked = value_joiner(joiner, method)
    left_name = f"{options.name}-left" if options.name else this.name
    right_name = f"{options.name}-right" if options.name else other.name
    left = this.repartitioned_for_join(left_name, options.key_serde, options.value_serde)
    right = other.repartitioned_for_join(right_name, options.key_serde, options.other_value_serde)
    names = _Names(this, options, keeps)
    construction = this.construction
    construction.add_processor(names.this_kept, KeepForJoin(names.this_store), [left.name])
    construction.add_processor(names.other_kept, KeepForJoin(names.other_store), [right.name])

    def side(number: int) -> StreamStreamJoin:
        return StreamStreamJoin(
            side=number,
            other_store=names.other_store if number == LEFT else names.this_store,
            unjoined_store=names.unjoined,
            memory_name=f"join {names.merge}",
            windows=windows,
            joiner=checked,
            is_outer=keeps[0] if number == LEFT else keeps[1],
        )

    def write(topology: Topology) -> None:
        topology.add_dsl_processor(names.this, side(LEFT), (names.this_kept,))
        topology.add_dsl_processor(names.other, side(RIGHT), (names.other_kept,))
        topology.add_dsl_processor(names.merge, PassThrough(), (names.this, names.other))
        topology.add_state_store(_kept(names.this_store, windows, options, left), names.this_kept, names.other)
        topology.add_state_store(_kept(names.other_store, windows, options, right), names.other_kept, names.this)
        if names.unjoined is not None:
            supplier = StoreSupplier(names.unjoined, "outer_join", retention_ms=windows.size() + windows.grace_ms)
            topology.add_state_store(StoreBuilder(supplier, options.key_serde), names.this, names.other)

    construction.add(write)
    sources = left.source_nodes | right.source_nodes
    construction.note_joined(sources)
    return type(this)(construction, names.merge, options.key_serde, None, source_nodes=sources)


def _kept(name: str, windows: JoinWindows, options: StreamJoined, side: KStream) -> StoreBuilder:
    retention = windows.size() + windows.grace_ms
    supplier = StoreSupplier(name, "window", retention_ms=retention, window_size_ms=windows.size(), has_duplicates=True)
    return StoreBuilder(supplier, options.key_serde or side.key_serde)
