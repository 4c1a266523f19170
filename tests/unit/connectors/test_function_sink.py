"""Sinks that users write: plain functions see every record, transactions are committed once."""

from __future__ import annotations

import pytest

from penstock.connectors.function_sink import FunctionSink, TwoPhaseCommitSink
from penstock.connectors.sink import SinkContext
from penstock.errors import ConfigurationError

CONTEXT = SinkContext("job", "uid", "orders", 1, 2, lambda: 0)


class Recording:
    def __init__(self):
        self.seen = []

    def invoke(self, value, context):
        self.seen.append((value, context.timestamp(), context.current_watermark()))

    def flush(self):
        self.seen.append("flush")


def test_function_sees_records_times_and_the_end_of_the_batch():
    function = Recording()
    writer = FunctionSink(function).create_writer(CONTEXT)
    writer.begin(0, "a", None)
    writer.write([1, 2], [10, None], 5)
    writer.write([3], None, 6)
    assert writer.prepare_commit(0, False) == []
    assert function.seen == [(1, 10, 5), (2, None, 5), (3, None, 6), "flush"]


def test_plain_callables_get_the_value():
    seen = []
    sink = FunctionSink(seen.append)
    sink.create_writer(CONTEXT).write([1, 2], [3, 4], 0)
    assert seen == [1, 2] and sink.create_committer() is None


def test_what_cannot_be_called_is_refused():
    with pytest.raises(ConfigurationError, match="SinkFunction"):
        FunctionSink(5)


class Ledger(TwoPhaseCommitSink):
    """Transactions in memory; `log` is what was asked for, `rows` what became visible."""

    def __init__(self):
        self.log = []
        self.open = {}
        self.rows = []

    def recover(self, context):
        self.log.append(("recover", context.version))

    def begin_transaction(self, context):
        name = f"{context.sink.subtask}-{context.version}-{context.attempt}"
        self.open[name] = []
        return name

    def invoke(self, transaction, value, context):
        self.open[transaction].append(value)

    def pre_commit(self, transaction):
        self.log.append(("pre_commit", transaction))

    def commit(self, transaction):
        self.rows += self.open.pop(transaction, [])

    def abort(self, transaction):
        del self.open[transaction]


def test_transactions_show_once_whatever_fails():
    sink = Ledger()
    writer, committer = sink.create_writer(CONTEXT), sink.create_committer()
    writer.begin(3, "first", None)
    writer.write([1], None, 0)
    writer.abort()
    writer.begin(3, "second", None)
    writer.write([1], None, 0)
    writer.write([2], None, 0)
    committables = writer.prepare_commit(0, False)
    assert committables == ["1-3-second"] and sink.rows == []
    committer.commit(committables)
    committer.commit(committables)
    assert sink.rows == [1, 2] and sink.open == {}
    assert sink.log == [("recover", 3), ("recover", 3), ("pre_commit", "1-3-second")]


def test_batches_without_records_open_no_transaction():
    sink = Ledger()
    writer = sink.create_writer(CONTEXT)
    writer.begin(0, "a", None)
    writer.write([], None, 0)
    assert writer.prepare_commit(0, True) == [] and sink.open == {}


def test_abort_after_the_handover_touches_nothing():
    sink = Ledger()
    writer = sink.create_writer(CONTEXT)
    writer.begin(0, "a", None)
    writer.write([1], None, 0)
    committables = writer.prepare_commit(0, False)
    writer.begin(1, "b", None)
    writer.abort()
    sink.create_committer().commit(committables)
    assert sink.rows == [1]
