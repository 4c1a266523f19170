"""Connectors of tables: what WITH (`connector` = ...) names."""
