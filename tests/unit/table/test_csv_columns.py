"""Files of CSV: columns give the bytes and the folders that rows give."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
import pytest

from penstock.common.column_block import ColumnBlock
from penstock.table.connectors.file_columns import FolderAssigner, Folders
from penstock.table.connectors.row_formats import row_format
from penstock.table.sql import parse_type
from penstock.vocabulary.sql.scalar import arrow_type

TYPES = {
    "a": ("BIGINT", [0, -5, 2**63 - 1, 17]),
    "b": ("STRING", ["", "plain", 'a "word"', "x,y", "line\nbreak", "a;b|c", "é\u2028", "n/a", " ", "-"]),
    "c": ("TIMESTAMP(3)", [0, -1, 1_600_000_000_123, 1_600_000_000_000]),
    "d": ("BOOLEAN", [True, False]),
    "e": ("DOUBLE", [0.0, -0.0, 1.5, float("nan"), 1e300]),
    "f": ("DATE", [0, 18_000, -3]),
    "g": ("TIMESTAMP_LTZ(6)", [0, 1_600_000_000_123_456]),
    "h": ("BYTES", [b"", b"\x00,\xff"]),
}
ROW_TYPE = parse_type(f"ROW<{', '.join(f'{name} {kind}' for name, (kind, _) in TYPES.items())}> NOT NULL")


def random_rows(random: Random, count: int) -> list[tuple[Any, ...]]:
    """Rows with NULLs, values that need quotes, and values that come often."""
    fields = [[None, *values] for _, values in TYPES.values()]
    return [(0, *[random.choice(values) for values in fields]) for _ in range(count)]


def columns_of(rows: list[tuple[Any, ...]]) -> list[pa.Array]:
    kinds = [arrow_type(each) for each in ROW_TYPE.parts]
    return [pa.array([row[at + 1] for row in rows], kind) for at, kind in enumerate(kinds)]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"null-literal": "n/a"},
        {"field-delimiter": ";", "null-literal": "a;b"},
        {"field-delimiter": "|", "quote-character": "'"},
        {"field-delimiter": "-"},
        {"field-delimiter": "\\t"},
    ],
)
def test_lines_of_columns_are_those_of_rows(seed: int, options: dict[str, str]) -> None:
    random = Random(seed)
    form = row_format("csv", ROW_TYPE, {f"csv.{key}": value for key, value in options.items()}, "t")
    for count in (1, 7, 300):
        rows = random_rows(random, count)
        columns = columns_of([*rows, *rows])
        part = [column.slice(count // 2, count) for column in columns]  # blocks are often parts of others
        expected = form.encode_lines([*rows, *rows][count // 2 : count // 2 + count], range(len(TYPES)))
        assert form.encode_columns(part) == expected


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"disable-quote-character": "true"}, "a"),
        ({"escape-character": "\\"}, "a"),
        ({}, "carriage\rreturn"),
        ({"field-delimiter": "\u20ac"}, "a"),
    ],
)
def test_what_only_the_module_csv_knows_is_left_to_it(options: dict[str, str], text: str) -> None:
    form = row_format(
        "csv", parse_type("ROW<a STRING, b INT> NOT NULL"), {f"csv.{k}": v for k, v in options.items()}, "t"
    )
    assert form.encode_columns([pa.array([text]), pa.array([1], pa.int32())]) is None


def test_a_line_of_one_field_is_left_to_rows() -> None:
    form = row_format("csv", parse_type("ROW<a STRING> NOT NULL"), {}, "t")
    assert form.encode_lines([(0, None)], [0]) == b'""\n' and form.encode_columns([pa.array([None, ""])]) is None


def test_folders_of_columns_are_those_of_rows(seed: int) -> None:
    random = Random(seed)
    rows = [(0, random.choice(["x", "y", None, ""]), number, random.choice([1, 2, None])) for number in range(200)]
    keys = [("k", 0, parse_type("STRING")), ("m", 2, parse_type("INT"))]
    kinds = [pa.int8(), pa.string(), pa.int64(), pa.int32()]
    batch = pa.RecordBatch.from_arrays(
        [pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), kinds, strict=True)],
        names=list("abcd"),
    )
    assigner = FolderAssigner(Folders(keys))
    for start, stop in ((0, 200), (3, 4), (50, 120)):
        block = ColumnBlock(batch, "tuple").slice(start, stop)
        found = assigner.assign_columns(block)
        assert found is not None
        merged: dict[str, list[Any]] = {}
        for folder, part in found:
            merged.setdefault(folder, []).extend(part.values())
        # Files are opened in the order in which folders are met first.
        assert list(merged.items()) == list(assigner.assign(rows[start:stop], None, 0))


def test_folders_of_other_columns_are_asked_row_by_row() -> None:
    assigner = FolderAssigner(Folders([("k", 0, parse_type("DOUBLE"))]))
    block = ColumnBlock(pa.record_batch({"a": pa.array([0], pa.int8()), "b": [0.5]}), "tuple")
    assert assigner.assign_columns(block) is None
