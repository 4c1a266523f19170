"""The concepts of stream processing: functions, state descriptors, windows, triggers, expressions, aggregates.

Front ends (`penstock.datastream` and its siblings) build programs from them, and the runtime runs them.
"""
