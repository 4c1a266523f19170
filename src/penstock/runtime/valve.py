"""Watermarks of many channels become one: the minimum over channels that are not idle, never backwards.

Operators decide what a watermark fires.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.common.constants import MAX_WATERMARK, MIN_WATERMARK
from penstock.graph.plan import InEdge

MERGED = 0xFFFFFFFF
"""Subtask number that stands for all subtasks of an ephemeral sender between batches."""

Sender = tuple[int, int]
"""A sending vertex and which of its edges, see `InEdge.sender`."""


@dataclass
class ChannelState:
    """What is known of one channel."""

    watermark: int = MIN_WATERMARK
    is_idle: bool = False
    has_ended: bool = False


Plain = list[Any]


@dataclass
class InputValve:
    """The channels of one input of a vertex, by sender and subtask."""

    channels: dict[tuple[Sender, int], ChannelState] = field(default_factory=dict)
    watermark: int = MIN_WATERMARK
    is_idle: bool = False

    @classmethod
    def for_edges(cls, edges: list[InEdge], subtask: int) -> InputValve:
        """A valve with all channels that this subtask will ever hear of, at the minimum watermark."""
        valve = cls()
        for edge in edges:
            for number in _channel_numbers(edge, subtask):
                valve.channels[edge.sender, number] = ChannelState()
        return valve

    @classmethod
    def from_plain(cls, plain: Plain) -> InputValve:
        """The valve that `to_plain` described."""
        channels, watermark, is_idle = plain
        known = {((vertex, edge), number): ChannelState(*state) for vertex, edge, number, *state in channels}
        return cls(known, watermark, is_idle)

    def to_plain(self) -> Plain:
        """The valve as plain data, for the checkpoint: it must be readable by later versions of this class."""
        channels = [
            [*sender, number, state.watermark, state.is_idle, state.has_ended]
            for (sender, number), state in self.channels.items()
        ]
        return [channels, self.watermark, self.is_idle]

    def begin_batch(self, sender: Sender, subtasks: set[int]) -> None:
        """An ephemeral sender shows up with these subtasks in this batch; each starts where all had got to."""
        merged = self.channels.pop((sender, MERGED), None)
        if merged is None or not subtasks:
            if merged is not None:
                self.channels[sender, MERGED] = merged
            return
        for number in subtasks:
            self.channels[sender, number] = ChannelState(merged.watermark, False, merged.has_ended)

    def end_batch(self, sender: Sender) -> None:
        """Fold the subtasks of an ephemeral sender into one channel: the slowest of them counts."""
        mine = [key for key in self.channels if key[0] == sender]
        states = [self.channels.pop(key) for key in mine]
        self.channels[sender, MERGED] = ChannelState(
            min(state.watermark for state in states),
            all(state.is_idle for state in states),
            any(state.has_ended for state in states),
        )

    def on_watermark(self, sender: Sender, subtask: int, watermark: int) -> None:
        """A channel has advanced."""
        state = self.channels[sender, subtask]
        state.is_idle = False
        if watermark > state.watermark:
            state.watermark = watermark

    def on_status(self, sender: Sender, subtask: int, is_idle: bool) -> None:
        """A channel has become idle or active."""
        self.channels[sender, subtask].is_idle = is_idle

    def on_end(self, sender: Sender, subtask: int, *, whole_sender: bool) -> None:
        """A channel (or every channel of an ephemeral sender) will send nothing more."""
        for key, state in self.channels.items():
            if key[0] == sender and (whole_sender or key[1] == subtask):
                state.watermark, state.is_idle, state.has_ended = MAX_WATERMARK, False, True

    def has_ended(self) -> bool:
        """Whether every channel has ended."""
        return all(state.has_ended for state in self.channels.values())

    def advance(self) -> bool:
        """Work out the watermark and status of the input from its channels; whether the watermark has advanced."""
        before = self.watermark
        active = [state.watermark for state in self.channels.values() if not state.is_idle]
        self.is_idle = not active
        # Flink's rules. All channels idle: the furthest of them counts, so that nothing waits for a past that no
        # channel will bring. A channel back from idleness and behind the watermark holds nobody up until it has
        # caught up.
        aligned = [watermark for watermark in active if watermark >= self.watermark]
        if aligned:
            self.watermark = min(aligned)
        elif not active:
            self.watermark = max(self.watermark, *(state.watermark for state in self.channels.values()))
        return self.watermark > before


def _channel_numbers(edge: InEdge, subtask: int) -> list[int]:
    if edge.is_ephemeral:
        return [MERGED]
    return [subtask] if edge.is_pointwise else list(range(edge.channels))


def restored_valves(edges: tuple[InEdge, ...], subtask: int, watermark: int) -> list[InputValve]:
    """Valves of a subtask that goes on in a new job: every channel has got as far as the subtask itself."""
    valves = []
    for index in sorted({edge.input_index for edge in edges}):
        valve = InputValve.for_edges([edge for edge in edges if edge.input_index == index], subtask)
        valve.watermark = watermark
        for state in valve.channels.values():
            state.watermark = watermark
        valves.append(valve)
    return valves


def combine(valves: list[InputValve], advanced: InputValve | None = None) -> tuple[int, bool]:
    """Watermark and idleness of a vertex from those of its inputs; `advanced` is the one that has just got further.

    Flink's rule for inputs is not the one for channels: when all inputs are idle, none of them takes event time on. An
    input whose last channel becomes idle does still say how far it got, and only then that it is idle.
    """
    active = [valve.watermark for valve in valves if not valve.is_idle]
    if active:
        return min(active), False
    return MIN_WATERMARK if advanced is None else advanced.watermark, True
