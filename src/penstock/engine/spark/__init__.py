"""The Spark engine: the only package that imports pyspark."""

from __future__ import annotations

from penstock.engine.spark.engine import submit

__all__ = ["submit"]
