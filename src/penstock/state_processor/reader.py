"""Reading a savepoint as Spark DataFrames: the entrance for users; the frames themselves are made by the engine."""

from __future__ import annotations

from typing import Any

from penstock.errors import CheckpointError, GraphError
from penstock.savepoint import Origin, open_origin
from penstock.savepoint.manifest import OperatorRecord
from penstock.state.declarations import SchemasByRole
from penstock.state.portable import EVENT_TIMERS, PROCESSING_TIMERS
from penstock.state_processor.columns import TIMERS, StateColumns
from penstock.state_processor.contract import StateEngine
from penstock.state_processor.description import OperatorInfo, StateInfo, listed, record_of
from penstock.state_processor.functions import KeyedStateReaderFunction
from penstock.state_processor.operator_columns import operator_table
from penstock.state_processor.slices import slices_of
from penstock.state_processor.survey import Survey, merged_surveys, survey_slice

_EVERYTHING = range(1 << 16)


class SavepointReader:
    """A savepoint, or the checkpoint directory of a job that has stopped; reading changes nothing."""

    def __init__(self, origin: Origin, engine: StateEngine) -> None:
        """Use `SavepointReader.read`."""
        self.origin = origin
        self.engine = engine
        self._columns: dict[tuple[str, tuple[str, ...]], StateColumns] = {}
        self._kinds: dict[str, dict[str, str]] = {}

    @classmethod
    def read(cls, path: str, session: Any = None) -> SavepointReader:
        """Open what is at a path; `session` is the Spark session to use, if not the active one or one made anew."""
        from penstock.engine.spark.state_frames import SparkStates

        return cls(open_origin(str(path)), SparkStates.of(session))

    def operators(self) -> list[OperatorInfo]:
        """All operators, with what they hold."""
        return [self._info(uid, record) for uid, record in self.origin.manifest.operators.items()]

    def read_keyed_state(self, uid: str, state: str | KeyedStateReaderFunction, output_type: Any = None) -> Any:
        """The entries of a keyed state as a DataFrame.

        With a `KeyedStateReaderFunction` instead of a name: what the function gives for each key, as rows of
        `output_type` (`Types.ROW_NAMED(...)`, or Spark's text such as "id BIGINT, name STRING").
        """
        if not isinstance(state, str):
            return self._read_by_function(uid, state, output_type)
        columns = self.columns_of(uid, state)
        return self.engine.state_frame(columns, slices_of(self.origin, uid, columns.kind))

    def read_timers(self, uid: str) -> Any:
        """The timers of an operator as a DataFrame."""
        return self.engine.state_frame(self.timer_columns(uid), slices_of(self.origin, uid, TIMERS))

    def read_operator_state(self, uid: str, state: str) -> Any:
        """The elements of a list, union list or broadcast state, which belongs to no key, as a DataFrame."""
        kind = self.operator_state_kind(uid, state)
        return self.engine.table_frame(operator_table(uid, state, kind, self.origin.snapshots(uid))[1])

    # What the writer asks too

    def columns_of(self, uid: str, state: str) -> StateColumns:
        """The columns of a keyed state; its entries are read once to find their types."""
        kinds = self.keyed_states(uid)
        if state not in kinds or kinds[state] == TIMERS:
            names = [name for name, kind in kinds.items() if kind != TIMERS]
            raise CheckpointError(
                f"operator {uid!r} in {self.origin.place} has no keyed state {state!r}: it has {listed(names)}"
            )
        return self._surveyed(uid, (state,), kinds[state])

    def timer_columns(self, uid: str) -> StateColumns:
        """The columns of the timers of an operator."""
        record_of(self.origin.manifest, uid, self.origin.place)
        return self._surveyed(uid, (EVENT_TIMERS, PROCESSING_TIMERS), TIMERS)

    def operator_state_kind(self, uid: str, state: str) -> str:
        """The kind of a state without keys."""
        record = record_of(self.origin.manifest, uid, self.origin.place)
        if state not in record.operator_states:
            raise CheckpointError(
                f"operator {uid!r} in {self.origin.place} has no state {state!r} among its operator states: it has "
                f"{listed(record.operator_states)}"
            )
        return record.operator_states[state]

    def keyed_states(self, uid: str) -> dict[str, str]:
        """Keyed states by name with their kinds, timers among them; of a checkpoint, tasks look for them."""
        record = record_of(self.origin.manifest, uid, self.origin.place)
        if uid not in self._kinds:
            found = dict(record.states)
            sources = self.origin.row_sources(uid, _EVERYTHING) if record.is_bound and not found else []
            for each in self.engine.run(lambda source: source.states(), sources):
                found.update(each)
            self._kinds[uid] = found
        return self._kinds[uid]

    def written(self, uid: str, state: str) -> SchemasByRole:
        """The schemas that rows of a state may have, by role; none if it is pickled."""
        return self.origin.manifest.operators[uid].schemas.get(state, {})

    def _surveyed(self, uid: str, states: tuple[str, ...], kind: str) -> StateColumns:
        if (uid, states) not in self._columns:
            written = self.written(uid, states[0])
            survey = self._survey(uid, states, kind, written)
            self._columns[uid, states] = StateColumns(uid, states, kind, survey, written)
        return self._columns[uid, states]

    def _survey(self, uid: str, states: tuple[str, ...], kind: str, written: SchemasByRole) -> Survey:
        orders = [(part, state) for part in slices_of(self.origin, uid, kind) for state in states]
        return merged_surveys(self.engine.run(lambda order: survey_slice(*order, kind, written), orders))

    def _read_by_function(self, uid: str, function: Any, output_type: Any) -> Any:
        record = record_of(self.origin.manifest, uid, self.origin.place)
        if not callable(getattr(function, "read_key", None)):
            raise GraphError(
                f"read_keyed_state({uid!r}): expected the name of a state or a KeyedStateReaderFunction, got "
                f"{function!r}"
            )
        if output_type is None:
            raise GraphError(
                f"read_keyed_state({uid!r}): give output_type, the type of what the function collects, such as "
                "Types.ROW_NAMED(['id'], [Types.LONG()]) or 'id BIGINT'"
            )
        sources = self.origin.row_sources(uid, _EVERYTHING)
        return self.engine.function_frame(function, sources, uid, record.max_parallelism, output_type)

    def _info(self, uid: str, record: OperatorRecord) -> OperatorInfo:
        kinds = self.keyed_states(uid)
        return OperatorInfo(
            uid=uid,
            name=record.name,
            parallelism=record.parallelism,
            max_parallelism=record.max_parallelism,
            states=[StateInfo(name, kind, self.written(uid, name)) for name, kind in kinds.items() if kind != TIMERS],
            operator_states=[StateInfo(name, kind) for name, kind in record.operator_states.items()],
            has_timers=TIMERS in kinds.values(),
        )
