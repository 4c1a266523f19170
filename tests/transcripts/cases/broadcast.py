"""Broadcast state: rules that every subtask has, read by elements and timers, changed by the broadcast side only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.common.watermark_strategy import Watermark
from penstock.datastream import (
    BroadcastProcessFunction,
    CheckpointedFunction,
    DataStream,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    KeyedBroadcastProcessFunction,
    OutputTag,
    TimeDomain,
)
from penstock.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from penstock.testing import Clock, Cut, Element, Idle
from penstock.testing.transcripts import NO_WATERMARK, End, Input, Left, Step, Transcript

UNKNOWN = OutputTag("unknown")
RULES = MapStateDescriptor("rules")
DEFAULTS = MapStateDescriptor("defaults")
FIRST = "whether a rule is there in time depends on which input is first"


def initial(word: str) -> str:
    return word[0]


class Translate(BroadcastProcessFunction):
    """Translates words by rules; None takes a rule back, "*" sets what is said where there is none."""

    def process_element(self, value: str, ctx: Any) -> Iterator[Any]:
        rules = ctx.get_broadcast_state(RULES)
        if value in rules:
            yield rules[value]
        elif "*" in ctx.get_broadcast_state(DEFAULTS):
            yield ctx.get_broadcast_state(DEFAULTS).get("*")
        else:
            yield UNKNOWN, value

    def process_broadcast_element(self, value: tuple[str, str | None], ctx: Any) -> Iterator[Any]:
        word, meaning = value
        state = ctx.get_broadcast_state(DEFAULTS if word == "*" else RULES)
        if meaning is None:
            state.remove(word)
        else:
            state.put(word, meaning)
        yield sorted(state.keys())


class Collect(BroadcastProcessFunction):
    """Keeps all meanings of a word in one list; those of words in capitals are changed but not put back."""

    def process_element(self, value: str, ctx: Any) -> Iterator[Any]:
        yield value, tuple(ctx.get_broadcast_state(RULES).get(value) or ())

    def process_broadcast_element(self, value: tuple[str, str], ctx: Any) -> None:
        rules = ctx.get_broadcast_state(RULES)
        word, meaning = value
        meanings = rules.get(word) or []
        meanings.append(meaning)
        if word not in rules or word.islower():
            rules.put(word, meanings)
        meanings.append("after that")


class Wait(BroadcastProcessFunction, CheckpointedFunction):
    """Keeps elements in operator state until the rule is there: then the order between the inputs does not matter."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        self.waiting = context.get_operator_state_store().get_list_state(ListStateDescriptor("waiting"))

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        pass

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        rules = ctx.get_broadcast_state(RULES)
        if rules.is_empty():
            self.waiting.add(value)
        else:
            yield value * rules["factor"]

    def process_broadcast_element(self, value: int, ctx: Any) -> Iterator[Any]:
        ctx.get_broadcast_state(RULES).put("factor", value)
        yield from [each * value for each in self.waiting]
        self.waiting.clear()


class WaitKeyed(KeyedBroadcastProcessFunction):
    """The same with keyed state, which the broadcast side reaches key by key."""

    def open(self, context: Any) -> None:
        self.waiting = context.get_list_state(ListStateDescriptor("waiting"))

    def process_element(self, value: str, ctx: Any) -> Iterator[Any]:
        rules = ctx.get_broadcast_state(RULES)
        if rules.is_empty():
            self.waiting.add(value)
        else:
            yield ctx.get_current_key(), value + rules["end"]

    def process_broadcast_element(self, value: str, ctx: Any) -> Any:
        ctx.get_broadcast_state(RULES).put("end", value)
        released: list[Any] = []

        def release(key: str, state: Any) -> None:
            released.extend((key, each + value) for each in state)
            state.clear()

        ctx.apply_to_keyed_state(ListStateDescriptor("waiting"), release)
        return released


class Alarm(KeyedBroadcastProcessFunction):
    """Ten after the first element of a key, tells how many there were and what the rule is by then."""

    def open(self, context: Any) -> None:
        self.count = context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: str, ctx: Any) -> None:
        if self.count.value() is None:
            if ctx.timestamp() is None:
                ctx.timer_service().register_processing_time_timer(ctx.current_processing_time() + 10)
            else:
                ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10)
        self.count.update((self.count.value() or 0) + 1)

    def process_broadcast_element(self, value: str, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES).put("now", value)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        rule = ctx.get_broadcast_state(RULES).get("now")
        if ctx.time_domain() is TimeDomain.PROCESSING_TIME:
            rule = (rule, "by the clock")
        yield ctx.get_current_key(), self.count.value(), rule
        self.count.clear()


