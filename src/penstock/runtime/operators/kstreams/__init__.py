"""Kafka Streams' operators: its processors, stores on keyed state, and the task that runs a sub-topology."""
