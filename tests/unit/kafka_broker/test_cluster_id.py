"""The id of a new cluster."""

from __future__ import annotations

import os

import pytest

from penstock.kafka_broker.local_broker import new_cluster_id


@pytest.mark.parametrize("first", [0x00, 0x7F, 0xF8, 0xFB, 0xFF])
def test_an_id_never_looks_like_an_option(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "urandom", lambda size: bytes([first]) + bytes(size - 1))
    assert len(new_cluster_id()) == 22
    assert not new_cluster_id().startswith("-")
