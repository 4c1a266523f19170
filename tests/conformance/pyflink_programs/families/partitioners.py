"""Who gets which element: subtasks by number, for exchanges that leave nothing to chance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.conformance.pyflink_programs.program import Program, programs_of


def numbered(p: Any) -> Any:
    class Numbered(p.MapFunction):
        def open(self, runtime_context: Any) -> None:
            self.subtask = runtime_context.get_index_of_this_subtask()

        def map(self, value: Any) -> Any:
            return self.subtask, value

    return Numbered()


def dealt(deal: Callable[[Any, Any], Any], count: int = 3) -> Callable[[Any], Any]:
    def build(p: Any) -> Any:
        stream = p.env(parallelism=2).from_collection(list(range(6)))
        return deal(p, stream).map(numbered(p)).set_parallelism(count)

    return build


def how_many(deal: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Only how many each subtask gets: which, is left open."""

    def build(p: Any) -> Any:
        stream = deal(p.env(parallelism=2).from_collection(list(range(8))).map(lambda v: v).set_parallelism(1))
        counted = stream.map(numbered(p)).set_parallelism(2).map(lambda v: (v[0], 1))
        return counted.key_by(lambda v: v[0]).reduce(lambda a, b: (a[0], a[1] + b[1])).filter(lambda v: v[1] == 4)

    return build


def refused_on_keyed(method: str) -> Callable[[Any], Any]:
    return lambda p: getattr(p.env().from_collection([1]).key_by(lambda v: v), method)().map(lambda v: v)


PROGRAMS: list[Program] = programs_of(
    {
        "broadcast": dealt(lambda p, s: s.broadcast()),
        "forward_equal": dealt(lambda p, s: s.forward(), count=1),
        "forward_unequal": dealt(lambda p, s: s.forward(), count=3),
        "rebalance_counts": how_many(lambda s: s.rebalance()),
        "rescale_counts": how_many(lambda s: s.rescale()),
        "non_parallel_source": lambda p: p.env().from_collection([1]).set_parallelism(2).map(lambda v: v),
        **{
            f"keyed_{method}": refused_on_keyed(method)
            for method in ("shuffle", "rebalance", "rescale", "forward", "broadcast")
        },
    },
    is_ordered=False,
)
