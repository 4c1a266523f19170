"""The Spark session of the run, shared with the tests of `tests/spark`."""

from __future__ import annotations

from tests.spark.conftest import spark

__all__ = ["spark"]
