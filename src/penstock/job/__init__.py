"""The driver of a job, whatever engine runs it."""
