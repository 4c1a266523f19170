"""The terminal side of the demo: a live table of symbols, and the verdict. Knows nothing of the job."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

BARS = "▁▂▃▄▅▆▇█"
MINUTES_SHOWN = 18


@dataclass
class SymbolLine:
    """What the table shows of one symbol."""

    trades: int = 0
    cents: int = 0
    late: int = 0
    quiet_since_ms: int | None = None
    recent: deque[int] = field(default_factory=lambda: deque(maxlen=MINUTES_SHOWN))


class TradesView:
    """A table that follows the job on a terminal; elsewhere it is printed once, at the end."""

    def __init__(self, symbols: list[str], opening_ms: int, closing_ms: int) -> None:
        self._console = Console()
        self._lines = {symbol: SymbolLine() for symbol in symbols}
        self._opening_ms, self._closing_ms = opening_ms, closing_ms
        self._now_ms = opening_ms
        self._alerts = 0
        self._spinner = Spinner("dots", " the first batch starts the Python workers", style="cyan")
        self._live = Live(console=self._console, get_renderable=self._render, refresh_per_second=8)

    def __enter__(self) -> TradesView:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._console.is_terminal:
            self._live.stop()
        elif error is None:
            self._console.print(self._render())

    def on_minute(self, symbol: str, start_ms: int, trades: int, notional_cents: int) -> None:
        """A minute of a symbol is final."""
        line = self._lines[symbol]
        line.trades += trades
        line.cents += notional_cents
        line.recent.append(notional_cents)
        if line.quiet_since_ms is not None and line.quiet_since_ms < start_ms:
            line.quiet_since_ms = None
        self._now_ms = min(max(self._now_ms, start_ms + 60_000), self._closing_ms)

    def on_quiet(self, symbol: str, since_ms: int) -> None:
        """A symbol has not traded for a while."""
        self._lines[symbol].quiet_since_ms = since_ms
        self._alerts += 1

    def on_late(self, symbol: str) -> None:
        """A trade came after its minute was closed."""
        self._lines[symbol].late += 1

    def show_result(self, verdicts: dict[str, bool], count: int, seconds: float, output: Path) -> None:
        """Say whether the job and plain Python agree."""
        out = self._console
        out.print()
        for what, is_equal in verdicts.items():
            mark, word = ("[green]✔[/]", "equal") if is_equal else ("[red]✘[/]", "[red]DIFFERENT[/]")
            out.print(f"  {mark} {what}: {word}", highlight=False)
        total = "the job and plain Python agree" if all(verdicts.values()) else "THE JOB AND PLAIN PYTHON DISAGREE"
        out.print(f"\n  [bold]{total}[/] on {count:,} trades ({seconds:.0f} s with Spark's start)", highlight=False)
        out.print(f"  files: {output}", highlight=False, soft_wrap=True)

    def _render(self) -> RenderableType:
        is_waiting = self._now_ms == self._opening_ms
        return Group(self._table(), self._spinner if is_waiting else self._status())

    def _status(self) -> RenderableType:
        row = Table.grid(padding=(0, 1))
        trades = sum(line.trades for line in self._lines.values())
        late = sum(line.late for line in self._lines.values())
        done, whole = self._now_ms - self._opening_ms, self._closing_ms - self._opening_ms
        bar = ProgressBar(whole, done, width=24, complete_style="cyan", finished_style="green")
        counts = f"{trades:,} trades summed · {late:,} late · {self._alerts:,} alerts"
        row.add_row(Text(f" {_clock(self._now_ms)}", "bold cyan"), bar, Text(counts, "dim"))
        return row

    def _table(self) -> Table:
        table = Table(box=box.SIMPLE_HEAD, title="Trades by minute, in event time", title_style="bold", pad_edge=False)
        table.add_column("symbol", style="bold")
        table.add_column("trades", justify="right")
        table.add_column("notional", justify="right", style="green")
        table.add_column("late", justify="right", style="yellow")
        table.add_column(f"last {MINUTES_SHOWN} minutes", style="cyan", width=MINUTES_SHOWN)
        table.add_column("state", width=19)
        for symbol, line in self._lines.items():
            late = f"{line.late:,}" if line.late else ""
            money = f"{line.cents / 100_000:,.0f} k"
            table.add_row(symbol, f"{line.trades:,}", money, late, _sparkline(line.recent), _state(line))
        return table


def _state(line: SymbolLine) -> Text:
    if line.quiet_since_ms is not None:
        return Text(f"○ quiet since {_clock(line.quiet_since_ms)}", "yellow")
    return Text("● trading", "green") if line.trades else Text("")


def _clock(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%H:%M")


def _sparkline(values: deque[int]) -> str:
    top = max(values, default=0) or 1
    return "".join(BARS[value * (len(BARS) - 1) // top] for value in values)
