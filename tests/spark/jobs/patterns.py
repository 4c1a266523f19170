"""A job that looks for a pattern, as a program: `python -m tests.spark.jobs.patterns '{"folder": ..., ...}'`.

At any moment most keys have partial matches, so that every death finds them half-finished. No line of the output
depends on how the input is cut, and none is there twice in a right run. Ways to die are in `deaths`.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from penstock.cep import (
    CEP,
    AfterMatchSkipStrategy,
    Pattern,
    PatternProcessFunction,
    SimpleCondition,
    TimedOutPartialMatchHandler,
)
from penstock.checkpoint import CheckpointDirectory
from penstock.common import RestartStrategies, WatermarkStrategy
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import DataStream, OutputTag, StreamExecutionEnvironment
from penstock.datastream.connectors.data_gen import DataGeneratorSource, RateLimiterStrategy
from penstock.graph import JobSettings, compile_plan
from penstock.testing.leftovers import left_of_branch
from tests.spark.jobs import counters, deaths
from tests.unit.cep.core import Core

MODULE = "tests.spark.jobs.patterns"
SPLITS = 2
KEYS = 24
JOB, EVENTS = "patterns", "events"
WINDOW_MS = 200 * KEYS  # some 28 events of a key
TIMEOUTS = OutputTag("timeouts")

Event = tuple[int, int, str, int]  # number, key, kind, event time


@dataclass(frozen=True)
class Order(counters.Order):
    """How one process is to run the job; `deadly` has numbers of records that kill who asks for the last element."""

    def arguments(self) -> list[str]:
        """What to start the program with."""
        return [sys.executable, "-m", MODULE, json.dumps(asdict(self))]


def event(number: int) -> Event:
    """Record of a number; those of a key come from one split, in order of time."""
    chance = random.Random(number)
    key = chance.randrange(KEYS // SPLITS) * SPLITS + number % SPLITS
    return number, key, chance.choices("abcdx", (2, 3, 1, 1, 3))[0], number * 7


class EventTime(TimestampAssigner):
    """The time is in the record."""

    def extract_timestamp(self, value: Event, record_timestamp: int) -> int:
        """Fourth field."""
        return value[3]


class Is(SimpleCondition[Event]):
    """Whether a record is of a kind; some numbers are deadly."""

    def __init__(self, kind: str, trap: deaths.Trap | None = None) -> None:
        self._kind = kind
        self._trap = trap

    def filter(self, value: Event) -> bool:
        """Ask the record."""
        if self._trap is not None:
            self._trap.step_on(value[0])
        return value[2] == self._kind


def patterns(trap: deaths.Trap | None = None) -> dict[str, Pattern]:
    """One that emits all matches, with a loop that branches, and one that holds matches back."""
    loop = Pattern.begin("a").where(Is("a")).followed_by_any("b").where(Is("b")).times(2, 3)
    skip = AfterMatchSkipStrategy.skip_past_last_event()
    held = Pattern.begin("a", skip).where(Is("a")).followed_by("b").where(Is("b")).one_or_more().not_followed_by("x")
    return {
        "all": loop.followed_by("d").where(Is("d", trap)).within(WINDOW_MS),
        "held": held.where(Is("c")).followed_by("d").where(Is("d")).within(WINDOW_MS),
    }


class Show(PatternProcessFunction[Event, Any], TimedOutPartialMatchHandler):
    """Matches and timeouts as records."""

    def __init__(self, name: str) -> None:
        self._name = name

    def process_match(self, match: dict[str, list[Event]], ctx: Any) -> Iterator[Any]:
        """Emit a match."""
        yield shown(f"{self._name}-match", match, ctx.timestamp())

    def process_timed_out_match(self, match: dict[str, list[Event]], ctx: Any) -> None:
        """Emit a timeout."""
        ctx.output(TIMEOUTS, shown(f"{self._name}-timeout", match, ctx.timestamp()))


def shown(kind: str, match: dict[str, list[Event]], time: int) -> dict[str, Any]:
    """The record of a match."""
    return {"kind": kind, "match": {name: [each[0] for each in found] for name, found in match.items()}, "time": time}


def expected(count: int) -> list[dict[str, Any]]:
    """What a run without deaths gives, key by key, from the matching core alone."""
    events: list[list[Event]] = [[] for _ in range(KEYS)]
    for record in map(event, range(count)):
        events[record[1]].append(record)
    made = []
    for name in patterns():
        for of_key in events:
            core = Core(patterns()[name])
            for record in of_key:
                core.advance(record[3])
                core.offer(record, record[3])
            core.advance(1 << 60)
            made += [shown(f"{name}-match", match, time) for match, time in core.matches]
            made += [shown(f"{name}-timeout", match, time) for match, time in core.timeouts]
    return made


def build(order: Order) -> StreamExecutionEnvironment:
    """The program."""
    environment = StreamExecutionEnvironment.get_execution_environment(counters.configuration_of(order))
    environment.set_parallelism(SPLITS)
    environment.get_checkpoint_config().set_checkpoint_storage_dir(order.path("checkpoint"))
    environment.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 100))
    source = DataGeneratorSource(event, order.count, RateLimiterStrategy(order.records_per_second))
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(EventTime())
    keyed = environment.from_source(source, strategy, EVENTS).key_by(lambda record: record[1])
    found: list[DataStream] = []
    for name, pattern in patterns(order.trap("end")).items():
        matches = CEP.pattern(keyed, pattern).process(Show(name)).uid(name)
        found += [matches, matches.get_side_output(TIMEOUTS)]
    found[0].union(*found[1:]).sink_to(counters.main_sink(order))
    return environment


def main() -> None:
    """Run the job that the command line orders, and leave its figures in `result.json`."""
    order = Order(**json.loads(sys.argv[1]))
    os.makedirs(order.path("notes"), exist_ok=True)
    deaths.let_seals_die(*order.driver_death)
    environment = build(order)
    plan = compile_plan(environment.graph, JobSettings(job_name=JOB, parallelism=SPLITS))
    client: Any = environment.execute_async(JOB)
    client.wait()
    left = left_of_branch(CheckpointDirectory(order.path("checkpoint")), plan, [EVENTS])
    with open(order.path("result.json"), "w") as stream:
        json.dump({"restarts": client.restarts(), "left": asdict(left)}, stream)


if __name__ == "__main__":
    main()
