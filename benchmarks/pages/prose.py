"""The words of the page that no measurement changes: what is measured, how, and how to repeat it."""

from __future__ import annotations

OPENING = """\
# Benchmarks

Made by `make bench-page` from what is in [benchmarks/results](../benchmarks/results); no figure here is typed by hand.
Speed depends on the machine, so the way to know what yours gives is to run it there:

```sh
make bench-quick   # a few workloads, one round: 4 minutes on 2 cores, when the peers have been fetched
make bench         # all workloads and systems, three rounds
make bench-verify  # whether all systems put out the same results
make bench-growth  # how the cost of a record grows
make bench-page    # this page, from what was measured
```"""

METHOD = """\
- *Records a second* is the slope between two sizes of input: the additional records over the additional time. What a
  system needs to start is not in it; it has a table of its own: from the start of the process to the end of its first
  job, less what the records of that job cost. The first job is the small input, to warm up; then both sizes are run in
  the same process.
- Every system runs the same job at the same parallelism on the same machine, alone, in turns: a round goes over all of
  them before the next round begins. Figures are medians over the rounds; ratios are taken within a round.
- Records are the same in every system: key, value and event time are functions of a record's number, and the keys pass
  for random, uniform or by Zipf's law. A cycle of keys would defeat every cache. Flink and Spark compute them on the
  JVM, from their own generators of numbers; Penstock and Bytewax look them up in a table that was drawn beforehand, so
  that drawing numbers in Python is not what is measured.
- All systems put out the same results, or it is said here: `make bench-verify` compares each with plain Python. For
  each record the running count has a result in Penstock, PyFlink, Flink SQL, Bytewax and transformWithState; Spark's
  own `count` has one for each key and batch. Where there are lambdas, SQL has expressions.
- Each system has the settings that were found best for it: PyFlink in both execution modes, in process mode with
  bundles of 1,000,000 records or 10 s and a state cache of 1,000,000 entries, which is many times faster than its
  defaults; Bytewax as one process and as two; Penstock with batches of up to 2,000,000 records (8,000,000 in columns)
  where its default is 500,000, and of about a second where a checkpoint is asked for every second. Batches of
  transformWithState take it about as long as Penstock's take Penstock: it works through the rows of a key together, and
  would be faster with larger ones. Where a system has several ways, the fastest at each workload is the one that
  Penstock is compared with.
- PyFlink gets rows with their event time from the JVM, and gives its results back to it: nothing is converted in Python
  only for the benchmark. Where there are no keys it gets numbers and makes its records in Python, which is faster.
- Spark has RocksDB with a changelog, the only store that transformWithState takes. Bytewax has no watermarks of its
  inputs: it waits 10 s, and with two processes for as much as one may be ahead of the other.
- Results are thrown away where they come out, in no time: sinks are not what is compared.
- Inputs are sized to take about as long everywhere, and longer where a bundle or a batch takes seconds. Inputs of
  tumbling windows are whole windows, so that the difference of the two sizes has all the work of so many of them.
- Memory is that of all processes of a run, JVM included, at its peak; pages that several share count once.
- Where there is a dash, the job cannot be written in that system, or not without writing half of the system oneself.
  *not measured* means that it can be, and was not run; *failed* that it was tried; *single* that it ran once."""

SQL = """\
The queries are word for word the same in Penstock and Flink SQL, and so are the records: both compute key, value and
event time in SQL, of the numbers that their own generators give. GROUP BY is a changelog in both: for each record the
result before it and the result after it. Spark's own streaming says the same jobs as data frames; its GROUP BY has one
result for each key and batch."""

GROWTH = """\
Penstock alone. Keys: a running count in a ValueState; timed when nearly all keys have been met. Bytes of state: 10,000
keys, each with a value of so many bytes that every record changes. Maps: of one lambda each, in one chain. Levels:
keyed running counts in a row, each behind an exchange of its own. Parallelism: the running count of 2,000 keys; beyond
the number of cores it can only show that more subtasks do not cost much. Bars at the points are the range of
the rounds. Microseconds are by the clock, with all cores at work."""
