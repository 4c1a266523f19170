"""Random jobs: drawn from a seed, built on an environment, and worked out in plain Python. Runs nothing itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from penstock.common.watermark_strategy import Watermark
from penstock.datastream import StreamExecutionEnvironment
from penstock.testing import Cut, Element, Idle
from tests.simulation.ends import Collecting, Counting, End, Filing, Rolling
from tests.simulation.functions import Record
from tests.simulation.steps import (
    DEALINGS,
    Collected,
    Doubled,
    Filtered,
    First,
    Generated,
    Mapped,
    Parted,
    Records,
    Scripted,
    Step,
    Totalled,
    United,
    Windowed,
)

KEYED_MAX = 3


@dataclass
class Program:
    """A job: its sources, steps (each with the numbers of the streams it reads) and ends (with the one it reads).

    Streams are numbered as they come: those of the sources first, then the outputs of each step.
    """

    parallelism: int
    max_parallelism: int
    has_chaining: bool
    watermark_every: int
    sources: list[Any] = field(default_factory=list)
    steps: list[tuple[Step, list[int]]] = field(default_factory=list)
    ends: list[tuple[End, int]] = field(default_factory=list)

    def build(self, environment: StreamExecutionEnvironment, directory: Path) -> None:
        environment.set_parallelism(self.parallelism).set_max_parallelism(self.max_parallelism)
        if not self.has_chaining:
            environment.disable_operator_chaining()
        streams = [source.build(environment) for source in self.sources]
        for step, inputs in self.steps:
            streams += step.build([streams[number] for number in inputs])
        for position, (end, number) in enumerate(self.ends):
            end.build(streams[number], directory / str(position))

    def expected(self) -> list[Any]:
        """What each end must find."""
        streams: list[Records] = [source.expected() for source in self.sources]
        for step, inputs in self.steps:
            streams += step.expected([streams[number] for number in inputs])
        return [end.expected(streams[number]) for end, number in self.ends]

    def found(self) -> list[Any]:
        """What each end has found."""
        return [end.found() for end, _ in self.ends]


def draw(rng: Random) -> Program:
    """A random program."""
    program = Program(
        parallelism=rng.randint(1, 4),
        max_parallelism=rng.choice([4, 7, 128]),
        has_chaining=rng.random() < 0.8,
        watermark_every=rng.randint(1, 10),
    )
    program.sources = [_source(rng) for _ in range(rng.randint(1, 3))]
    unread = _draw_steps(rng, program)
    program.ends = [(_end(rng), number) for number in unread]
    return program


def _draw_steps(rng: Random, program: Program) -> list[int]:
    """Add steps; returns the streams that none of them reads."""
    unread = list(range(len(program.sources)))
    count = len(program.sources)
    keyed = 0
    for _ in range(rng.randint(3, 8)):
        make, width = rng.choice(_STEPS)
        step = make(rng)
        is_keyed = isinstance(step, (Totalled, Windowed, First))
        is_repeated = isinstance(step, Mapped) and any(_is_broadcast(each) for each, _ in program.steps)
        if (is_keyed and keyed == KEYED_MAX) or (is_repeated and _is_broadcast(step)):
            continue
        # Mostly what nothing reads yet, so that jobs become deep; now and then any stream, so that they branch.
        inputs = [rng.choice(unread if rng.random() < 0.8 else range(count)) for _ in range(width)]
        outputs = 2 if isinstance(step, (Parted, Windowed)) else 1
        program.steps.append((step, inputs))
        unread = [number for number in unread if number not in inputs] + list(range(count, count + outputs))
        count += outputs
        keyed += is_keyed
    return unread


def _is_broadcast(step: Step) -> bool:
    return getattr(step, "dealing", None) == "broadcast"


# ---- what is drawn ----


def _parallelism(rng: Random) -> int:
    return rng.randint(1, 4)


def _dealing(rng: Random) -> str:
    return rng.choice([name for name in DEALINGS if name != "broadcast"])


_STEPS: list[tuple[Callable[[Random], Step], int]] = [
    (lambda rng: Mapped(rng.randint(1, 9), rng.randint(1, 9), rng.choice(list(DEALINGS)), _parallelism(rng)), 1),
    (lambda rng: Filtered(rng.randint(2, 5), _dealing(rng), _parallelism(rng)), 1),
    (lambda rng: Doubled(_parallelism(rng)), 1),
    (lambda rng: Parted(rng.randint(2, 4), _dealing(rng), _parallelism(rng)), 1),
    (lambda rng: United(), 2),
    (lambda rng: United(), 3),
    (
        lambda rng: Totalled(
            rng.choice(["value", "list", "map", "reducing", "aggregating"]), _parallelism(rng)
        ),
        1,
    ),
    (lambda rng: Windowed(rng.randint(1, 40), _parallelism(rng)), 1),
    (lambda rng: Windowed(rng.randint(1, 40), _parallelism(rng)), 1),
    (lambda rng: First(rng.randint(0, 30), _parallelism(rng)), 1),
]  # fmt: skip


def _end(rng: Random) -> End:
    return rng.choices(
        [
            Collecting(),
            Filing(rng.random() < 0.5, _parallelism(rng)),
            Counting(_parallelism(rng)),
            Rolling(_parallelism(rng)),
        ],
        [4, 2, 1, 1],
    )[0]


def _source(rng: Random) -> Any:
    kind = rng.randrange(4)
    if kind == 0:
        return Generated(rng.randint(0, 50), rng.randint(1, 9), rng.randint(1, 20), _parallelism(rng))
    if kind == 1:
        times = sorted(rng.randint(0, 100) for _ in range(rng.randint(0, 40)))
        return Collected(tuple(_record(rng, time) for time in times), _parallelism(rng))
    # The first split never becomes idle. If all did, a subtask behind them would be idle too, and what its timers emit
    # at the end could be late for good at the next one: nobody waits for an idle channel.
    return Scripted(tuple(_script(rng, may_idle=split > 0) for split in range(rng.randint(1, 3))))


def _record(rng: Random, time: int) -> Record:
    return rng.randint(0, 8), time, rng.randint(0, 50)


def _script(rng: Random, *, may_idle: bool) -> tuple[Any, ...]:
    """Records out of order, with watermarks that are true, cuts, and perhaps idleness at the end."""
    records = [_record(rng, rng.randint(0, 100)) for _ in range(rng.randint(0, 14))]
    script: list[Any] = []
    for position, record in enumerate(records):
        script.append(Element(record, record[1]))
        if rng.random() < 0.4:
            script.append(Watermark(min((later[1] for later in records[position + 1 :]), default=200) - 1))
        if rng.random() < 0.2:
            script.append(Cut())
    # A split that comes back from idleness may be late by right, so it stays idle.
    return (*script, Idle(), Cut()) if may_idle and rng.random() < 0.3 else tuple(script)
