"""Joins FOR SYSTEM_TIME AS OF as plans: what is looked up by what, what goes below, modes, and what is refused."""

from __future__ import annotations

import pytest

from penstock.errors import ConfigurationError, SqlValidationError
from penstock.table.algebra.nodes import PlanNode
from penstock.table.algebra.temporal_nodes import LookupJoin, TemporalJoin
from penstock.table.rules.lookup_access import LookupAccess, lookup_access
from penstock.table.translation.settings import TableSettings
from penstock.vocabulary.sql.typed_expressions import Literal
from tests.unit.table.planning.tables import columns, insert, plan, query

RATES = "readings FOR SYSTEM_TIME AS OF o.ts AS r"
PEOPLE = "customers FOR SYSTEM_TIME AS OF o.proc AS c"


def found(node: PlanNode, kind: type) -> PlanNode:
    """The first node of a kind, from the end of the plan."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if isinstance(each, kind):
            return each
        waiting += each.inputs
    raise AssertionError(f"no {kind.__name__} in the plan")


def lookup(text: str) -> LookupAccess:
    node = found(query(text).inferred.root, LookupJoin)
    assert isinstance(node, LookupJoin)
    return lookup_access(node)


def key_names(access: LookupAccess) -> list[str]:
    return [access.scan.names[each] for each in access.key_columns]


# ---- versions ----


def test_left_conditions_go_below_and_those_on_versions_stay() -> None:
    text = f"SELECT o.id FROM orders o JOIN {RATES} ON o.id = r.id WHERE r.ts > o.ts AND o.amount > 1"
    lines = plan(text).splitlines()
    assert "TemporalJoin(joinType=[InnerJoin], where=[id = id AND (ts0 > ts)], times=[ts, ts]" in lines[1]
    assert "Filter(where=[(amount > 1)]" in lines[2]
    assert "Filter" not in "".join(lines[3:])


def test_updates_of_versions_need_no_row_before() -> None:
    text = f"SELECT o.id, r.ts FROM orders o LEFT JOIN {RATES} ON o.id = r.id"
    lines = plan(text).splitlines()
    assert [line.rsplit("[", 1)[1].rstrip("])") for line in lines if "Watermark" in line] == ["I", "I,UA"]
    assert "TemporalJoin(joinType=[LeftOuterJoin]" in lines[1]
    assert lines[1].endswith("changelogMode=[I])")


def test_the_left_row_time_stays_one_and_that_of_the_version_does_not() -> None:
    text = f"SELECT o.ts, r.ts AS rts FROM orders o LEFT JOIN {RATES} ON o.id = r.id"
    assert columns(text) == ["ts TIMESTAMP(3) *ROWTIME*", "rts TIMESTAMP(3)"]


def test_changes_of_the_left_side_pass() -> None:
    text = "SELECT o.id FROM readings o JOIN readings FOR SYSTEM_TIME AS OF o.ts AS r ON o.id = r.id"
    node = query(text).inferred
    assert str(node.modes[found(node.root, TemporalJoin)]) == "I,UB,UA"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"orders o JOIN {RATES} ON o.product = CAST(r.ts AS STRING)", r"primary key \[id\] must be included"),
        (f"orders o JOIN {RATES} ON o.id < r.id", "join key in Temporal Table Join can not be empty"),
        (f"orders o RIGHT JOIN {RATES} ON o.id = r.id", "only supports INNER JOIN and LEFT JOIN, but was RIGHT JOIN"),
        (
            "orders o JOIN shipments FOR SYSTEM_TIME AS OF o.ts AS r ON o.id = r.id",
            "requires primary key in versioned table, but no primary key can be found",
        ),
        (
            "orders o JOIN customers FOR SYSTEM_TIME AS OF o.ts AS r ON o.id = r.id",
            "no row time attribute can be found",
        ),
        (
            "orders o JOIN readings FOR SYSTEM_TIME AS OF TIMESTAMP '2020-01-01 00:00:00' AS r ON o.id = r.id",
            "left table's time attribute field",
        ),
        (
            "orders o JOIN readings FOR SYSTEM_TIME AS OF o.ts + INTERVAL '1' DAY AS r ON o.id = r.id",
            "left table's time attribute field",
        ),
        (
            "orders o JOIN latest FOR SYSTEM_TIME AS OF o.ts AS r ON o.id = r.id",
            "Filter is not allowed for right changelog input of event time temporal join",
        ),
        ("readings FOR SYSTEM_TIME AS OF TIMESTAMP '2020-01-01 00:00:00'", "right side of a join"),
        (
            "(SELECT id, CAST(ts AS TIMESTAMP_LTZ(3)) AS t FROM orders) o JOIN readings FOR SYSTEM_TIME AS OF o.t AS r "
            "ON o.id = r.id",
            "left table's time attribute field",
        ),
    ],
)  # fmt: skip
def test_joins_with_versions_that_cannot_be(text: str, message: str) -> None:
    with pytest.raises(SqlValidationError, match=message):
        plan(f"WITH latest AS (SELECT * FROM readings WHERE ts IS NOT NULL) SELECT 1 FROM {text}")


def test_conditions_on_the_key_of_versions_are_fine() -> None:
    few = "WITH few AS (SELECT * FROM readings WHERE id < 5)"
    text = f"{few} SELECT o.id, r.ts FROM orders o JOIN few FOR SYSTEM_TIME AS OF o.ts AS r ON o.id = r.id"
    assert "Filter(where=[(id < 5)], changelogMode=[I,UA])" in plan(text)


# ---- lookups ----


def test_equal_columns_and_constants_are_looked_up_by() -> None:
    access = lookup(
        f"SELECT o.id, c.name FROM orders o LEFT JOIN {PEOPLE} ON o.id = c.id AND c.city = 'x' AND c.name <> 'y' "
        "AND o.amount > 7 AND o.product <> c.name"
    )
    assert key_names(access) == ["id", "city"]
    assert [each.value for each in access.constants] == ["x"]
    assert (len(access.filters), len(access.before), len(access.conditions)) == (1, 1, 1)


def test_an_inner_join_filters_left_rows_before() -> None:
    text = f"SELECT o.id, c.name FROM orders o, {PEOPLE} WHERE o.id = c.id AND o.amount > 7 AND c.city = 'x'"
    access = lookup(text)
    assert (key_names(access), access.before, access.conditions) == (["id", "city"], (), ())
    assert "Filter(where=[(amount > 7)]" in plan(text)


def test_only_columns_that_are_needed_are_looked_up() -> None:
    assert lookup(f"SELECT o.id, c.city FROM orders o JOIN {PEOPLE} ON o.id = c.id").scan.names == ("id", "city")


def test_a_constant_alone_is_enough() -> None:
    access = lookup(f"SELECT o.id, c.id FROM orders o LEFT JOIN {PEOPLE} ON c.name = 'x'")
    assert (key_names(access), access.left_keys) == (["name"], ())
    assert [each for each in access.constants if isinstance(each, Literal)]


def test_a_narrow_number_is_looked_up_in_a_wide_column() -> None:
    assert key_names(lookup(f"SELECT o.id, c.id FROM orders o JOIN {PEOPLE} ON o.amount = c.id")) == ["id"]


def test_a_column_is_looked_up_by_once() -> None:
    access = lookup(f"SELECT o.id, c.id FROM orders o JOIN {PEOPLE} ON o.amount = c.id AND o.id = c.id")
    assert (key_names(access), len(access.conditions)) == (["id"], 1)


def test_row_times_pass_lookups_and_keys_are_kept() -> None:
    text = f"SELECT o.ts, c.name FROM orders o JOIN {PEOPLE} ON o.id = c.id"
    assert columns(text) == ["ts TIMESTAMP(3) *ROWTIME*", "name STRING"]
    changing = (
        "INSERT INTO people SELECT o.id, c.name FROM (SELECT *, PROCTIME() AS proc FROM changes) o "
        f"LEFT JOIN {PEOPLE} ON o.id = c.id"
    )
    sink = insert(changing).inferred
    assert str(sink.modes[sink.root.inputs[0]]) == "I,UA,D"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"orders o JOIN {PEOPLE} ON TRUE", "requires an equality condition on fields of table"),
        (f"orders o JOIN {PEOPLE} ON o.product = UPPER(c.name)", "requires an equality condition on fields of table"),
        (
            "orders o JOIN customers "
            "FOR SYSTEM_TIME AS OF o.proc AS c ON o.price = c.id",
            "id is BIGINT: cast what it is compared with to that",
        ),
        (f"orders o FULL JOIN {PEOPLE} ON o.id = c.id", "only supports INNER JOIN and LEFT JOIN, but was FULL JOIN"),
        (
            "orders o JOIN customers /*+ OPTIONS('disable-lookup'='true') */ FOR SYSTEM_TIME AS OF o.proc AS c "
            "ON o.id = c.id",
            "Processing-time temporal join is not supported yet.*customers is none",
        ),
        (
            "orders o JOIN products FOR SYSTEM_TIME AS OF o.proc AS p ON o.product = p.product",
            "Processing-time temporal join is not supported yet.*this query is none",
        ),
    ],
)  # fmt: skip
def test_lookups_that_cannot_be(text: str, message: str) -> None:
    with pytest.raises(SqlValidationError, match=message):
        plan(f"SELECT 1 FROM {text}")


# ---- hints ----


def options(hint: str) -> str:
    text = f"SELECT /*+ {hint} */ o.id FROM orders o JOIN {PEOPLE} ON o.id = c.id"
    node = found(query(text).inferred.root, LookupJoin)
    assert isinstance(node, LookupJoin)
    return str(node.options)


def test_what_a_hint_says_is_with_the_join() -> None:
    retry = "'retry-predicate'='lookup_miss', 'retry-strategy'='fixed_delay', 'fixed-delay'='10s', 'max-attempts'='3'"
    assert options(f"LOOKUP('table'='c', {retry}, 'async'='true', 'output-mode'='allow_unordered')") == (
        "is_asynchronous=True, allows_unordered=True, max_attempts=3, delay_ms=10000"
    )
    assert options("LOOKUP('table'='c', 'capacity'='7', 'timeout'='2 s', 'shuffle'='true')") == (
        "capacity=7, timeout_ms=2000, shuffles=True"
    )


@pytest.mark.parametrize(
    ("hint", "message"),
    [
        ("LOOKUP('table'='x', 'async'='true')", "names the table 'x', which is not joined"),
        ("LOOKUP('async'='true')", "incomplete required option"),
        ("LOOKUP('table'='c', 'asink'='true')", "unknown option 'asink'"),
        ("LOOKUP('table'='c', 'retry-predicate'='lookup_miss')", "retry options go together; add 'retry-strategy'"),
        ("LOOKUP('table'='c', 'capacity'='no')", "'capacity' must be a whole number of 1 or more, not 'no'"),
        ("LOOKUP('table'='c', 'timeout'='soon')", "'timeout' must be a duration"),
        ("LOOKUP('table'='c', 'output-mode'='any')", "'output-mode' must be 'ordered' or 'allow_unordered'"),
        ("LOOKUP('table'='c', 'x')", "only support key-value options"),
    ],
)
def test_hints_that_cannot_be(hint: str, message: str) -> None:
    with pytest.raises(SqlValidationError, match=message):
        options(hint)


def test_settings_of_lookups_are_read() -> None:
    key = "table.exec.async-lookup."
    made = TableSettings.of(
        {key + "buffer-capacity": "7", key + "timeout": "2 s", key + "output-mode": "ALLOW_UNORDERED"}
    )
    assert (made.lookup_capacity, made.lookup_timeout_ms, made.lookup_allows_unordered) == (7, 2000, True)
    assert (TableSettings().lookup_capacity, TableSettings().lookup_timeout_ms) == (100, 180_000)
    with pytest.raises(ConfigurationError, match="buffer-capacity must be a whole number of 1 or more, not 'many'"):
        TableSettings.of({key + "buffer-capacity": "many"})
