"""The settings of the shell itself, under the names of Flink's SQL client: `SET 'sql-client....' = '...'`."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.errors import ConfigurationError

RESULT_MODE = "sql-client.execution.result-mode"
MOST_ROWS = "sql-client.execution.max-table-result.rows"
PRINT_TIME = "sql-client.display.print-time-cost"
VERBOSE = "sql-client.verbose"
DML_SYNC = "table.dml-sync"

DEFAULTS = {RESULT_MODE: "table", MOST_ROWS: "1000000", PRINT_TIME: "true", VERBOSE: "false", DML_SYNC: "false"}


class ResultMode(enum.Enum):
    """How the rows of a query are shown."""

    TABLE = "table"
    """What the table holds: redrawn while the query runs, printed when it ends."""
    CHANGELOG = "changelog"
    """Every change with its op: on a screen of its own while the query runs."""
    TABLEAU = "tableau"
    """Every change with its op, line by line, as `TableResult.print()`."""


VALUES = {
    RESULT_MODE: tuple(mode.value for mode in ResultMode),
    PRINT_TIME: ("true", "false"),
    VERBOSE: ("true", "false"),
    DML_SYNC: ("true", "false"),
}


@dataclass(frozen=True)
class ShellSettings:
    """What the settings say, read and checked."""

    mode: ResultMode
    most_rows: int
    prints_time: bool
    is_verbose: bool
    waits_for_inserts: bool

    @staticmethod
    def of(settings: Mapping[str, str]) -> ShellSettings:
        """Read the settings of a session; a value that cannot be used is refused."""
        told = {**DEFAULTS, **settings}
        for key, values in VALUES.items():
            if told[key].lower() not in values:
                raise ConfigurationError(f"{key} must be {', '.join(values[:-1])} or {values[-1]}, not {told[key]!r}.")
        if not told[MOST_ROWS].isdecimal() or int(told[MOST_ROWS]) < 1:
            raise ConfigurationError(f"{MOST_ROWS} must be a number of 1 or more, not {told[MOST_ROWS]!r}.")
        return ShellSettings(
            mode=ResultMode(told[RESULT_MODE].lower()),
            most_rows=int(told[MOST_ROWS]),
            prints_time=told[PRINT_TIME].lower() == "true",
            is_verbose=told[VERBOSE].lower() == "true",
            waits_for_inserts=told[DML_SYNC].lower() == "true",
        )
