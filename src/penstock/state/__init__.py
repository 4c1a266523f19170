"""Keyed state, timers and the versions of both in a checkpoint directory; knows no operator and no Spark."""
