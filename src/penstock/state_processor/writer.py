"""`SavepointWriter`: changes or creates savepoints."""

from __future__ import annotations

import time
from typing import Any

from penstock.errors import CheckpointError
from penstock.savepoint.folder import SavepointOrigin
from penstock.savepoint.writing import write_part
from penstock.state_processor.assembling import PartAssembly, copy_file
from penstock.state_processor.bootstrap import StateBootstrap
from penstock.state_processor.changes import Changes, NewOperatorState
from penstock.state_processor.columns import StateColumns
from penstock.state_processor.contract import StateEngine
from penstock.state_processor.drafting import NewSavepoint, copy_orders, part_orders
from penstock.state_processor.operator_columns import KINDS, TEXTS, dealt, operator_table, with_state
from penstock.state_processor.reader import SavepointReader

_TIMERS = ""  # the place of the timers among replaced states


class SavepointWriter:
    """Changes to a savepoint, or one from nothing; nothing happens before `write`."""

    def __init__(self, changes: Changes, engine: StateEngine, reader: SavepointReader | None) -> None:
        """Use `new_savepoint` or `from_existing_savepoint`."""
        self._changes = changes
        self._engine = engine
        self._reader = reader

    @classmethod
    def new_savepoint(cls, max_parallelism: int = 128, session: Any = None) -> SavepointWriter:
        """Begin without operators. The jobs that start from it have this max parallelism."""
        from penstock.engine.spark.state_frames import SparkStates

        return cls(Changes.of_nothing(max_parallelism), SparkStates.of(session), None)

    @classmethod
    def from_existing_savepoint(cls, source: str | SavepointReader, session: Any = None) -> SavepointWriter:
        """Begin with all that a savepoint or checkpoint has; by its path, or by a reader, whose findings are used."""
        reader = source if isinstance(source, SavepointReader) else SavepointReader.read(source, session)
        return cls(Changes.of(reader.origin), reader.engine, reader)

    def with_operator(self, uid: str, bootstrap: StateBootstrap) -> SavepointWriter:
        """Add an operator whose keyed state is made from records, see `OperatorTransformation`."""
        self._changes.add_bootstrap(uid, bootstrap)
        return self

    def with_keyed_state(self, uid: str, state_name: str, frame: Any) -> SavepointWriter:
        """Replace all entries of a keyed state by those of a DataFrame with the columns that reading it gives."""
        self._changes.record(uid)
        columns = self._old().columns_of(self._changes.sources[uid], state_name)
        columns.check_exact()
        return self._with_frame(uid, state_name, columns, frame, f"with_keyed_state({uid!r}, {state_name!r})")

    def with_timers(self, uid: str, frame: Any) -> SavepointWriter:
        """Replace all timers of an operator by those of a DataFrame with the columns that `read_timers` gives."""
        self._changes.record(uid)
        columns = self._old().timer_columns(self._changes.sources[uid])
        return self._with_frame(uid, _TIMERS, columns, frame, f"with_timers({uid!r})")

    def with_operator_state(self, uid: str, state_name: str, data: Any, kind: str | None = None) -> SavepointWriter:
        """Replace, or add, a state that belongs to no key.

        `data` is a DataFrame with the columns that reading the state gives, a list of elements, or a dict for broadcast
        state. `kind` is "list", "union" or "broadcast"; it is needed for a state that is not there yet.
        """
        if kind is not None and kind not in KINDS:
            raise CheckpointError(f"with_operator_state: kind is {kind!r}: use one of {', '.join(map(repr, KINDS))}")
        is_new = uid not in self._changes.sources or (
            state_name not in self._changes.record(uid).operator_states and kind is not None
        )
        if is_new and (kind is None or self._engine.is_frame(data)):
            raise CheckpointError(
                f"with_operator_state({uid!r}, {state_name!r}): the state does not exist yet: pass its elements as a "
                "collection, and its kind ('list', 'union' or 'broadcast')"
            )
        wanted = self._operator_state_kind(uid, state_name) if not is_new else KINDS[str(kind)]
        if kind is not None and KINDS[kind] != wanted:
            raise CheckpointError(f"with_operator_state({uid!r}, {state_name!r}): the state is {wanted} state")
        self._changes.operator_states.setdefault(uid, {})[state_name] = NewOperatorState(wanted, data)
        return self

    def remove_operator(self, uid: str) -> SavepointWriter:
        """Leave an operator out, with its state, positions and output."""
        self._changes.remove(uid)
        return self

    def change_uid(self, old: str, new: str) -> SavepointWriter:
        """Give an operator another uid, so that another operator of a job goes on with what it has."""
        self._changes.rename(old, new)
        return self

    def write(self, path: str) -> str:
        """Write the savepoint to a folder that is not there yet; returns its path. A failure leaves nothing behind."""
        self._changes.check()
        draft = NewSavepoint(str(path), self._changes.manifest(time.time_ns() // 1_000_000))
        try:
            self._write_old_operators(draft)
            self._write_new_operators(draft)
            return draft.finish()
        except BaseException:
            draft.discard()
            raise

    # Steps

    def _write_old_operators(self, draft: NewSavepoint) -> None:
        changes, origin = self._changes, self._changes.origin
        if origin is None:
            return
        copies, parts = [], []
        for uid, source in changes.sources.items():
            keeps_parts, keeps_state = uid not in changes.frames, uid not in changes.operator_states
            if isinstance(origin, SavepointOrigin):
                copies += copy_orders(
                    origin, draft.uri, uid, source, with_parts=keeps_parts, with_operator_state=keeps_state
                )
            else:
                parts += part_orders(origin, draft.uri, uid, source) if keeps_parts else []
            if not keeps_state or not isinstance(origin, SavepointOrigin):
                draft.write_snapshots(uid, self._changed_snapshots(uid, origin.snapshots(source)))
            if not keeps_parts:
                draft.note_parts(self._assembled(draft, uid, source))
        if not isinstance(origin, SavepointOrigin):
            draft.copy_source_logs(origin, changes.sources)
        draft.note_copies(self._engine.run(copy_file, copies))
        draft.note_parts(self._engine.run(write_part, parts))

    def _write_new_operators(self, draft: NewSavepoint) -> None:
        for uid in self._changes.new_uids():
            bootstrap = self._changes.bootstraps.get(uid)
            parallelism = min(self._engine.parallelism(), self._changes.max_parallelism) if bootstrap else 1
            record = draft.operators[uid] = self._changes.new_record(uid, parallelism)
            if bootstrap is not None:
                draft.note_parts(self._engine.bootstrap(bootstrap, draft.uri, uid, parallelism, record.max_parallelism))
            if uid in self._changes.operator_states:
                draft.write_snapshots(uid, self._changed_snapshots(uid, [None] * parallelism))

    def _assembled(self, draft: NewSavepoint, uid: str, source: str) -> Any:
        origin, record = self._old().origin, draft.operators[uid]
        frames: list[tuple[StateColumns, Any]] = list(self._changes.frames[uid].values())
        kinds = {state: columns.kind for columns, _ in frames for state in columns.states}
        written = {columns.states[0]: columns.written for columns, _ in frames if columns.written}
        orders = [
            PartAssembly(draft.uri, uid, subtask, origin.row_source(source, subtask), kinds, written)
            for subtask in range(record.parallelism)
        ]
        return self._engine.assemble(orders, frames, record.max_parallelism)

    def _changed_snapshots(self, uid: str, snapshots: list[Any]) -> list[Any]:
        for name, new in self._changes.operator_states.get(uid, {}).items():
            if self._engine.is_frame(new.data):
                columns, _ = operator_table(uid, name, str(new.kind), snapshots)
                method = f"with_operator_state({uid!r}, {name!r})"
                frame = self._engine.checked(new.data, columns.schema(), TEXTS, method)
                contents = columns.contents(self._engine.table_of(frame), len(snapshots))
            else:
                contents = dealt(new.data, str(new.kind), len(snapshots), name, f"state {name!r} of operator {uid!r}")
            snapshots = with_state(snapshots, name, str(new.kind), contents)
        return snapshots

    def _with_frame(self, uid: str, name: str, columns: StateColumns, frame: Any, method: str) -> SavepointWriter:
        checked = self._engine.checked(frame, columns.schema(), columns.optional(), method)
        self._changes.frames.setdefault(uid, {})[name] = columns, checked
        return self

    def _operator_state_kind(self, uid: str, state_name: str) -> str:
        return self._old().operator_state_kind(self._changes.sources[uid], state_name)

    def _old(self) -> SavepointReader:
        assert self._reader is not None, "an operator is known, so there is something it was read from"
        return self._reader
