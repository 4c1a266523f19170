"""Continuous mode on Spark: tasks that stay, joined by Spark's pipelined shuffle, with barriers in the stream."""
