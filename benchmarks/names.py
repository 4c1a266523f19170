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
    "flink_cep": "Flink CEP",
    "kafka_streams": "Kafka Streams",
    "bytewax_1": "Bytewax, 1 process",
    "bytewax_2": "Bytewax, 2 processes",
}

PATTERNS_FAMILY = "Flink CEP"
KSTREAMS_FAMILY = "Kafka Streams"

FAMILIES = {
    "PyFlink": ("pyflink_process", "pyflink_thread"),
    "transformWithState": ("transform_with_state",),
    "Bytewax": ("bytewax_1", "bytewax_2"),
    "Spark native": ("spark_native",),
    "Flink SQL": ("flink_sql",),
    PATTERNS_FAMILY: ("flink_cep",),
    KSTREAMS_FAMILY: ("kafka_streams",),
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
    "sql_filter": "SQL: filter and projection",
    "sql_tumble": "SQL: tumbling window aggregate",
    "sql_hop": "SQL: hopping window aggregate, 60 s by 1 s",
    "sql_group_2k": "SQL: GROUP BY, 2,000 keys",
    "sql_group_200k": "SQL: GROUP BY, 200,000 keys",
    "sql_join": "SQL: regular join",
    "cep_rare": "pattern, few matches, Python conditions",
    "cep_rare_columns": "pattern, few matches, column conditions",
    "cep_partials": "pattern, many partial matches, Python conditions",
    "cep_partials_columns": "pattern, many partial matches, column conditions",
    "cep_keys": "pattern, 100,000 keys, Python conditions",
    "cep_keys_columns": "pattern, 100,000 keys, column conditions",
    "kstreams_count": "Kafka Streams: count, Kafka to Kafka",
    "kstreams_join": "Kafka Streams: stream-table join, Kafka to Kafka",
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
    "sql_filter": "arithmetic and a condition in SQL, no state",
    "sql_tumble": "TUMBLE of 10 s, COUNT and SUM by key",
    "sql_hop": "HOP of 60 s by 1 s, COUNT and SUM by key",
    "sql_group_2k": "COUNT and SUM by key: a changelog with the result before and after each record",
    "sql_group_200k": "the same with more keys",
    "sql_join": "two streams joined by an id that each of them has once; all rows are kept",
    "cep_rare": "two events that follow each other within 10 s, each one in a hundred; conditions are Python functions",
    "cep_rare_columns": "the same, conditions are expressions on columns",
    "cep_partials": "three events that follow each other within 10 s; a dozen partial matches of each key at any time",
    "cep_partials_columns": "the same, conditions are expressions on columns",
    "cep_keys": "two events that follow each other within 60 s, each one in a hundred, of 100,000 keys",
    "cep_keys_columns": "the same, conditions are expressions on columns",
    "kstreams_count": "a running count for each of 2,000 keys, every update written to a topic",
    "kstreams_join": "each record joined with its row of a table of 2,000 keys, and written to a topic",
}

AXES = {
    "keys": "keys",
    "state_bytes": "bytes of state for each key",
    "operators": "maps in a chain",
    "levels": "keyed counts in a row",
    "parallelism": "parallelism",
}
