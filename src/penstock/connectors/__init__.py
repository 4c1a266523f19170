"""Sources and sinks: what a job reads and writes, with the guarantee each one gives."""
