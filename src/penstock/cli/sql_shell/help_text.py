"""What HELP shows."""

from __future__ import annotations

HELP = """\
A statement ends with a semicolon and may have many lines.

  SELECT ..., VALUES ...           run a query; Ctrl-C ends it
  INSERT INTO ...                  start a job in the background
  EXECUTE STATEMENT SET BEGIN
    INSERT ...; INSERT ...; END    start one job for several INSERTs
  SHOW JOBS                        jobs started by this shell               \\j
  STOP JOB 'id'                    stop a job; WITH SAVEPOINT keeps its state
  CREATE, ALTER, DROP              tables, views, databases, catalogs, functions
  SHOW TABLES, DESCRIBE t          list tables, show columns                \\d, \\d t
  EXPLAIN ...                      the plan of a query or INSERT
  SET, SET 'key' = 'value'         show settings, change one
  RESET, RESET 'key'               back to the initial value
  CLEAR                            clear the screen
  HELP                             this text                                \\h
  QUIT, EXIT, Ctrl-D               leave the shell and cancel its jobs      \\q

SET 'sql-client.execution.result-mode' = 'table' | 'changelog' | 'tableau' sets how results are shown.
Tab completes, the arrow keys recall earlier statements, Ctrl-R searches them.
"""
