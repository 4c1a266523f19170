"""The SQL gateway: sessions that run statements, with the paths and fields of Flink's.

Each session is a process of its own (`penstock.cli.sql_gateway`), which ends with the server.
"""
