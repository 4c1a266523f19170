"""Compares Penstock's plans of Flink's planner programs with those of Flink's own planner."""
