"""All programs by family."""

from __future__ import annotations

from tests.conformance.pyflink_programs.families import (
    async_calls,
    connected,
    handled_state,
    keyed,
    lateness,
    mixed,
    partitioners,
    returned,
    rows_asked,
    side_outputs,
    state,
    streams,
    timers,
    triggers,
    types_and_rows,
    watermarks,
    windows,
)
from tests.conformance.pyflink_programs.program import Program

FAMILIES: dict[str, list[Program]] = {
    module.__name__.rpartition(".")[2]: module.PROGRAMS
    for module in (
        *(streams, keyed, windows, lateness, triggers, connected, state, timers, side_outputs, types_and_rows),
        *(async_calls, partitioners, watermarks, mixed, handled_state, returned, rows_asked),
    )
}
