"""Databases as sources and sinks."""
