"""The topologies that are compared with Kafka Streams, as data, and random inputs for them."""

from __future__ import annotations

import random
from typing import Any

Step = dict[str, Any]
Program = list[Step]


def chain(*steps: Step) -> Program:
    """Steps that each go on from the one before, ending in the topic `out`."""
    program: Program = []
    for number, step in enumerate(steps):
        before = {"in": f"s{number - 1}"} if number and "in" not in step and step["op"] not in SOURCES else {}
        program.append({"id": f"s{number}", **before, **step})
    last = program[-1]
    return [*program, {"op": "to", "in": last["id"], "topic": "out"}]


SOURCES = {"stream", "table", "global_table"}
A, B = {"op": "stream", "topic": "a"}, {"op": "stream", "topic": "b", "id": "b"}
TA, TB = {"op": "table", "topic": "a"}, {"op": "table", "topic": "b", "id": "b"}
GB = {"op": "global_table", "topic": "b", "id": "b"}
KEYED: Step = {"op": "group_by_key"}
BY_FIRST: Step = {"op": "group_by", "fn": "first"}
COUNT, REDUCE, AGGREGATE = {"op": "count"}, {"op": "reduce"}, {"op": "aggregate"}
# Kafka Streams forgets windows before it emits them when time leaps further than the retention; Penstock does not.
KEPT_AGGREGATE: Step = {"op": "aggregate", "retention": 5000}
FINAL: Step = {"op": "suppress"}


def windowed(kind: str, size: int, **options: Any) -> Step:
    return {"op": "windowed_by", "kind": kind, "size": size, **options}


def then(op: str, **options: Any) -> Step:
    return {"op": op, **options}


def two(first: Step, second: Step, *steps: Step) -> Program:
    """Two sources, the second with the id `b`, and steps that go on from the first."""
    program = chain(first, *steps)
    return [second, *program]


