"""The words of the page that no measurement changes: what is measured, how, and how to repeat it."""

from __future__ import annotations

OPENING = """\
# Benchmarks

Made by `make bench-page` from what is in [benchmarks/results](../benchmarks/results); no figure here is typed by hand.
Speed depends on the machine, so the way to know what yours gives is to run it there:

```sh
make bench-quick   # a few workloads, one round: under 5 minutes
make bench         # all workloads and systems, three rounds
make bench-growth  # how the cost of a record grows
make bench-page    # this page, from what was measured
```"""

METHOD = """\
- *Records a second* is the slope between two sizes of input: the additional records over the additional time. What a
  system needs to start is not in it; it has a table of its own.
- Every system runs the same job at the same parallelism on the same machine, alone, in turns: a round goes over all of
  them before the next round begins. Figures are medians over the rounds; ratios are taken within a round.
- Keys are drawn at random, uniformly or by Zipf's law, with the same seed for all. A cycle of keys would defeat every
  cache. They are drawn beforehand, so that drawing numbers in Python is not what is measured.
- Each system has the settings that were found best for it: PyFlink in both execution modes, in process mode with
  bundles of 1,000,000 records or 10 s and a state cache of 1,000,000 entries, which is many times faster than its
  defaults; Bytewax as one process and as two. Where a system has several ways, the fastest at each workload is the one
  that Penstock is compared with.
- Nothing is written at the end of a job, in no system: sinks are not what is compared. Generators of Flink and Spark
  run on the JVM.
- Memory is that of all processes of a run, JVM included, at its peak.
- Where there is a dash, the job cannot be said in that system, or not without writing half of the system oneself.
  *failed* means that it was tried."""

GROWTH = """\
Penstock alone. Keys: a running count in a ValueState; timed when nearly all keys have been met. Bytes of state: 10,000
keys, each with a value of so many bytes that every record changes. Maps: of one lambda each, in one chain. Levels:
keyed running counts in a row, each behind an exchange of its own. Parallelism: the running count of 2,000 keys; beyond
the number of cores it can only show that more subtasks do not cost much. Bars at the points are the range of
the rounds. Microseconds are by the clock, with all cores at work."""
