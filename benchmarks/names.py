"""What workloads, systems and axes of growth are called where people read of them; the order is that of the tables."""

from __future__ import annotations

OWN = "penstock"

SYSTEMS = {
    OWN: "Penstock",
    "pyflink_process": "PyFlink, process",
    "pyflink_thread": "PyFlink, thread",
    "transform_with_state": "transformWithState",
    "spark_native": "Spark native",
    "flink_sql": "Flink SQL",
    "bytewax_1": "Bytewax, 1 process",
    "bytewax_2": "Bytewax, 2 processes",
}

FAMILIES = {
    "PyFlink": ("pyflink_process", "pyflink_thread"),
    "transformWithState": ("transform_with_state",),
    "Bytewax": ("bytewax_1", "bytewax_2"),
    "Spark native": ("spark_native",),
    "Flink SQL": ("flink_sql",),
}
"""Systems that can be run in several ways count with the fastest of them, for each workload anew."""

WORKLOADS = {
    "map_filter": "map + filter",
    "count_2k": "keyed count, 2,000 keys",
    "count_200k": "keyed count, 200,000 keys",
    "count_2k_zipf": "keyed count, 2,000 keys, Zipf",
    "count_200k_zipf": "keyed count, 200,000 keys, Zipf",
    "timers": "map state and timers",
    "tumbling": "tumbling window, Python function",
    "tumbling_fields": "tumbling window, declared fields",
    "sliding": "sliding window, 60 s by 1 s",
    "session": "session windows",
    "interval_join": "interval join",
    "count_checkpointed": "keyed count, checkpoint every second",
}

JOBS = {
    "map_filter": "two Python lambdas, no state",
    "count_2k": "a running count for each key in a ValueState, keys drawn uniformly",
    "count_200k": "the same with more keys",
    "count_2k_zipf": "the same, keys drawn by Zipf's law: some are hot",
    "count_200k_zipf": "the same with more keys",
    "timers": "a keyed process function with a MapState and event-time timers",
    "tumbling": "an event-time window of 10 s, aggregated by a Python function",
    "tumbling_fields": "an event-time window of 10 s, count and sum of a field by declaration, no Python function",
    "sliding": "an event-time window of 60 s that slides by 1 s, aggregated",
    "session": "session windows that really end, aggregated",
    "interval_join": "two streams joined by key where their times are near",
    "count_checkpointed": "the count of 2,000 keys with a checkpoint every second",
}

AXES = {
    "keys": "keys",
    "state_bytes": "bytes of state for each key",
    "operators": "maps in a chain",
    "levels": "keyed counts in a row",
    "parallelism": "parallelism",
}