PROGRAMS: dict[str, Program] = {
    "filter": chain(A, then("filter", fn="odd"), then("filter_not", fn="a_or_b")),
    "map_values": chain(A, then("map_values", fn="tag")),
    "flat_map": chain(A, then("flat_map"), then("peek")),
    "merge": two(A, B, then("merge", other="b")),
    "branch": [
        *chain(A, then("branch", fn="odd", rest="rest"), then("map_values", fn="tag")),
        {"op": "to", "in": "rest", "topic": "out2"},
    ],
    "select_key_count": chain(A, then("select_key", fn="first"), KEYED, COUNT),
    "repartition_reduce": chain(A, then("repartition"), KEYED, REDUCE),
    "count": chain(A, KEYED, COUNT),
    "count_store": chain(A, KEYED, then("count", store="counts")),
    "reduce": chain(A, BY_FIRST, REDUCE),
    "aggregate": chain(A, BY_FIRST, AGGREGATE),
    "aggregate_filter": chain(A, KEYED, AGGREGATE, then("filter", fn="odd")),
    "count_regroup": chain(A, KEYED, COUNT, then("group_by", fn="digit"), AGGREGATE),
    "table": chain(TA, then("filter", fn="odd")),
    "table_store": chain({**TA, "store": "t"}, then("filter", fn="odd"), then("map_values", fn="tag")),
    "table_filter_store": chain(TA, then("filter_not", fn="a_or_b", store="kept")),
    "table_map_store": chain(TA, then("map_values", fn="drop_c", store="kept"), then("filter", fn="odd")),
    "table_count": chain(TA, then("group_by", fn="first"), COUNT),
    "table_reduce": chain(TA, then("group_by", fn="first"), REDUCE),
    "table_aggregate": chain(TA, then("filter", fn="odd"), then("group_by", fn="digit"), AGGREGATE),
    "to_table": chain(A, then("filter", fn="odd"), then("to_table", store="t"), then("map_values", fn="tag")),
    "to_table_rekeyed": chain(A, then("select_key", fn="first"), then("to_table"), then("group_by", fn="digit"), COUNT),
    "tumbling_count": chain(A, KEYED, windowed("time", 10), COUNT),
    "tumbling_grace": chain(A, KEYED, windowed("time", 10, grace=15), AGGREGATE),
    "tumbling_reduce": chain(A, KEYED, windowed("time", 10, grace=5), REDUCE),
    "tumbling_close": chain(A, KEYED, windowed("time", 10, grace=5, emit="close"), KEPT_AGGREGATE),
    "tumbling_final": chain(A, KEYED, windowed("time", 10, grace=5), AGGREGATE, FINAL),
    "tumbling_final_mapped": chain(A, BY_FIRST, windowed("time", 10), COUNT, then("map_values", fn="shown"), FINAL),
    "tumbling_regroup": chain(A, KEYED, windowed("time", 10, grace=5), COUNT, then("group_by", fn="digit"), AGGREGATE),
    "hopping": chain(A, KEYED, windowed("time", 12, advance=4, grace=6), AGGREGATE),
    "hopping_close": chain(A, KEYED, windowed("time", 12, advance=4, emit="close"), KEPT_AGGREGATE),
    "hopping_final": chain(A, KEYED, windowed("time", 12, advance=5, grace=3), COUNT, FINAL),
    "sliding": chain(A, KEYED, windowed("sliding", 7, grace=20), AGGREGATE),
    "sliding_late": chain(A, KEYED, windowed("sliding", 5), COUNT),
    "sliding_close": chain(A, KEYED, windowed("sliding", 6, grace=4, emit="close"), KEPT_AGGREGATE),
    "sliding_final": chain(A, KEYED, windowed("sliding", 6, grace=4), COUNT, FINAL),
    "session": chain(A, KEYED, windowed("session", 5, grace=20), AGGREGATE),
    "session_count": chain(A, BY_FIRST, windowed("session", 4), COUNT),
    "session_reduce": chain(A, KEYED, windowed("session", 6, grace=3), REDUCE),
    "session_close": chain(A, KEYED, windowed("session", 5, grace=5, emit="close"), KEPT_AGGREGATE),
    "session_final": chain(A, KEYED, windowed("session", 5, grace=5), AGGREGATE, FINAL),
    "session_filtered": chain(A, KEYED, windowed("session", 5, grace=9), COUNT, then("filter", fn="odd")),
    "suppress_time": chain(TA, then("suppress", wait=8)),
    "suppress_time_count": chain(A, KEYED, COUNT, then("suppress", wait=6), then("map_values", fn="shown")),
    "suppress_records": chain(TA, then("suppress", wait=30, records=2)),
    "suppress_regroup": chain(TA, then("suppress", wait=5), then("group_by", fn="first"), COUNT),
    "stream_join": two(A, B, then("join", other="b", within=6)),
    "stream_join_grace": two(A, B, then("join", other="b", within=5, grace=20)),
    "stream_join_asymmetric": two(A, B, then("join", other="b", within=3, before=2, after=8, grace=5)),
    "stream_left_join": two(A, B, then("left_join", other="b", within=5, grace=4)),
    "stream_left_join_no_grace": two(A, B, then("left_join", other="b", within=4)),
    "stream_outer_join": two(A, B, then("outer_join", other="b", within=5, grace=4)),
    "stream_outer_asymmetric": two(A, B, then("outer_join", other="b", within=3, before=6, after=1, grace=2)),
    "stream_join_rekeyed": two(A, B, then("map", fn="first"), then("join", other="b", within=6, grace=6)),
    "stream_join_windowed_count": two(
        A, B, then("join", other="b", within=5, grace=5), KEYED, windowed("time", 10, grace=10), COUNT
    ),
    "stream_table": two(A, TB, then("join_table", other="b")),
    "stream_table_left": two(A, TB, then("left_join_table", other="b")),
    "stream_table_rekeyed": two(A, TB, then("select_key", fn="digit"), then("join_table", other="b")),
    "stream_filtered_table": [
        TB,
        {"op": "filter", "fn": "odd", "in": "b", "id": "odd"},
        *chain(A, then("left_join_table", other="odd")),
    ],
    "stream_counted_table": [
        B,
        {"op": "group_by_key", "in": "b", "id": "g"},
        {"op": "count", "in": "g", "id": "c"},
        *chain(A, then("join_table", other="c")),
    ],
    "stream_global": two(A, GB, then("join_global", other="b", fn="digit")),
    "stream_global_left": two(A, GB, then("left_join_global", other="b", fn="digit"), KEYED, COUNT),
    "table_join": two(TA, TB, then("join", other="b")),
    "table_left_join": two(TA, TB, then("left_join", other="b")),
    "table_outer_join": two(TA, TB, then("outer_join", other="b")),
    "table_join_store": two(TA, TB, then("join", other="b", store="j"), then("filter", fn="odd")),
    "table_outer_regroup": two(TA, TB, then("outer_join", other="b"), then("group_by", fn="first"), AGGREGATE),
    "table_left_filtered": [
        TB,
        {"op": "filter", "fn": "odd", "in": "b", "id": "odd"},
        *chain(TA, then("map_values", fn="drop_c"), then("left_join", other="odd")),
    ],
    "table_join_twice": two(TA, TB, then("join", other="b"), then("left_join", other="b"), then("filter", fn="odd")),
    "foreign_key": two(TA, TB, then("fk_join", other="b")),
    "foreign_key_left": two(TA, TB, then("fk_left_join", other="b")),
    "foreign_key_regroup": two(TA, TB, then("fk_join", other="b"), then("group_by", fn="first"), AGGREGATE),
    "cogroup": [
        *two(A, B, KEYED, then("cogroup"), then("cogroup", other="gb"), AGGREGATE),
    ],
    "cogroup_windowed": [
        *two(A, B, KEYED, then("cogroup"), then("cogroup", other="gb"), windowed("time", 10, grace=5), AGGREGATE),
    ],
    "cogroup_session": [
        *two(A, B, KEYED, then("cogroup"), then("cogroup", other="gb"), windowed("session", 5, grace=9), AGGREGATE),
    ],
    "process_stream_time": chain(A, then("process_count", store="n", stream_time=10)),
    "process_wall_clock": chain(A, then("process_count", store="n", wall_clock=25)),
    "process_windows": chain(A, then("process_windows", store="w")),
}

