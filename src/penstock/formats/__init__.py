"""Records as bytes and columns: JSON, CSV, Avro, Parquet, ORC.

Formats know records and types. Which files or topics they are used for is decided by connectors.
"""
