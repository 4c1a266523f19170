"""Tables whose options are of the older style, which programs and Flink's own tests still have."""

from __future__ import annotations

from pathlib import Path

from tests.unit.table.api.tables import changes, new_tables


def test_a_file_is_read_and_longer_lines_are_cut(tmp_path: Path) -> None:
    (tmp_path / "lines.csv").write_text("1;a;more\n2;b;more\n")
    tables = new_tables()
    tables.execute_sql(
        f"CREATE TABLE t (n INT, s STRING, p AS PROCTIME()) WITH ('connector.type' = 'filesystem', "
        f"'connector.path' = '{tmp_path}/lines.csv', 'format.type' = 'csv', 'format.ignore-first-line' = 'false', "
        f"'format.field-delimiter' = ';')"
    )
    assert changes(tables.sql_query("SELECT n, s FROM t")) == ["+I(1, 'a')", "+I(2, 'b')"]
