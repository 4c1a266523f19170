"""Windows of the current key, one record or timer at a time: where a record goes, when a window fires and when it goes.

Flink's rules for windows that do not merge; `merging` adds those of windows that do.
"""

from __future__ import annotations

from typing import Any

from penstock.common.constants import MAX_WATERMARK
from penstock.runtime.operators.operator import StreamOperator
from penstock.runtime.operators.window.codec import WindowCodec
from penstock.runtime.operators.window.contents import Contents
from penstock.runtime.operators.window.contexts import AssignerContext, FiringContext
from penstock.runtime.operators.window.evaluation import Evaluator
from penstock.runtime.operators.window.spec import WindowSpec
from penstock.state.keyed import VOID_NAMESPACE, KeyedStateBackend
from penstock.state.timers import EVENT, PROCESSING
from penstock.vocabulary.window import TriggerResult

_CONTINUE = TriggerResult.CONTINUE


class Windows:
    """The windows of an operator that do not merge. Outside a call the backend's namespace is void."""

    def __init__(
        self,
        operator: StreamOperator,
        backend: KeyedStateBackend,
        spec: WindowSpec,
        codec: WindowCodec,
        contents: Contents,
        evaluator: Evaluator,
    ) -> None:
        self.operator = operator
        self.backend = backend
        self.spec = spec
        self.codec = codec
        self.contents = contents
        self.assigner_context = AssignerContext(operator)
        self.context = FiringContext(operator, backend)
        self.is_event_time = spec.assigner.is_event_time()
        self.domain = EVENT if self.is_event_time else PROCESSING
        self._evaluator = evaluator
        self._lateness = spec.allowed_lateness if self.is_event_time else 0

    def element(self, value: Any, timestamp: int | None, assigned_by: Any) -> bool:
        """Put a record into its windows; `assigned_by` is what the assigner and the trigger see of it.

        False if there was none that still takes records.
        """
        is_taken = False
        self._evaluator.fired_at = timestamp
        for window in self.spec.assigner.assign_windows(assigned_by, timestamp, self.assigner_context):
            namespace = self._enter(window)
            if namespace is None:
                continue
            is_taken = True
            self._add(namespace, value, timestamp, assigned_by)
        self._leave()
        return is_taken

    def timer(self, domain: int, timestamp: int, namespace: bytes) -> None:
        """Let a window's timer fire: the trigger decides, and a window whose time is over goes."""
        self._evaluator.fired_at = timestamp
        window = self.codec.from_bytes(namespace)
        held_in = self._find(namespace)
        if held_in is not None:
            self.context.enter(window, namespace)
            trigger = self.spec.trigger
            is_over = domain == self.domain and timestamp == self.cleanup_time(window)
            if domain == EVENT:
                self._act(trigger.on_event_time(timestamp, window, self.context), held_in, is_over, "on_event_time")
            else:
                result = trigger.on_processing_time(timestamp, window, self.context)
                self._act(result, held_in, is_over, "on_processing_time")
            if is_over:
                self._remove(window, namespace, held_in)
        self._leave()

    def end_timer(self, domain: int, timestamp: int, namespace: bytes) -> None:
        """The same as `timer` for a trigger that fires at the end of a window and never else: it is not asked."""
        window = self.codec.from_bytes(namespace)
        held_in = self._find(namespace)
        if held_in is not None:
            is_over = timestamp == self.cleanup_time(window)
            self.backend.set_namespace(held_in)
            held = self.contents.get() if timestamp == window.max_timestamp() else None
            if held is not None:
                self.contents.show(held, window, not is_over)
            if is_over:
                self._forget(window, namespace)
        self._leave()

    def cleanup_time(self, window: Any) -> int:
        """When a window is over for good; `MAX_WATERMARK` if never."""
        return min(int(window.max_timestamp()) + self._lateness, MAX_WATERMARK)

    def is_late(self, window: Any) -> bool:
        """Whether a window takes no more records."""
        return self.is_event_time and self.cleanup_time(window) <= self.operator.watermark

    def register_cleanup(self, window: Any, namespace: bytes) -> None:
        """Set the timer at which the window goes."""
        time = self.cleanup_time(window)
        if time != MAX_WATERMARK:
            assert self.operator.context.timers is not None
            self.operator.context.timers.register(self.domain, time, namespace)

    def delete_cleanup(self, window: Any, namespace: bytes) -> None:
        """Take that timer back."""
        time = self.cleanup_time(window)
        if time != MAX_WATERMARK:
            assert self.operator.context.timers is not None
            self.operator.context.timers.delete(self.domain, time, namespace)

    def drop(self, window: Any, namespace: bytes, held_in: bytes) -> None:
        """Remove a window of the current key whose time is over by other settings than it came into being with."""
        self._find(namespace)
        self.context.enter(window, namespace)
        self._remove(window, namespace, held_in)
        self._leave()

    def _enter(self, window: Any) -> bytes | None:
        """Work on the window that takes a record; returns the namespace of its contents, None if it is late."""
        if self.is_late(window):
            return None
        namespace = self.codec.to_bytes(window)
        self.context.enter(window, namespace)
        return namespace

    def _find(self, namespace: bytes) -> bytes | None:
        """The namespace of a window's contents; None if there is no such window."""
        return namespace

    def _leave(self) -> None:
        self.backend.set_namespace(VOID_NAMESPACE)

    def _add(self, held_in: bytes, value: Any, timestamp: int | None, seen: Any) -> None:
        context, backend = self.context, self.backend
        backend.set_namespace(held_in)
        self.contents.add(value, timestamp)
        backend.set_namespace(context.namespace)
        result = self.spec.trigger.on_element(seen, timestamp, context.window, context)
        if result is not _CONTINUE:
            self._act(result, held_in, False, "on_element")
        self.register_cleanup(context.window, context.namespace)

    def _act(self, result: Any, held_in: bytes, is_over: bool, method: str) -> None:
        """Do what the trigger says about the window entered last."""
        if result is _CONTINUE:
            return
        if not isinstance(result, TriggerResult):
            trigger = type(self.spec.trigger).__name__
            raise TypeError(f"{trigger}.{method} must return a TriggerResult, it returned {result!r}")
        self.backend.set_namespace(held_in)
        if result.is_fire():
            held = self.contents.get()
            if held is not None:
                self.contents.show(held, self.context.window, not (is_over or result.is_purge()))
        if result.is_purge():
            self.contents.clear()

    def _remove(self, window: Any, namespace: bytes, held_in: bytes) -> None:
        self.backend.set_namespace(namespace)
        self.spec.trigger.clear(window, self.context)
        self.backend.set_namespace(held_in)
        self._forget(window, namespace)

    def _forget(self, window: Any, namespace: bytes) -> None:
        """Remove what the window held; the backend's namespace is that of its contents."""
        self.contents.clear()
        if self._evaluator.clears:
            self.backend.set_namespace(namespace)
            self._evaluator.clear(window)
