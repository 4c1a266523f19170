"""How long a record takes through a running job, in Penstock's two modes, PyFlink and Bytewax: `make bench-latency`."""
