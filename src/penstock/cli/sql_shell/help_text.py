"""What HELP shows."""

from __future__ import annotations

HELP = """\
A statement ends with a semicolon and may have many lines.

  SELECT ..., VALUES ...           run a query; Ctrl-C ends it
  INSERT INTO ...                  start a job in the background
  EXECUTE STATEMENT SET BEGIN
    INSERT ...; INSERT ...; END    start one job for several INSERTs
  SHOW JOBS                        jobs that this shell started             \\j
  STOP JOB 'id'                    end one; WITH SAVEPOINT: and keep its state
  CREATE, ALTER, DROP              tables, views, databases, catalogs, functions
  SHOW TABLES, DESCRIBE t          what there is                            \\d, \\d t
  EXPLAIN ...                      the plan of a query or INSERT
  SET, SET 'key' = 'value'         show settings, change one
  RESET, RESET 'key'               back to what the shell was started with
  CLEAR                            an empty screen
  HELP                             this text                                \\h
  QUIT, EXIT, Ctrl-D               leave; jobs end with the shell           \\q

SET 'sql-client.execution.result-mode' = 'table' | 'changelog' | 'tableau' says how results are shown.
Tab completes, the arrow keys bring back what was typed before, Ctrl-R searches it.
"""
