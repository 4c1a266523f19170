"""A running query on a screen of its own: drawn again as its rows change, left with q or Ctrl-C."""

from __future__ import annotations

import io
import sys
import time
from contextlib import redirect_stderr, redirect_stdout

from prompt_toolkit.application import Application
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import HSplit, Layout, Window
from prompt_toolkit.layout.controls import FormattedTextControl

from penstock.cli.sql_shell.live_rows import LiveChangelog, LiveRows, LiveTable
from penstock.cli.sql_shell.row_feed import RowFeed
from penstock.cli.sql_shell.shell_settings import ResultMode, ShellSettings
from penstock.cli.sql_shell.starting import waiting
from penstock.table.table_result import TableResult

_REDRAW_SECONDS = 0.1
_CLOCK_SECONDS = 0.5
_OTHER_LINES = 2
_MOVES = {"up": -1, "down": 1, "k": -1, "j": 1}


def show_live(result: TableResult, settings: ShellSettings, began: float) -> None:
    """Show a query until its job ends or somebody leaves the view, which cancels it; its last rows stay visible."""
    make = LiveChangelog if settings.mode is ResultMode.CHANGELOG else LiveTable
    rows: LiveRows = make(result.row_type.names, settings.most_rows)
    view = LiveView(result, rows, began)
    others = io.StringIO()
    with redirect_stdout(others), redirect_stderr(others):  # a job in the background may print meanwhile
        view.application.run()
    sys.stdout.write(others.getvalue())
    is_left = not view.feed.is_over()
    with waiting("Cancelling the query ..."):
        view.feed.end()
    height = view.application.output.get_size().rows
    sys.stdout.write("\n".join(view.last_lines(height, is_left)) + "\n")
    sys.stdout.flush()


class LiveView:
    """The screen: a line on top, the rows in a frame, a line with what can be done."""

    def __init__(self, result: TableResult, rows: LiveRows, began: float) -> None:
        """Show the rows of a result."""
        self._began = began
        self._top: int | None = None if rows.follows_end else 0
        self._left = 0
        layout = HSplit(
            [
                Window(FormattedTextControl(self._title), height=1, style="reverse"),
                Window(FormattedTextControl(self._body, focusable=True, show_cursor=False), wrap_lines=False),
                Window(FormattedTextControl(self._keys), height=1, style="reverse"),
            ]
        )
        self.application: Application[None] = Application(
            Layout(layout),
            key_bindings=self._bindings(),
            full_screen=True,
            min_redraw_interval=_REDRAW_SECONDS,
            refresh_interval=_CLOCK_SECONDS,
            after_render=self._leave_at_the_end,
        )
        self.feed = RowFeed(result, rows, self.application.invalidate)
        self.feed.start()

    # ---- what is drawn ----

    def _height(self) -> int:
        return self.application.output.get_size().rows - _OTHER_LINES

    def _title(self) -> StyleAndTextTuples:
        with self.feed.held() as rows:
            return [("", f" {_counted(rows)}, {time.monotonic() - self._began:.0f} s ")]

    def _body(self) -> StyleAndTextTuples:
        height = self._height()
        with self.feed.held() as rows:
            highest = rows.highest_top(height)
            top = highest if self._top is None else min(self._top, highest)
            lines = rows.frame(top, height)
        return [("", "\n".join(line[self._left :] for line in lines))]

    def _keys(self) -> StyleAndTextTuples:
        return [("", " q, Ctrl-C: end the query   arrows, page up, page down, home, end: move ")]

    def last_lines(self, height: int, is_left: bool) -> list[str]:
        """What stays on the screen: as many rows as fit, and how many there were."""
        took = f"{time.monotonic() - self._began:.2f} seconds"
        how = "The query was cancelled" if is_left else "The query has ended"
        room = height - _OTHER_LINES
        with self.feed.held() as rows:
            top = rows.highest_top(room) if rows.follows_end else 0
            hidden = len(rows) - min(len(rows), rows.visible(room))
            cut = f" ({hidden:,} of them not shown)" if hidden else ""
            return [*(rows.frame(top, room) if len(rows) else []), f"{how} after {took}: {_counted(rows)}{cut}."]

    # ---- what is done ----

    def _leave_at_the_end(self, application: Application[None]) -> None:
        if self.feed.is_over() and not application.is_done:
            application.exit()

    def _bindings(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("q")
        @keys.add("Q")
        @keys.add("c-c")
        @keys.add("c-d")
        @keys.add("<sigint>")
        def leave(event: KeyPressEvent) -> None:
            if not event.app.is_done:
                event.app.exit()

        for key, step in _MOVES.items():
            keys.add(key)(lambda event, step=step: self._move(step))
        keys.add("pageup")(lambda event: self._move(-self._page()))
        keys.add("pagedown")(lambda event: self._move(self._page()))
        keys.add("home")(lambda event: self._move_to(0))
        keys.add("end")(lambda event: self._move_to(None))
        keys.add("left")(lambda event: self._shift(-8))
        keys.add("right")(lambda event: self._shift(8))
        return keys

    def _page(self) -> int:
        with self.feed.held() as rows:
            return rows.visible(self._height())

    def _move(self, step: int) -> None:
        with self.feed.held() as rows:
            highest = rows.highest_top(self._height())
        now = highest if self._top is None else min(self._top, highest)
        self._top = min(max(0, now + step), highest)

    def _move_to(self, top: int | None) -> None:
        self._top = top

    def _shift(self, step: int) -> None:
        self._left = max(0, self._left + step)


def _counted(rows: LiveRows) -> str:
    count, what = (rows.changes, "change") if rows.follows_end else (len(rows), "row")
    return f"{count:,} {what}{'' if count == 1 else 's'}"
