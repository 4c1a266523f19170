"""Operators and what runs them inside a task: no Spark, no files, no wall clock of its own."""
