"""`DataTypes` makes the types that SQL texts name."""

from __future__ import annotations

import pytest

from penstock.errors import DeclaredTypeError
from penstock.table.data_type_texts import declared_type
from penstock.table.sql import parse_type
from penstock.table.types import DataType, DataTypes

D = DataTypes


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (D.CHAR(3), "CHAR(3)"),
        (D.VARCHAR(10).not_null(), "VARCHAR(10) NOT NULL"),
        (D.STRING(), "STRING"),
        (D.BOOLEAN(False), "BOOLEAN NOT NULL"),
        (D.BINARY(2), "BINARY(2)"),
        (D.VARBINARY(2), "VARBINARY(2)"),
        (D.BYTES(), "BYTES"),
        (D.DECIMAL(10, 2), "DECIMAL(10, 2)"),
        (D.TINYINT(), "TINYINT"),
        (D.SMALLINT(), "SMALLINT"),
        (D.INT(), "INT"),
        (D.BIGINT().not_null().nullable(), "BIGINT"),
        (D.FLOAT(), "FLOAT"),
        (D.DOUBLE(), "DOUBLE"),
        (D.DATE(), "DATE"),
        (D.TIME(3), "TIME(3)"),
        (D.TIMESTAMP(), "TIMESTAMP(6)"),
        (D.TIMESTAMP_LTZ(3), "TIMESTAMP_LTZ(3)"),
        (D.TIMESTAMP_WITH_LOCAL_TIME_ZONE(3), "TIMESTAMP_LTZ(3)"),
        (D.ARRAY(D.INT().not_null()), "ARRAY<INT NOT NULL>"),
        (D.MAP(D.STRING(), D.INT()), "MAP<STRING, INT>"),
        (D.MULTISET(D.INT()), "MULTISET<INT>"),
        (D.ROW([D.FIELD("a", D.INT()), D.FIELD("b c", D.STRING())]), "ROW<`a` INT, `b c` STRING>"),
    ],
)
def test_a_type_is_that_of_its_text(made: DataType, text: str) -> None:
    assert str(made) == text
    assert declared_type(made) == parse_type(text)


def test_intervals_are_of_months_or_of_milliseconds() -> None:
    assert str(D.INTERVAL(D.YEAR(), D.MONTH())) == "INTERVAL MONTH"
    assert str(D.INTERVAL(D.DAY(), D.SECOND(3))) == "INTERVAL SECOND(3)"
    with pytest.raises(DeclaredTypeError, match="not of both"):
        D.INTERVAL(D.YEAR(), D.SECOND())


def test_sizes_are_checked() -> None:
    for make in (lambda: D.DECIMAL(39, 0), lambda: D.DECIMAL(3, 4), lambda: D.CHAR(0), lambda: D.TIMESTAMP(10)):
        with pytest.raises(DeclaredTypeError, match="is no type"):
            make()
