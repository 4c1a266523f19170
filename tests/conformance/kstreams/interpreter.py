"""Plays a topology that is described as data on Penstock's test driver, as `Runner.java` does on Kafka Streams'."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.kstreams import (
    BufferConfig,
    CogroupedKStream,
    Consumed,
    EmitStrategy,
    Grouped,
    Joined,
    JoinWindows,
    KStream,
    KTable,
    Materialized,
    Processor,
    ProcessorContext,
    PunctuationType,
    Record,
    Repartitioned,
    Serdes,
    SessionWindowedKStream,
    SessionWindows,
    SlidingWindows,
    Stores,
    StreamJoined,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
    Topology,
    TopologyTestDriver,
    WindowedCogroupedKStream,
)

Step = dict[str, Any]
TEXT = Serdes.String()


def play(case: dict[str, Any]) -> dict[str, Any]:
    """The description of a topology, and what comes out after each event."""
    topology = Program().build(case["program"])
    described = str(topology.describe())
    config = {"default.key.serde": TEXT, "default.value.serde": TEXT}
    output: list[list[list[Any]]] = []
    with TopologyTestDriver(topology, config, initial_wall_clock_time=0) as driver:
        for event in case["input"]:
            if "advance" in event:
                driver.advance_wall_clock_time(event["advance"])
            else:
                topic = driver.create_input_topic(event["topic"], TEXT, TEXT)
                topic.pipe_input(event["key"], event["value"], event["ts"])
            output.append(_drained(driver, case["outputs"]))
    return {"describe": described, "output": output}


def _drained(driver: TopologyTestDriver, topics: list[str]) -> list[list[Any]]:
    rows = []
    for topic in topics:
        as_bytes: Callable[[Any], Any] = bytes.hex
        for record in driver.create_output_topic(topic, as_bytes, as_bytes).read_records_to_list():
            rows.append([topic, record.key, record.value, record.timestamp])
    return rows


# ---- functions that programs name; `Runner.java` has the same ----


def shown(value: Any) -> str:
    return "null" if value is None else str(value)


def holds(name: str, value: Any) -> bool:
    text = None if value is None else str(value)
    if text is None:
        return False
    return {"odd": len(text) % 2 == 1, "a_or_b": text[:1] in ("a", "b"), "small": len(text) < 8}[name]


def mapped(name: str, value: Any) -> Any:
    if name == "shown":
        return shown(value)
    text = None if value is None else str(value)
    if name == "tag":
        return None if text is None else text + "'"
    return None if text is None or text.startswith("c") else text


def key_of(name: str, value: Any) -> Any:
    if name == "digit_or_none":
        return None if value.startswith("c") else f"k{ord(value[1]) % 4}"
    if value is None:
        return None
    return value[:1] if name == "first" else f"k{ord(value[-1]) % 3}"


def joined(left: Any, right: Any) -> str:
    return f"{shown(left)}|{shown(right)}"


def start() -> str:
    return "."


def add(key: Any, value: Any, aggregate: str) -> str:
    return aggregate + shown(value)


def subtract(key: Any, value: Any, aggregate: str) -> str:
    return f"{aggregate}-{shown(value)}"


def merge(key: Any, left: str, right: str) -> str:
    return f"{left}&{right}"


def plus(left: Any, right: Any) -> str:
    return f"{shown(left)}+{shown(right)}"


def minus(left: Any, right: Any) -> str:
    return f"{shown(left)}~{shown(right)}"


class CountingProcessor(Processor):
    """Counts records of a key, forgets it at four, and tells all counts when it is punctuated."""

    def __init__(self, step: Step) -> None:
        self._step = step

    def init(self, context: ProcessorContext) -> None:
        super().init(context)
        self._store = context.get_state_store(self._step["store"])
        if "stream_time" in self._step:
            context.schedule(self._step["stream_time"], PunctuationType.STREAM_TIME, self._report)
        if "wall_clock" in self._step:
            context.schedule(self._step["wall_clock"], PunctuationType.WALL_CLOCK_TIME, self._report)

    def _report(self, time: int) -> None:
        text = "".join(f"{key}{count}" for key, count in self._store.all())
        self.context().forward(Record("at", text, time))

    def process(self, record: Record) -> None:
        key = shown(record.key)
        count = (self._store.get(key) or 0) + 1
        self._store.put(key, None if count >= 4 else count)
        self.context().forward(record.with_value(f"{shown(record.value)}{count}"))


class WindowProcessor(Processor):
    """Keeps the last value of each window of ten, and tells those of the last windows."""

    def __init__(self, step: Step) -> None:
        self._name = step["store"]

    def init(self, context: ProcessorContext) -> None:
        super().init(context)
        self._store = context.get_state_store(self._name)

    def process(self, record: Record) -> None:
        if record.key is None:
            return
        first = record.timestamp // 10 * 10
        self._store.put(record.key, record.value, first)
        found = self._store.fetch(record.key, max(0, first - 30), first + 10)
        text = "".join(f"{at}{value}" for at, value in found)
        self.context().forward(record.with_value(f"{text}:{shown(self._store.fetch(record.key, first))}"))


# ---- programs ----


class Program:
    """A program that is being built: what its steps made, by id."""

    def __init__(self) -> None:
        self._builder = StreamsBuilder()
        self._made: dict[str, Any] = {}

    def build(self, program: list[Step]) -> Topology:
        for step in program:
            result = self._step(step, step["op"], self._made.get(step.get("in", "")))
            if "id" in step:
                self._made[step["id"]] = result
        return self._builder.build()

    def _step(self, step: Step, op: str, given: Any) -> Any:
        consumed = Consumed.with_(TEXT, TEXT)
        if op == "stream":
            return self._builder.stream(step["topic"], consumed)
        if op == "table":
            kept = Materialized.as_(step["store"]) if "store" in step else None
            return self._builder.table(step["topic"], consumed, kept)
        if op == "global_table":
            return self._builder.global_table(step["topic"], consumed)
        if op == "to":
            stream = given.to_stream() if isinstance(given, KTable) else given
            return stream.to(step["topic"])
        if isinstance(given, KStream):
            return self._stream_step(step, op, given)
        if isinstance(given, KTable):
            return self._table_step(step, op, given)
        return self._group_step(step, op, given)

    def _stream_step(self, step: Step, op: str, given: KStream) -> Any:
        name: str = step.get("fn", "")
        other: Any = self._made.get(step.get("other", ""))
        grouped, stream_joined = Grouped.with_(TEXT, TEXT), StreamJoined.with_(TEXT, TEXT, TEXT)
        plain: dict[str, Callable[[], Any]] = {
            "filter": lambda: given.filter(lambda key, value: holds(name, value)),
            "filter_not": lambda: given.filter_not(lambda key, value: holds(name, value)),
            "map_values": lambda: given.map_values(lambda value: mapped(name, value)),
            "map": lambda: given.map(lambda key, value: (key_of(name, value), value)),
            "flat_map_values": lambda: given.flat_map_values(lambda value: list(value or "")),
            "flat_map": lambda: given.flat_map(lambda key, value: [(each, shown(key) + each) for each in value or ""]),
            "select_key": lambda: given.select_key(lambda key, value: key_of(name, value)),
            "merge": lambda: given.merge(other),
            "repartition": lambda: given.repartition(Repartitioned.with_(TEXT, TEXT)),
            "peek": lambda: given.peek(lambda key, value: None),
            "group_by_key": lambda: given.group_by_key(grouped),
            "group_by": lambda: given.group_by(lambda key, value: key_of(name, value), grouped),
            "to_table": lambda: given.to_table(
                materialized=Materialized.as_(step["store"]) if "store" in step else None
            ),
            "join": lambda: given.join(other, joined, _join_windows(step), stream_joined),
            "left_join": lambda: given.left_join(other, joined, _join_windows(step), stream_joined),
            "outer_join": lambda: given.outer_join(other, joined, _join_windows(step), stream_joined),
            "join_table": lambda: given.join(other, joined, Joined.with_(TEXT, TEXT, TEXT)),
            "left_join_table": lambda: given.left_join(other, joined, Joined.with_(TEXT, TEXT, TEXT)),
            "join_global": lambda: given.join(other, lambda key, value: key_of(name, value), joined),
            "left_join_global": lambda: given.left_join(other, lambda key, value: key_of(name, value), joined),
        }
        if op in plain:
            return plain[op]()
        return self._processing_step(step, op, given)

    def _processing_step(self, step: Step, op: str, given: KStream) -> Any:
        if op == "branch":
            branches = given.split("split-").branch(lambda key, value: holds(step["fn"], value)).default_branch()
            self._made[step["rest"]] = branches["split-0"]
            return branches["split-1"]
        if op == "process_count":
            kept = Stores.persistent_key_value_store(step["store"])
            self._builder.add_state_store(Stores.key_value_store_builder(kept, TEXT, Serdes.Long()))
            return given.process(lambda: CountingProcessor(step), step["store"])
        kept = Stores.persistent_window_store(step["store"], 100, 10)
        self._builder.add_state_store(Stores.window_store_builder(kept, TEXT, TEXT))
        return given.process(lambda: WindowProcessor(step), step["store"])

    def _table_step(self, step: Step, op: str, given: KTable) -> Any:
        name: str = step.get("fn", "")
        other: Any = self._made.get(step.get("other", ""))
        kept = Materialized.as_(step["store"]) if "store" in step else None
        plain: dict[str, Callable[[], Any]] = {
            "filter": lambda: given.filter(lambda key, value: holds(name, value), materialized=kept),
            "filter_not": lambda: given.filter_not(lambda key, value: holds(name, value), materialized=kept),
            "map_values": lambda: given.map_values(
                lambda value: mapped(name, value), materialized=kept and kept.with_value_serde(TEXT)
            ),
            "to_stream": lambda: given.to_stream(),
            "group_by": lambda: given.group_by(
                lambda key, value: (key_of(name, str(value)), str(value)), Grouped.with_(TEXT, TEXT)
            ),
            "join": lambda: given.join(other, joined, materialized=kept),
            "left_join": lambda: given.left_join(other, joined, materialized=kept),
            "outer_join": lambda: given.outer_join(other, joined, materialized=kept),
            "fk_join": lambda: given.join(other, lambda value: key_of("digit_or_none", value), joined),
            "fk_left_join": lambda: given.left_join(other, lambda value: key_of("digit_or_none", value), joined),
            "suppress": lambda: given.suppress(_suppressed(step)),
        }
        return plain[op]()

    def _group_step(self, step: Step, op: str, given: Any) -> Any:
        if op == "windowed_by":
            return _windowed(step, given)
        if op == "cogroup":
            is_begun = isinstance(given, CogroupedKStream)
            return given.cogroup(self._made[step["other"]], subtract) if is_begun else given.cogroup(add)
        named = Materialized.as_(step["store"]) if "store" in step else None
        text = (named or Materialized()).with_key_serde(TEXT).with_value_serde(TEXT)
        text = text.with_retention(step["retention"]) if "retention" in step else text
        if isinstance(given, CogroupedKStream):
            return given.aggregate(start, text)
        if isinstance(given, WindowedCogroupedKStream):
            return given.aggregate(start, merge, materialized=text)
        if op == "count":
            return given.count(named)
        is_table = not hasattr(given, "windowed_by") and not hasattr(given, "emit_strategy")
        if op == "reduce":
            return given.reduce(plus, minus) if is_table else given.reduce(plus)
        if is_table:
            return given.aggregate(start, add, subtract, text)
        is_session = isinstance(given, SessionWindowedKStream)
        return given.aggregate(start, add, merge, text) if is_session else given.aggregate(start, add, text)


def _join_windows(step: Step) -> JoinWindows:
    windows = JoinWindows.of_time_difference_and_grace(step["within"], step.get("grace", 0))
    if "before" in step:
        windows = windows.before(step["before"])
    return windows.after(step["after"]) if "after" in step else windows


def _suppressed(step: Step) -> Suppressed:
    if "wait" not in step:
        return Suppressed.until_window_closes(BufferConfig.unbounded())
    buffer = BufferConfig.max_records(step["records"]) if "records" in step else BufferConfig.unbounded()
    return Suppressed.until_time_limit(step["wait"], buffer)


def _windowed(step: Step, given: Any) -> Any:
    size, grace = step["size"], step.get("grace", 0)
    windows: Any
    if step["kind"] == "session":
        windows = SessionWindows.of_inactivity_gap_and_grace(size, grace)
    elif step["kind"] == "sliding":
        windows = SlidingWindows.of_time_difference_and_grace(size, grace)
    else:
        windows = TimeWindows.of_size_and_grace(size, grace)
        windows = windows.advance_by(step["advance"]) if "advance" in step else windows
    made = given.windowed_by(windows)
    return made.emit_strategy(EmitStrategy.on_window_close()) if step.get("emit") == "close" else made
