"""The Spark engine: the only package that imports pyspark."""

from __future__ import annotations

from penstock.engine.spark.job import SparkJobClient, submit

__all__ = ["SparkJobClient", "submit"]
