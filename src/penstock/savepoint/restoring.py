"""From the state of another job to the first version of a new one: keyed rows dealt out, snapshots, event time, output.

The rows are brought over by tasks, one for each new subtask; who runs them is the engine.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

from penstock.checkpoint import CheckpointDirectory, Seal
from penstock.checkpoint.seal import Frames
from penstock.common.constants import MIN_WATERMARK
from penstock.connectors.sink import SinkContext
from penstock.graph.plan import ChainedOperator, JobPlan, Vertex
from penstock.keys.groups import group_range
from penstock.runtime.operators import PartitionedSourceOperator, SinkOperator
from penstock.runtime.operators.watermark import TimingOperator
from penstock.runtime.report import SubtaskEntry, encode_inline
from penstock.runtime.source_tasks import Offset
from penstock.runtime.timestamps import active_again
from penstock.runtime.valve import restored_valves
from penstock.savepoint.matching import check_kind, check_schemas
from penstock.savepoint.origin import Origin
from penstock.savepoint.retained import FIRST_VERSION, own_part
from penstock.savepoint.row_sources import RowSource
from penstock.savepoint.writing import with_own_part, writer_states
from penstock.state.declarations import Declared
from penstock.state.files import write_entries
from penstock.state.operator_state import rescaled
from penstock.state.portable import SCHEMA_KIND, Entry, PortableRow, imported_entries, is_declaration, written_in
from penstock.state.versions import EMPTY, StateFile, StateVersion

_DUE_AT_ONCE = 0


@dataclass(frozen=True)
class OperatorOrder:
    """The rows that one operator of a vertex gets: its place in the vertex, and where its rows may be."""

    index: int
    uid: str
    name: str
    sources: tuple[RowSource, ...]


@dataclass(frozen=True)
class RestoreOrder:
    """The keyed state that one new subtask begins with."""

    place: str
    checkpoint_uri: str
    vertex_id: int
    vertex_uid: str
    subtask: int
    groups: range
    operators: tuple[OperatorOrder, ...]


def restore_state(order: RestoreOrder, declared: Declared) -> StateVersion:
    """Carry out an order; fit to run in any process that reaches both places.

    Refuses states that are of another kind in this job, or of a type that cannot read their rows.
    """
    entries = chain.from_iterable(_entries(order, operator, declared) for operator in order.operators)
    first = next(entries, None)
    if first is None:
        return EMPTY
    directory = CheckpointDirectory(order.checkpoint_uri)
    version_id = uuid.uuid4().hex
    name = f"{version_id}.snapshot"
    path = f"{directory.state_path(order.vertex_uid, order.subtask)}/{name}"
    written = write_entries(directory.filesystem, path, chain([first], entries))
    return StateVersion(version_id, (StateFile(name, True, written.bytes, written.entries),))


def _entries(order: RestoreOrder, operator: OperatorOrder, declared: Declared) -> Iterator[Entry]:
    wanted = declared.get(operator.uid, {})
    who = f"operator {operator.name!r} (uid {operator.uid!r})"

    def checked(row: PortableRow) -> PortableRow:
        if row.key_group is None and row.state in wanted:
            if is_declaration(row):
                check_kind(who, order.place, row.state, row.kind, wanted[row.state])
            elif row.kind == SCHEMA_KIND:
                check_schemas(who, order.place, row.state, written_in(row), wanted[row.state])
        return row

    rows = chain.from_iterable(source.rows(order.groups) for source in operator.sources)
    return imported_entries(map(checked, rows), operator.index)


RunRestores = Callable[[list[RestoreOrder]], list[StateVersion]]


class Restoration:
    """Makes the first version of a job; to be used once `check_match` has found nothing against it."""

    def __init__(self, origin: Origin, plan: JobPlan, directory: CheckpointDirectory) -> None:
        self._origin = origin
        self._plan = plan
        self._directory = directory
        self._known = origin.manifest.operators

    def first_seal(self, job_id: str, run: RunRestores, offset: Offset, frames: Frames | None = None) -> Seal:
        """Bring everything over; the seal that is returned, once written, makes it final."""
        orders = self._orders()
        states = {(o.vertex_uid, o.subtask): state for o, state in zip(orders, run(orders), strict=True)}
        seal = Seal(FIRST_VERSION, offset=offset, frames=frames or {})
        for vertex in self._vertices():
            for subtask, inline in enumerate(self._inlines(vertex)):
                if inline is not None:
                    state = states.get((vertex.uid, subtask), EMPTY)
                    seal.entries[vertex.uid, subtask] = self._entry(vertex, subtask, state, inline)
        # Last, because it leaves files outside of the checkpoint directory.
        for vertex in self._vertices():
            for chained in vertex.operators:
                published = self._output_of(chained, job_id)
                if published:
                    seal.committables[chained.uid] = published
        return seal

    def _vertices(self) -> list[Vertex]:
        return [vertex for vertex in self._plan.vertices if not vertex.is_driver]

    def _orders(self) -> list[RestoreOrder]:
        orders = [
            self._order(vertex, subtask)
            for vertex in self._vertices()
            if any(chained.operator.is_keyed and chained.uid in self._known for chained in vertex.operators)
            for subtask in range(vertex.parallelism)
        ]
        return [order for order in orders if order.operators]

    def _order(self, vertex: Vertex, subtask: int) -> RestoreOrder:
        groups = group_range(subtask, vertex.parallelism, vertex.max_parallelism)
        operators = (
            OperatorOrder(index, each.uid, each.name, tuple(self._origin.row_sources(each.uid, groups)))
            for index, each in enumerate(vertex.operators)
            if each.operator.is_keyed and each.uid in self._known
        )
        return RestoreOrder(
            self._origin.place,
            self._directory.uri,
            vertex.id,
            vertex.uid,
            subtask,
            groups,
            tuple(each for each in operators if each.sources),
        )

    def _inlines(self, vertex: Vertex) -> list[dict[str, Any] | None]:
        """For each subtask, what is not in rows; None where none of its operators was there before."""
        count = 1 if vertex.is_ephemeral else vertex.parallelism
        known = [chained for chained in vertex.operators if chained.uid in self._known]
        if not known:
            return [None] * count
        dealt = {chained.uid: self._dealt_out(chained, count) for chained in known}
        return [
            {
                "operators": {uid: each[subtask] for uid, each in dealt.items()},
                "watermarks": {uid: self._known[uid].watermark_of(subtask, count) for uid in dealt},
                "schemas": {uid: self._known[uid].schemas for uid in dealt if self._known[uid].schemas},
                "layouts": {uid: layout for uid in dealt for layout in self._known[uid].layouts},
            }
            for subtask in range(count)
        ]

    def _dealt_out(self, chained: ChainedOperator, count: int) -> list[Any]:
        record, operator = self._known[chained.uid], chained.operator
        snapshots = self._origin.snapshots(chained.uid)
        if isinstance(operator, PartitionedSourceOperator):
            partitions = self._origin.manifest.partitions.get(chained.uid, {})
            return operator.restored_states(snapshots, partitions, count)
        if isinstance(operator, SinkOperator):
            own = writer_states(operator.sink, snapshots, count)
        elif isinstance(operator, TimingOperator):
            snapshots = [
                None if each is None else with_own_part(each, active_again(own_part(each))) for each in snapshots
            ]
        shares = snapshots if len(snapshots) == count else rescaled(snapshots, count, record.slowest())
        if isinstance(operator, SinkOperator):
            return [with_own_part(each, mine) for each, mine in zip(shares, own, strict=True)]
        return shares

    def _entry(self, vertex: Vertex, subtask: int, state: StateVersion, inline: dict[str, Any]) -> SubtaskEntry:
        watermark = inline["watermarks"].get(vertex.operators[0].uid, MIN_WATERMARK)
        valves = restored_valves(vertex.inputs, subtask, watermark)
        kept = {each.uid for each in vertex.operators if not each.operator.forgets_watermark}
        inline = {**inline, "watermarks": {uid: at for uid, at in inline["watermarks"].items() if uid in kept}}
        return SubtaskEntry(
            state=state,
            inline=encode_inline(valves=[valve.to_plain() for valve in valves] or None, **inline),
            # Each subtask runs once without waiting for data, and says then when it wants to run next.
            deadline=None if vertex.is_source else _DUE_AT_ONCE,
            watermark=watermark,
        )

    def _output_of(self, chained: ChainedOperator, job_id: str) -> list[Any]:
        if not isinstance(chained.operator, SinkOperator) or chained.uid not in self._known:
            return []
        sink = chained.operator.sink
        context = SinkContext(job_id, chained.uid, chained.name, 0, 1, lambda: 0)
        files = self._origin.unfinished_files(chained.uid, chained.name, sink)
        carried = [sink.publication(context, number, file) for number, file in enumerate(files)]
        return [*self._origin.committables(chained.uid), *carried]
