"""Benchmarks: speed and memory of jobs, measured on the machine they run on."""
