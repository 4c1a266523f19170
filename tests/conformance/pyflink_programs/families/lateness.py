"""Late elements: event time moves after each element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.conformance.pyflink_programs.families.windows import assigners, collecting, described, longest
from tests.conformance.pyflink_programs.program import Program, programs_of

LATE = [("a", 3), ("a", 12), ("a", 4), ("a", 17), ("a", 5), ("a", 30), ("a", 2), ("a", 13)]


def late(assigner: str, lateness: int | None, *, to_side: bool, function: str = "process") -> Callable[[Any], Any]:
    def build(p: Any) -> Any:
        tag = p.OutputTag("late")
        windows = p.stepwise(LATE).key_by(lambda v: v[0]).window(assigners(p)[assigner])
        if lateness is not None:
            windows = windows.allowed_lateness(lateness)
        if to_side:
            windows = windows.side_output_late_data(tag)
        fired = {
            "process": lambda: windows.process(described(p, is_keyed=True)).map(lambda v: (*v[:4],)),
            "reduce": lambda: windows.reduce(longest),
            "aggregate": lambda: windows.aggregate(collecting(p)),
        }
        if not to_side:
            return fired[function]().map(lambda v: ("on time", v))
        result = windows.reduce(longest)
        return result.map(lambda v: ("on time", v)).union(result.get_side_output(tag).map(lambda v: ("late", v)))

    return build


PROGRAMS: list[Program] = programs_of(
    {
        **{
            f"{assigner}_{lateness}_{function}": late(assigner, lateness, to_side=False, function=function)
            for assigner in ("tumbling", "sliding", "session")
            for lateness, function in (
                *((None, "process"), (5, "process"), (100, "process")),
                *((5, "reduce"), (100, "reduce"), (100, "aggregate")),
            )
        },
        **{
            f"{assigner}_{lateness}_to_side": late(assigner, lateness, to_side=True)
            for assigner in ("tumbling", "sliding", "session")
            for lateness in (None, 8)
        },
    },
    is_ordered=False,
)
