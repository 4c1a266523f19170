"""The process of a session of the SQL gateway; the server starts it as `python -m penstock.cli.sql_gateway ...`.

It runs statements as `penstock sql` does and answers the calls of the server over a socket. It ends, with all it runs,
when the socket is closed: by the server, or by its death.
"""
