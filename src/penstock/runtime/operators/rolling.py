"""What rolling operators of a keyed stream share: in batch mode only the last result of each key goes out."""

from __future__ import annotations

from typing import Any

from penstock.common.constants import MAX_WATERMARK
from penstock.runtime.operators.operator import StreamOperator
from penstock.state.value_states import KeyedValueState


class RollingOperator(StreamOperator):
    """Keeps one value for each key in the state called `state_name`, opened as `_state`."""

    is_keyed = True
    state_name = ""
    _state: KeyedValueState

    def final(self, key: Any) -> Any:
        """Return the last result of the current key."""
        raise AssertionError(f"{type(self).__name__} has no final results")

    def on_watermark(self, watermark: int) -> None:
        """In batch mode: emit what each key has come to before time ends, so that timers downstream still fire."""
        if self.context.is_batch_mode and watermark == MAX_WATERMARK:
            self._emit_finals()
        super().on_watermark(watermark)

    def _emit_finals(self) -> None:
        backend = self.context.backend
        assert backend is not None
        finals: list[Any] = []
        for key in backend.keys(self.state_name):
            backend.set_key(key)
            finals.append(self.final(key))
        self.output.emit(finals, None)
