"""Engines that run a plan; Spark is the one for production."""
