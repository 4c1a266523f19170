"""Rolling reduce of a keyed stream; sum, min, max, min_by and max_by are reduce functions too."""

from __future__ import annotations

from typing import Any

from penstock.common.own_copies import ATOMS
from penstock.runtime.callables import method_or_callable
from penstock.runtime.operators.rolling import RollingOperator
from penstock.runtime.rows import Timestamps
from penstock.vocabulary.state import ValueStateDescriptor

STATE_NAME = "_reduce_state"


class ReduceOperator(RollingOperator):
    """Combines each record with the result so far of its key and emits the new result.

    In batch mode only the final result of each key is emitted, when the input has ended, as in Flink.
    """

    kind = "reduce"
    state_identity = "ReduceOperator"
    state_name = STATE_NAME

    def __init__(self, function: Any) -> None:
        self.function = function

    def open(self) -> None:
        """Open the function and its state."""
        self.open_function(self.function)
        self._reduce = method_or_callable(self.function, "reduce")
        assert self.context.backend is not None
        self._state = self.context.backend.get_value_state(ValueStateDescriptor(STATE_NAME, None))

    def close(self) -> None:
        """Close the function."""
        self.close_function(self.function)

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Reduce a block record by record."""
        assert keys is not None and self.context.backend is not None
        set_key, reduce, own = self.context.backend.set_key, self._reduce, self.context.own
        held, hold = self._state.held, self._state.hold
        results: list[Any] = []
        consumed = iter(values)
        try:
            for value, key in zip(consumed, keys, strict=False):
                set_key(key)
                so_far = held()
                result = value if so_far is None else reduce(so_far, value)
                if result.__class__ in ATOMS:
                    hold(result)
                    results.append(result)
                    continue
                # The function is given the state's own object, to change it as it likes. Another one that it returns
                # may be its own.
                hold(result if result is so_far or result is value else own(result))
                results.append(own(result))
        except Exception as error:
            raise self.record_failure(error, values, consumed) from None
        if not self.context.is_batch_mode:
            self.output.emit(results, timestamps)

    def final(self, key: Any) -> Any:
        """Return what the key has come to."""
        return self._state.value()
