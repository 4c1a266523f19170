"""The contract of an operator: what runs it calls it with, and what it may do. No user code, no engine here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

from penstock.common.constants import MIN_WATERMARK
from penstock.runtime.columns import ColumnBlock, Stamps, key_objects
from penstock.runtime.context import OperatorContext, OperatorRuntimeContext
from penstock.runtime.failure import OperatorFailure, current_record, describe_failure
from penstock.runtime.input_times import InputTime
from penstock.runtime.layouts import Layout, described, difference
from penstock.runtime.operators.checkpointed import CheckpointedPart, is_checkpointed, takes_part
from penstock.runtime.output import Output
from penstock.runtime.rows import AnyTimestamps, Timestamps, Values
from penstock.state.operator_state import OperatorSnapshot, OperatorStateBackend


def as_lists(
    block: ColumnBlock, timestamps: Stamps | None, keys: Any
) -> tuple[list[Any], Timestamps, list[Any] | None]:
    """A block of columns, its timestamps and keys as an operator on objects takes them."""
    return (
        block.values(),
        None if timestamps is None else timestamps.tolist(),
        None if keys is None else key_objects(keys),
    )


class StreamOperator:
    """An operator of one subtask.

    An unopened operator is a picklable description (it sits in the plan); `setup` makes it a running one. It
    lives for many batches in one worker process, but the next batch may be run by its twin in another process:
    whatever must last is keyed state, timers, or what `snapshot` returns.
    """

    kind = ""
    """What it is called on disk and in descriptions: a word that stays when classes and modules are renamed."""

    runs_on_driver = False
    is_keyed = False

    timeless_inputs: frozenset[int] = frozenset()
    """Numbers of inputs whose watermarks and idleness mean nothing here: event time is that of the others."""

    makes_event_time = False
    """Whether event time begins here: it says how far it got in the splits, see `input_time`."""

    forgets_watermark = False
    """Whether it has no event time after a savepoint until the next watermark, as in Flink."""

    context: OperatorContext
    output: Output
    checkpointed: CheckpointedPart | None = None
    records_in = 0
    row_records = 0
    """Records of the batch that were worked on one by one, in operators with two forms; the others were as columns."""

    counts_row_blocks = True
    """Whether a block of rows counts as worked on one by one: not where it becomes columns, or is counted elsewhere."""

    column_names: tuple[str, ...] = ()
    """What the columns of its inputs are called, one input after the other, for `refusal`; empty where nobody knows."""

    watermark = MIN_WATERMARK
    suspicions: tuple[str, ...] = ()
    """Sentences about likely mistakes in the program, which the driver warns of once."""

    @property
    def needs_stable_subtask(self) -> bool:
        """Whether it must not share a vertex with a source, whose subtasks are not the same in every batch."""
        return takes_part(getattr(self, "function", None))

    @classmethod
    def has_two_forms(cls) -> bool:
        """Return whether there is a way to work on columns and one to work on rows: `refusal` then says which."""
        return cls.refusal is not StreamOperator.refusal

    def refusal(self) -> str | None:
        """Return why records are worked on one by one, in a user's words; None if they are worked on as columns.

        Operators with two forms override it, and decide by it when they are opened. Asked of a description too, for
        `explain()`. What only a block of columns can tell, such as a NULL, is left to that block.
        """
        return None

    def row_part(self) -> str | None:
        """Return what is worked on row by row all the same where columns are taken, and why; None: nothing."""
        return None

    def makes_columns(self) -> bool:
        """Return whether rows that come one by one become columns here. Asked of a description."""
        return False

    def emits_columns(self) -> bool | None:
        """Return whether results leave as columns where records come so; None: it depends. Asked of a description."""
        if type(self).process_columns is StreamOperator.process_columns:
            return False
        return self.refusal() is None if self.has_two_forms() else None

    def records_by_form(self) -> dict[str, float]:
        """Return how many records of the batch were worked on as columns and as rows; nothing if there is one form."""
        if not self.has_two_forms():
            return {}
        return {"column_records": self.records_in - self.row_records, "row_records": self.row_records}

    def waits_for_event_time(self) -> bool:
        """Whether results, or what is forgotten, wait for the watermark. Is asked of a description too."""
        return False

    def input_time(self, name: str, uid: str, snapshot: Any) -> InputTime:
        """Return how far event time got in what is read here, from the snapshot of a subtask; None before its first."""
        raise AssertionError(f"{type(self).__name__} makes no event time")

    def setup(self, context: OperatorContext, output: Output) -> None:
        """Called once in a worker process before anything else."""
        self.context = context
        self.output = output
        self.guarded(self.open, "in open()")

    def open(self) -> None:
        """Open user functions. Keyed state may be asked for, but not yet read: there is no key."""

    def start_batch(self, version: int, attempt: str, state: Any) -> None:
        """Go on from what `take_snapshot` gave after the previous batch; None at the very first."""
        if self.checkpointed is not None:
            saved = OperatorSnapshot.from_plain(state)
            self.checkpointed.begin(version, attempt, saved)
            state = state if saved is None else saved.own
        self.begin_batch(version, attempt, state)

    def begin_batch(self, version: int, attempt: str, state: Any) -> None:
        """A batch begins. `state` is what `snapshot` returned after the previous one; None at the very first."""

    def receive(self, values: Values, timestamps: AnyTimestamps, keys: Any) -> None:
        """Take a block of the first input. The lists may be shared: they must not be changed."""
        self.records_in += len(values)
        if type(values) is ColumnBlock:
            self.process_columns(values, cast("Stamps | None", timestamps), keys)
        else:
            if self.counts_row_blocks:
                self.row_records += len(values)
            self.process_block(cast("list[Any]", values), cast(Timestamps, timestamps), keys)

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Work on a block; `keys` is given to the head of a keyed vertex only."""
        raise AssertionError(f"{type(self).__name__} takes no blocks")

    def process_columns(self, block: ColumnBlock, timestamps: Stamps | None, keys: Any) -> None:
        """Work on a block of columns; as objects, unless the operator knows better. `keys`: an Arrow array or None."""
        self.row_records += len(block)
        self.process_block(*as_lists(block, timestamps, keys))

    def receive_second(self, values: Values, timestamps: AnyTimestamps, keys: Any) -> None:
        """Take a block of the second input, where there is one. The lists may be shared."""
        self.records_in += len(values)
        if type(values) is ColumnBlock:
            self.process_second_columns(values, cast("Stamps | None", timestamps), keys)
        else:
            if self.counts_row_blocks:
                self.row_records += len(values)
            self.process_second_block(cast("list[Any]", values), cast(Timestamps, timestamps), keys)

    def process_second_columns(self, block: ColumnBlock, timestamps: Stamps | None, keys: Any) -> None:
        """Work on a block of columns of the second input, as `process_columns` does."""
        self.row_records += len(block)
        self.process_second_block(*as_lists(block, timestamps, keys))

    def process_second_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Work on a block of the second input; `keys` is None where that input is not keyed."""
        raise AssertionError(f"{type(self).__name__} has one input only")

    def on_watermark(self, watermark: int) -> None:
        """Event time has advanced; fire what is due, then pass it on."""
        self.watermark = watermark
        self.output.emit_watermark(watermark)

    def on_status(self, is_idle: bool) -> None:
        """The input has become idle or active."""
        self.output.emit_status(is_idle)

    def on_processing_time(self, now_ms: int) -> None:
        """Processing time has advanced; called between blocks and at the end of a batch."""

    def on_interval(self, now_ms: int) -> None:
        """Continuous mode: the watermark interval is over; called between blocks, where a batch could end."""

    def on_end(self) -> None:
        """The input has ended; the maximum watermark was delivered before."""
        self.output.emit_end()

    def end_batch(self, now_ms: int, end_of_input: bool) -> None:
        """The last block of the batch was delivered; the batch's output is complete when this returns."""

    def snapshot(self) -> Any:
        """Small picklable state to carry to the next batch."""
        return None

    def layout(self) -> Layout | None:
        """How settings decide about the operator's keyed state, see `penstock.runtime.layouts`; None if they do not.

        Must be known before the operator is opened.
        """
        return None

    def layout_refusal(self, written: Layout) -> str | None:
        """Return why the operator cannot resume from state of another layout; None if it can."""
        now = self.layout()
        if now is None:
            return f"it was written with {described(written)}, but the operator now stores its state differently"
        return None if written == now else difference(written, now)

    def adopt_layout(self, written: Layout | None) -> None:
        """Go on with state of another layout that is not refused, at the start of a batch; None: nobody wrote it down.

        The state is there, and the watermark is that of the batch before.
        """

    def take_snapshot(self) -> Any:
        """What the next batch goes on from: `snapshot`, and the operator state where there is any."""
        own = self.snapshot()
        return own if self.checkpointed is None else self.checkpointed.snapshot(own)

    def committables(self) -> list[Any]:
        """What a sink hands to its committer for this batch."""
        return []

    def next_deadline(self) -> int | None:
        """Processing time at which the operator wants a batch even without data."""
        return None

    def abort(self) -> None:
        """The batch failed in this process; undo side effects as far as possible."""

    def close(self) -> None:
        """The job has ended, or failed in this process."""

    def runtime_context(self) -> OperatorRuntimeContext:
        """The context handed to user functions."""
        return OperatorRuntimeContext(self.context)

    def open_function(self, function: Any) -> None:
        """Call `open` of a user function that has one: now, or after its state is there if it is checkpointed."""
        if takes_part(function):
            self.checkpointed_part().add(function)
        if hasattr(function, "open") and not is_checkpointed(function):
            function.open(self.runtime_context())

    def operator_state(self) -> OperatorStateBackend:
        """State of this subtask that belongs to no key; to be asked for in `open`, it lasts from batch to batch."""
        return self.checkpointed_part().states

    def checkpointed_part(self) -> CheckpointedPart:
        """What looks after operator state and checkpointed functions, made when first needed."""
        if self.checkpointed is None:
            self.checkpointed = CheckpointedPart(self)
        return self.checkpointed

    def close_function(self, function: Any) -> None:
        """Call `close` of a user function that has one."""
        if hasattr(function, "close"):
            self.guarded(function.close, "in close()")

    def guarded(self, action: Callable[[], None], during: str) -> None:
        """Run user code outside a record loop, naming the operator if it raises."""
        try:
            action()
        except Exception as error:
            raise self.failure(error, during) from None

    def failure(self, error: BaseException, during: str, record: Any = None) -> OperatorFailure:
        """The failure to raise for an exception of user code."""
        return describe_failure(
            error,
            operator_name=self.context.name,
            uid=self.context.uid,
            subtask=self.context.subtask,
            during=during,
            record=record,
            function=getattr(self, "function", None),
        )

    def record_failure(self, error: Exception, values: list[Any], consumed: Iterator[Any]) -> OperatorFailure:
        """The failure to raise when the loop over `consumed = iter(values)` was left by an exception."""
        return self.failure(error, "processing a record", current_record(values, consumed))
