"""The tutorial of the warehouse has the statements and the commands of the example, which other tests run."""

from __future__ import annotations

import re
from pathlib import Path
from string import Template

from penstock.datastream import StreamExecutionEnvironment
from penstock.table import StreamTableEnvironment
from penstock.table.connectors import values
from penstock.table.sql.splitting import split

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "warehouse_tutorial.md").read_text()
EXAMPLE = ROOT / "examples" / "warehouse"
_UPSERTS = ", 'sink-insert-only' = 'false'"


def blocks(text: str, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def statements(text: str) -> list[str]:
    plain = "\n".join(line for line in text.splitlines() if not line.startswith("--"))
    return [" ".join(each.text.split()) for each in split(plain.replace("${", "`").replace("}", "`")).statements]


def test_the_page_has_every_statement_of_the_example_in_its_order() -> None:
    shown = statements("\n".join(blocks(PAGE, "sql")))
    assert shown == statements((EXAMPLE / "warehouse.sql").read_text()) and len(shown) == 8


def test_orders_are_deduplicated_and_joined_once() -> None:
    tables = StreamTableEnvironment.create(StreamExecutionEnvironment.in_process())
    setting = re.search(r'set\("(table\.optimizer\.[\w.-]+)", "true"\)', (EXAMPLE / "job.py").read_text())
    assert setting is not None
    tables.get_config().set(setting[1], "true")
    connectors = {"orders": "datagen", "products": "values", "category_revenue": "values", "customer_totals": "values"}
    data = f"'data-id' = '{values.register([])}', 'changelog-mode' = 'I,UA,D'"
    more = {"products": f", {data}", "category_revenue": _UPSERTS, "customer_totals": _UPSERTS}
    options = {name: f"'connector' = '{each}'{more.get(name, '')}" for name, each in connectors.items()}
    inserts = tables.create_statement_set()
    for each in split(Template((EXAMPLE / "warehouse.sql").read_text()).substitute(options)).statements:
        plain = "\n".join(line for line in each.text.splitlines() if not line.startswith("--"))
        (inserts.add_insert_sql if plain.lstrip().startswith("INSERT") else tables.execute_sql)(plain)
    _, _, graph = inserts.explain().partition("== Penstock Graph ==")
    kinds = [uid.split("-")[1] for uid in re.findall(r"uid=(table-\w+)", graph)]
    assert (kinds.count("deduplicate"), kinds.count("temporaljoin")) == (1, 1)


def test_the_page_has_the_commands_of_the_readme() -> None:
    readme = (EXAMPLE / "README.md").read_text()
    assert "".join(blocks(PAGE, "sh kafka")) == "".join(blocks(readme, "sh kafka"))


def test_the_order_on_the_page_has_the_columns_of_the_table() -> None:
    [order] = blocks(PAGE, "json")
    [table] = [each for each in blocks(PAGE, "sql") if each.startswith("CREATE TABLE orders")]
    columns = re.findall(r"^  (\w+) BIGINT", table, re.MULTILINE)
    assert re.findall(r'"(\w+)":', order) == columns
