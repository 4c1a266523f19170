"""The words of stream processing: functions, state descriptors, windows, triggers, expressions, aggregates.

Front ends (`penstock.datastream` and its siblings) build programs of them, the runtime runs them. They know neither.
"""
