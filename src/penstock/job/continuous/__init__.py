"""Continuous mode beside any engine: sources that read on their own, and versions cut by barriers in the stream."""
