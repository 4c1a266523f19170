"""The SQL shell, `penstock sql`: a prompt, or files of statements; see docs/sql_shell.md.

`session` runs statements, `prompt` and `script` feed it, `results` and `live_view` show what comes out.
"""
