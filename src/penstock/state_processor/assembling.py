"""Part files of a changed savepoint: rows that stay, rows that are new.

Also the copies of files that stay as they are. Fit to run in any process that reaches the places.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, groupby, islice
from zlib import crc32

from penstock.checkpoint.directory import resolve
from penstock.errors import CheckpointError, StateError
from penstock.keys.codec import decode_key
from penstock.runtime.failure import short_repr
from penstock.savepoint.manifest import FileRecord
from penstock.savepoint.row_sources import RowSource
from penstock.savepoint.writing import PartResult, write_part_rows
from penstock.state.declarations import VALUE, SchemasByRole
from penstock.state.portable import PortableRow, declaration, list_epoch, schema_rows
from penstock.state.serializers import plain_writer
from penstock.state.ttl import stamped_list
from penstock.state.values import dump_value
from penstock.state_processor.columns import TIMERS, NewRow
from penstock.state_processor.value_forms import PICKLE_FORM, schemas_by_form

_EVERYTHING = range(1 << 16)
_PIECE_BYTES = 4 * 2**20
_LIST_ROW_ITEMS = 1_000
_FIRST_EPOCH = 0


@dataclass(frozen=True)
class CopyOrder:
    """A file that is taken over as it is."""

    source_uri: str
    source_file: str
    target_uri: str
    target_file: str
    record: FileRecord


@dataclass(frozen=True)
class PartAssembly:
    """A part file to be written: what an old one has, without the entries of some states, and new entries of those.

    `kinds` are those of the states that are replaced, by name, and `written` the schemas that these may have.
    """

    target_uri: str
    uid: str
    subtask: int
    kept: RowSource | None
    kinds: dict[str, str]
    written: dict[str, SchemasByRole] = field(default_factory=dict)


def copy_file(order: CopyOrder) -> tuple[str, FileRecord]:
    """Copy a file; what was read must be what its savepoint says."""
    filesystem, folder = resolve(order.source_uri)
    target, target_folder = resolve(order.target_uri)
    path = f"{target_folder}/{order.target_file}"
    target.create_dir(path.rpartition("/")[0], recursive=True)
    total = length = 0
    with (
        filesystem.open_input_stream(f"{folder}/{order.source_file}", compression=None) as source,
        target.open_output_stream(path, compression=None) as stream,
    ):
        while piece := source.read(_PIECE_BYTES):
            total = crc32(piece, total)
            length += len(piece)
            stream.write(piece)
    if FileRecord(length, total) != order.record:
        raise CheckpointError(
            f"savepoint file {folder}/{order.source_file} is damaged (its checksum does not match): use another "
            "savepoint"
        )
    return order.target_file, order.record


def assemble_part(order: PartAssembly, rows: Iterable[NewRow]) -> PartResult:
    """Write a part file; `rows` come by key group, state, key, namespace and suffix."""
    kept = () if order.kept is None else _kept_rows(order.kept, order.kinds)
    declared = [declaration(name, kind) for name, kind in order.kinds.items() if kind != TIMERS]
    declared += [row for name, written in order.written.items() for row in schema_rows(name, written)]
    if "list" in order.kinds.values():
        declared.append(list_epoch(_FIRST_EPOCH))
    return write_part_rows(order.target_uri, order.uid, order.subtask, chain(declared, kept, new_rows(order, rows)))


def _kept_rows(source: RowSource, replaced: dict[str, str]) -> Iterator[PortableRow]:
    for row in source.rows(_EVERYTHING):
        if row.key_group is None or replaced.get(row.state) != row.kind:
            yield row


def new_rows(order: PartAssembly, rows: Iterable[NewRow]) -> Iterator[PortableRow]:
    """The rows of new entries; two for one place are refused."""
    for (group, state, key, namespace), entries in groupby(rows, _place):
        kind = order.kinds[state]
        if kind == "list":
            yield from _list_rows(order, PortableRow(group, state, kind, namespace, key, b"", b""), entries)
            continue
        last = None
        for row in entries:
            if row.suffix == last:
                raise StateError(
                    f"state {state!r} of operator {order.uid!r}: the frame has two rows for one entry of key "
                    f"{short_repr(decode_key(key))}"
                )
            last = row.suffix
            yield PortableRow(group, state, kind, namespace, key, row.suffix, row.value)


def _place(row: NewRow) -> tuple[int, str, bytes, bytes]:
    return row.key_group, row.state, row.key, row.namespace


def _list_rows(order: PartAssembly, place: PortableRow, entries: Iterator[NewRow]) -> Iterator[PortableRow]:
    """The elements of a list in rows; those of one row have one form."""
    schemas = schemas_by_form(order.written.get(place.state, {}).get(VALUE, []))
    number = 0
    for form, members in groupby((pickle.loads(row.value) for row in entries), lambda element: element[1]):
        while some := list(islice(members, _LIST_ROW_ITEMS)):
            stamps, _, items = zip(*some, strict=True)
            dump = partial(dump_value, state_name=place.state) if form == PICKLE_FORM else plain_writer(schemas[form])
            data = dump(list(items))
            known = [stamp for stamp in stamps if stamp is not None]
            if known:
                # An element whose last access is unknown lives as long as the freshest beside it.
                data = stamped_list([max(known) if stamp is None else stamp for stamp in stamps], data)
            number += 1
            yield place._replace(suffix=_FIRST_EPOCH.to_bytes(8, "big") + number.to_bytes(4, "big"), value=data)