for _name in ("cogroup", "cogroup_windowed", "cogroup_session"):
    # The group of the second stream must be there before the first one is cogrouped with it.
    PROGRAMS[_name].insert(1, {"op": "group_by_key", "in": "b", "id": "gb"})


def outputs(program: Program) -> list[str]:
    return [step["topic"] for step in program if step["op"] == "to"]


def random_input(program: Program, seed: int, length: int = 40) -> list[dict[str, Any]]:
    """Records with few keys, missing values, times that go back now and then, and leaps."""
    chance = random.Random(seed)
    topics = [step["topic"] for step in program if step["op"] in SOURCES]
    has_clock = any("wall_clock" in step for step in program)
    events: list[dict[str, Any]] = []
    now = chance.choice([0, 3, 50])
    for _ in range(length):
        if has_clock and chance.random() < 0.3:
            events.append({"advance": chance.choice([10, 25, 60])})
            continue
        now += chance.choice([0, 0, 1, 1, 2, 3, 5]) + (40 if chance.random() < 0.04 else 0)
        time = max(0, now - (chance.randrange(25) if chance.random() < 0.25 else 0))
        key = None if chance.random() < 0.03 else f"k{chance.randrange(4)}"
        value = None if chance.random() < 0.12 else chance.choice("abc") + str(chance.randrange(10))
        if value is not None and chance.random() < 0.3:
            value += "x"
        events.append({"topic": chance.choice(topics), "key": key, "value": value, "ts": time})
    return events


def cases(seeds: range) -> list[dict[str, Any]]:
    return [
        {
            "name": f"{name}-{seed}",
            "program": program,
            "input": random_input(program, seed),
            "outputs": outputs(program),
        }
        for name, program in PROGRAMS.items()
        for seed in seeds
    ]