def translate(words: DataStream, rules: DataStream) -> DataStream:
    return words.connect(rules.broadcast(RULES, DEFAULTS)).process(Translate())


def collect(words: DataStream, rules: DataStream) -> DataStream:
    return words.connect(rules.broadcast(RULES)).process(Collect())


def wait(numbers: DataStream, rules: DataStream) -> DataStream:
    return numbers.rebalance().connect(rules.broadcast(RULES)).process(Wait())


def wait_keyed(words: DataStream, rules: DataStream) -> DataStream:
    return words.key_by(initial).connect(rules.broadcast(RULES)).process(WaitKeyed())


def alarm(words: DataStream, rules: DataStream) -> DataStream:
    return words.key_by(initial).connect(rules.broadcast(RULES)).process(Alarm())


TRANSCRIPTS = [
    Transcript(
        "an element sees the rules of its moment, and what both sides emit has the time of its own element",
        translate,
        [
            Step(Element("one", 1), side={UNKNOWN: [("one", 1)]}),
            Step(Input(1, Element(("one", "eins"), 5)), out=[(["one"], 5)]),
            Step(Element("one", 2), Element("two", 3), out=[("eins", 2)], side={UNKNOWN: [("two", 3)]}),
            Step(Input(1, Element(("*", "?"), 6), Element(("two", "zwei"), 7)), out=[(["*"], 6), (["one", "two"], 7)]),
            Step(Element("two", 4), Element("three", 4), out=[("zwei", 4), ("?", 4)]),
            Step(Input(1, Element(("two", None), 8), ("*", None)), out=[(["one"], 8), ([], None)]),
            Step(Element("two", 5), side={UNKNOWN: [("two", 5)]}),
        ],
        inputs=2,
        stepwise_only=FIRST,
    ),
    Transcript(
        "an object of broadcast state that the broadcast side changes in place stays changed only if it is put back",
        collect,
        [
            Step(Input(1, ("a", "x"), ("B", "y"))),
            Step(Input(1, ("a", "z"), ("B", "z"))),
            Step("a", "B", "c", out=[(("a", ("x", "z")), None), (("B", ("y",)), None), (("c", ()), None)]),
        ],
        inputs=2,
        stepwise_only=FIRST,
    ),
    Transcript(
        "elements that wait in operator state are released by the rule, whoever is first",
        wait,
        [
            Step(1, 2, Cut(), 3),
            Step(Input(1, 10), out=[(10, None), (20, None), (30, None)]),
            Step(4, 5, out=[(40, None), (50, None)]),
        ],
        inputs=2,
    ),
    Transcript(
        "the broadcast side reaches the keyed state of every key",
        wait_keyed,
        [
            Step("ant", "bee", "ape", left=Left(0, 0, 2)),
            Step(Input(1, "!"), out=[(("a", "ant!"), None), (("a", "ape!"), None), (("b", "bee!"), None)], left=Left()),
            Step("bat", out=[(("b", "bat!"), None)]),
        ],
        inputs=2,
        any_order=True,
    ),
    Transcript(
        "a timer reads the rules of the moment it fires, which the slower side decides",
        alarm,
        [
            Step(Element("ant", 1), Element("ape", 2), Input(1, Element("early", 1)), left=Left(1, 0, 1)),
            Step(Watermark(11), watermark=NO_WATERMARK),
            Step(Input(1, Element("late", 2), Watermark(10)), watermark=10),
            Step(Input(1, Watermark(20)), out=[(("a", 2, "late"), 11)], watermark=11, left=Left()),
            Step(Element("bee", 12), Input(1, End()), left=Left(1, 0, 1)),
            Step(Watermark(22), out=[(("b", 1, "late"), 22)], watermark=22),
        ],
        inputs=2,
        stepwise_only=FIRST,
    ),
    Transcript(
        "a broadcast side that is idle holds no timer up",
        alarm,
        [
            Step(Element("ant", 1), Input(1, Element("rule", 1))),
            Step(Watermark(15), watermark=NO_WATERMARK),
            Step(Input(1, Idle()), out=[(("a", 1, "rule"), 11)], watermark=15),
        ],
        inputs=2,
        stepwise_only=FIRST,
    ),
    Transcript(
        "a timer of the clock reads the rules too",
        alarm,
        [
            Step(Clock(100), "ant", Input(1, "rule"), left=Left(0, 1, 1)),
            Step(Clock(109)),
            Step(Clock(110), out=[(("a", 1, ("rule", "by the clock")), None)], left=Left()),
        ],
        inputs=2,
        stepwise_only=FIRST,
    ),
]
