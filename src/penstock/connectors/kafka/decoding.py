"""Deserializing Kafka messages, and handling bad records."""

from __future__ import annotations

import reprlib
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from itertools import repeat
from operator import is_
from typing import Any, Generic

import numpy as np

from penstock.common.serialization import DeserializationSchema
from penstock.common.type_variables import A, T_co
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.kafka.client import partition_name
from penstock.connectors.source import Chunk, Counted, PartitionItem, SideRecords

BAD_RECORDS = "bad_records"
BYTES_IN = "bytes_in"
_TIMESTAMP_TYPES = {0: "NoTimestampType", 1: "CreateTime", 2: "LogAppendTime"}
_SHORT = reprlib.Repr()
_SHORT.maxother = _SHORT.maxstring = 120


@dataclass(frozen=True, slots=True)
class KafkaRecord:
    """A record as Kafka has it; `timestamp` is None where the topic keeps none, `headers` are in their order."""

    topic: str
    partition: int
    offset: int
    timestamp: int | None
    timestamp_type: str
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()

    @classmethod
    def of(cls, message: Any) -> KafkaRecord:
        """The record of a message of the client library."""
        kind, timestamp = message.timestamp()
        return cls(
            message.topic(),
            message.partition(),
            message.offset(),
            timestamp if kind else None,
            _TIMESTAMP_TYPES.get(kind, "NoTimestampType"),
            message.key(),
            message.value(),
            tuple(message.headers() or ()),
        )


class KafkaRecordDeserializationSchema(ABC, Generic[T_co]):
    """Deserializes whole records, with key, headers and position; subclass it."""

    @abstractmethod
    def deserialize(self, record: KafkaRecord) -> Any:
        """Return the value of a record; a list or generator gives several values, None gives none."""

    def get_produced_type(self) -> TypeInformation[T_co] | None:
        """Return the type of the values, if it is to be known to the job."""
        return None

    @staticmethod
    def value_only(schema: DeserializationSchema[A]) -> KafkaRecordDeserializationSchema[A]:
        """Deserialize the value and leave everything else."""
        return ValueOnly(schema)


class ValueOnly(KafkaRecordDeserializationSchema[T_co]):
    """A schema for values alone; a record without a value gives nothing."""

    def __init__(self, schema: DeserializationSchema[T_co]) -> None:
        self.schema = schema

    def deserialize(self, record: KafkaRecord) -> Any:
        """Return the value in a list, for it may itself be one."""
        value = None if record.value is None else self.schema.deserialize(record.value)
        return None if value is None else [value]

    def get_produced_type(self) -> TypeInformation[T_co] | None:
        """Return what the schema says."""
        return self.schema.get_produced_type()


@dataclass(frozen=True)
class BadRecords:
    """What to do with a record whose deserializer raises: fail, skip, or send it to a side output."""

    does_fail: bool = True
    tag: str | None = None


class Decoder:
    """Turns pieces of messages of one partition into what the source gives."""

    def __init__(self, schema: KafkaRecordDeserializationSchema, bad: BadRecords) -> None:
        self._schema = schema
        self._values = schema.schema if isinstance(schema, ValueOnly) else None
        self._bad = bad

    def decode(self, messages: list[Any]) -> Iterator[PartitionItem]:
        """Whole pieces at once if that works; one by one where a record is bad or the user wants records."""
        if not messages:
            return  # a range may be all marks of transactions
        if self._values is not None:
            raw = [message.value() for message in messages]
            if None not in raw:
                yield Counted(BYTES_IN, sum(map(len, raw)))
                chunk = self._all_at_once(self._values, raw, messages)
                if chunk is not None:
                    yield chunk
                    return
        yield from self._one_by_one(messages, is_counted=self._values is not None and None not in raw)

    def _all_at_once(self, schema: DeserializationSchema, raw: list[bytes], messages: list[Any]) -> Chunk | None:
        try:
            stamps = _timestamps(messages)
            columns = schema.deserialize_columns(raw) if None not in stamps else None
            if columns is not None and len(columns) == len(messages):
                return columns, np.array(stamps, np.int64)
            values = schema.deserialize_many(raw)
        except Exception:  # one by one shows which, and what is to become of it
            return None
        is_complete = len(values) == len(messages) and not any(map(is_, values, repeat(None)))
        return (values, stamps) if is_complete else None

    def _one_by_one(self, messages: list[Any], *, is_counted: bool) -> Iterator[PartitionItem]:
        values: list[Any] = []
        stamps: list[int | None] = []
        bad: list[tuple[str, KafkaRecord]] = []
        for message in messages:
            record = KafkaRecord.of(message)
            try:
                given = self._schema.deserialize(record)
                several = given if isinstance(given, list) else list(_each(given))
            except Exception as error:
                if self._bad.does_fail:
                    error.add_note(f"deserializing {describe(record)}")
                    raise
                bad.append((f"{type(error).__name__}: {error}", record))
                continue
            values += several
            stamps += [record.timestamp] * len(several)
        if not is_counted:
            yield Counted(BYTES_IN, sum(len(message.value() or b"") for message in messages))
        if bad:
            yield Counted(BAD_RECORDS, len(bad))
            if self._bad.tag is not None:
                yield SideRecords(self._bad.tag, bad, [record.timestamp for _, record in bad])
        if values:
            chunk: Chunk = (values, stamps)
            yield chunk


def _each(given: Any) -> Iterator[Any]:
    if isinstance(given, Generator):
        yield from given
    elif given is not None:
        yield given


def _timestamps(messages: list[Any]) -> list[int] | list[int | None]:
    told = [message.timestamp() for message in messages]
    kinds, stamps = zip(*told, strict=True)
    return list(stamps) if all(kinds) else [stamp if kind else None for kind, stamp in told]


def describe(record: KafkaRecord) -> str:
    """A record in a message: where it is, and the beginning of its value."""
    name = partition_name(record.topic, record.partition)
    return f"record at offset {record.offset} of partition {name}, value {_SHORT.repr(record.value)}"
