"""Slot sharing groups, under PyFlink's path; defined in `penstock.vocabulary.slot_sharing_group`."""

from __future__ import annotations

from penstock.vocabulary.slot_sharing_group import (
    MemorySize,
    SlotSharingGroup,
)

__all__ = [
    "MemorySize",
    "SlotSharingGroup",
]
