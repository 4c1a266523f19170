"""The operator of async calls: one per record, many at once; results leave in the order of input or of completion."""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any, NoReturn

from penstock.errors import StateError
from penstock.runtime.calls import Call, CallFault, CallSettings, Sleep
from penstock.runtime.context import OperatorRuntimeContext
from penstock.runtime.operators.operator import StreamOperator
from penstock.runtime.rows import Timestamps
from penstock.vocabulary.functions import AsyncFunctionDescriptor

_LOOK_MS = 5
"""How soon results are looked for again, where nothing else happens."""


class AsyncWaitOperator(StreamOperator):
    """Calls an AsyncFunction for each record, up to `capacity` at the same time.

    Nothing overtakes a watermark, and no call outlives its batch: whatever must come behind the results waits for all
    of them. A batch that is run again makes its calls again.
    """

    kind = "async wait"
    state_identity = "AsyncWaitOperator"

    def __init__(self, descriptor: AsyncFunctionDescriptor) -> None:
        self.function = descriptor.async_function
        self._descriptor = descriptor

    def open(self) -> None:
        """Open the function and get a runner for its calls."""
        assert self.context.calls is not None, "there is no runner for async calls"
        self.open_function(self.function)
        self._invoke = self.function.async_invoke
        self._own_all = self.context.own_all
        strategy = self._descriptor.async_retry_strategy
        predicate = strategy.get_retry_predicate()
        self._strategy = strategy
        self._retries_result = predicate.result_predicate()
        self._retries_error = predicate.exception_predicate()
        self._runner = self.context.calls(
            CallSettings(
                invoke=self._call if self._retries_result or self._retries_error else self._call_once,
                on_timeout=self._on_timeout,
                timeout_s=self._descriptor.timeout.to_millis() / 1000,
                capacity=self._descriptor.capacity,
                is_ordered=self._descriptor.output_mode is AsyncFunctionDescriptor.OutputMode.ORDERED,
            )
        )

    def runtime_context(self) -> OperatorRuntimeContext:
        """The context handed to the function: without keyed state, as in Flink."""
        return _StatelessRuntimeContext(self.context)

    # ---- what arrives ----

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Start a call for each record, and emit what is there already."""
        calls = list(map(Call, values, timestamps if timestamps is not None else repeat(None)))
        try:
            finished = self._runner.start(calls)
        except CallFault as fault:
            self._fail(fault)
        self.emit_finished(finished)

    def on_watermark(self, watermark: int) -> None:
        """Results of records before the watermark leave before it."""
        self._finish_calls()
        super().on_watermark(watermark)

    def on_status(self, is_idle: bool) -> None:
        """An idle stream has nothing more to give, so its results leave before."""
        self._finish_calls()
        super().on_status(is_idle)

    def on_processing_time(self, now_ms: int) -> None:
        """Emit what is there by now."""
        if self._runner.is_busy:
            try:
                finished = self._runner.finished()
            except CallFault as fault:
                self._fail(fault)
            self.emit_finished(finished)

    def next_deadline(self) -> int | None:
        """Soon, while calls are under way: in continuous mode their results do not wait for the next record."""
        return self.context.clock() + _LOOK_MS if self._runner.is_busy else None

    def on_end(self) -> None:
        """All results leave before the end."""
        self._finish_calls()
        super().on_end()

    def end_batch(self, now_ms: int, end_of_input: bool) -> None:
        """The results belong to the batch."""
        self._finish_calls()

    def abort(self) -> None:
        """No call may go on while the batch is run again."""
        self._runner.cancel()

    def close(self) -> None:
        """Close the function, when none of its calls goes on."""
        self._runner.cancel()
        self.close_function(self.function)

    def _finish_calls(self) -> None:
        try:
            finished = self._runner.drain()
        except CallFault as fault:
            self._fail(fault)
        self.emit_finished(finished)

    def _fail(self, fault: CallFault) -> NoReturn:
        raise self.failure(fault.error, fault.during, fault.value) from None

    def emit_finished(self, calls: list[Call]) -> None:
        """Emit the results of calls that are over."""
        values: list[Any] = []
        timestamps: list[int | None] = []
        for call in calls:
            results = call.results
            assert results is not None
            values += results
            timestamps += [call.timestamp] * len(results)
        self.output.emit(values, timestamps)

    # ---- what runs in the event loop ----

    async def _call_once(self, value: Any, sleep: Sleep) -> list[Any]:
        return self._checked(await self._invoke(value))

    async def _call(self, value: Any, sleep: Sleep) -> list[Any]:
        """Call until the result is good, or the strategy gives up; the time limit is for all tries together."""
        strategy, attempts = self._strategy, 1
        while True:
            try:
                results = await self._invoke(value)
            except Exception as error:
                if not _says_yes(self._retries_error, error) or not strategy.can_retry(attempts):
                    raise
            else:
                # As in PyFlink, a result of the wrong kind is an error of the program: no retry makes it right.
                checked = self._checked(results)
                if not _says_yes(self._retries_result, checked) or not strategy.can_retry(attempts):
                    return checked
            await sleep(strategy.get_backoff_time_millis(attempts) / 1000)
            attempts += 1

    def _on_timeout(self, value: Any) -> list[Any]:
        return self._checked(self.function.timeout(value))

    def _checked(self, results: Any) -> list[Any]:
        if isinstance(results, list):
            return self._own_all(results)
        if isinstance(results, tuple):  # which PyFlink takes too, whatever its message says
            return self._own_all(list(results))
        where = f"check the methods 'async_invoke' and 'timeout' of class {type(self.function).__name__!r}"
        if results is None:
            raise RuntimeError(f"The result of AsyncFunction cannot be none: {where}.")
        raise RuntimeError(
            f"The result of AsyncFunction should be of list type, not {type(results).__name__}: {where}."
        )


def _says_yes(predicate: Callable[[Any], bool] | None, subject: Any) -> bool:
    return predicate is not None and predicate(subject)


class _StatelessRuntimeContext(OperatorRuntimeContext):
    """The context of a function whose calls run at the same time, for many keys: there is no current one."""

    def _keyed(self, descriptor: Any) -> NoReturn:
        raise StateError(
            f"operator {self.get_task_name()!r} asks for keyed state {descriptor.get_name()!r}, but async calls have "
            "none, because many run at once: keep the state in a process function before or after them"
        )
