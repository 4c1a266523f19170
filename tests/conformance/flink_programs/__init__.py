"""Plays the programs of Flink's planner tests: `python -m tests.conformance.flink_programs PROGRAMS.json`."""
