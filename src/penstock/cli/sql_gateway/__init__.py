"""The process of a session of the SQL gateway: `python -m penstock.cli.sql_gateway SOCKET FOLDER`, started by the server.

It runs statements as `penstock sql` does and answers the calls of the server over a socket. It ends, with all it runs,
when the socket is closed: by the server, or by its death.
"""
