"""Which connector a table names, and its sources and sinks with checked options."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.errors import SqlError
from penstock.table.catalog.entries import CatalogTable
from penstock.table.connectors.contract import Connector, TableContext, TableSink, TableSource
from penstock.table.connectors.options import Options

__all__ = ["connectors", "sink_of", "source_of"]

# Options of any table, whatever its connector.
SHARED = (
    "connector",
    "property-version",
    "scan.parallelism",
    "scan.watermark.alignment.group",
    "scan.watermark.alignment.max-drift",
    "scan.watermark.alignment.update-interval",
    "scan.watermark.emit.on-event.gap",
    "scan.watermark.emit.strategy",
    "scan.watermark.idle-timeout",
    "sink.parallelism",
)


def connectors() -> dict[str, Connector]:
    """All connectors by name; imported when a table is used, since some need libraries."""
    from penstock.table.connectors.datagen import DataGenConnector
    from penstock.table.connectors.filesystem import FileSystemConnector
    from penstock.table.connectors.jdbc import JdbcConnector
    from penstock.table.connectors.kafka import KafkaConnector, UpsertKafkaConnector
    from penstock.table.connectors.printing import BlackHoleConnector, PrintConnector
    from penstock.table.connectors.python_lookup import PythonLookupConnector
    from penstock.table.connectors.spark import SparkConnector
    from penstock.table.connectors.values import ValuesConnector

    known: list[Connector] = [
        ValuesConnector(),
        PrintConnector(),
        BlackHoleConnector(),
        DataGenConnector(),
        FileSystemConnector(),
        KafkaConnector(),
        UpsertKafkaConnector(),
        JdbcConnector(),
        PythonLookupConnector(),
        SparkConnector(),
    ]
    return {each.name: each for each in known}


def source_of(path: tuple[str, ...], entry: CatalogTable, hint: Mapping[str, str]) -> TableSource:
    """What reads a table; `hint` are options that a query gives for itself."""
    connector, context = _asked(path, entry, hint)
    return connector.source(context)


def sink_of(path: tuple[str, ...], entry: CatalogTable, hint: Mapping[str, str]) -> TableSink:
    """What writes a table."""
    connector, context = _asked(path, entry, hint)
    return connector.sink(context)


UNUSED = ("format.ignore-first-line", "format.derive-schema", "format.property-version")
LEGACY = {"connector.type": "connector", "connector.path": "path", "format.type": "format"}


def _present_words(options: Mapping[str, str]) -> dict[str, str]:
    """The options of the older style (`'connector.type' = 'filesystem'`), which Flink still takes, in present words."""
    if "connector.type" not in options:
        return dict(options)
    known = {LEGACY[key]: value for key, value in options.items() if key in LEGACY}
    format_name = known.get("format", "")
    rest = {
        f"{format_name}.{key.removeprefix('format.')}": value
        for key, value in options.items()
        if key.startswith("format.") and key not in LEGACY and key not in UNUSED
    }
    if format_name == "csv":
        rest["csv.ignore-surplus-fields"] = "true"  # as the older reader does
    return {**known, **rest}


def _asked(path: tuple[str, ...], entry: CatalogTable, hint: Mapping[str, str]) -> tuple[Connector, TableContext]:
    name = ".".join(path)
    options = Options(_present_words({**entry.options, **hint}), name)
    if "connector" not in options:
        raise SqlError(f"Table {name} has no option 'connector': add WITH ('connector' = '...').")
    known = connectors()
    word = options["connector"]
    if word not in known:
        raise SqlError(f"Table {name}: there is no connector '{word}'; there are {', '.join(sorted(known))}.")
    options.check([*known[word].keys(), *SHARED], word)
    return known[word], TableContext(path, entry, options)
