"""What a whole job makes of a damaged newest version: the batch is run again, unless its output may be out."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.checkpoint import CheckpointDirectory, Seal
from penstock.errors import CheckpointError
from penstock.testing import InProcessJobClient
from tests.unit.savepoint.ledger import Start, oracle, published, run_some


def seal_of(client: InProcessJobClient, back: int) -> Seal:
    directory: CheckpointDirectory = client.job.directory
    seal = directory.read_seal(directory.sealed_versions()[back])
    assert seal is not None
    return seal


def flip_a_bit_of_the_newest_state(client: InProcessJobClient) -> None:
    newest = seal_of(client, -1)
    for (uid, subtask), entry in newest.entries.items():
        before = seal_of(client, -2).entry(uid, subtask).state.files
        for added in entry.state.files[len(before) :]:
            file = Path(client.job.directory.state_path(uid, subtask), added.name)
            data = bytearray(file.read_bytes())
            data[len(data) // 2] ^= 1
            file.write_bytes(data)
            return
    raise AssertionError("the batch changed no state")


@pytest.mark.parametrize(("batches", "has_output"), [(2, False), (4, True)])
def test_a_flipped_bit_in_the_newest_state(tmp_path: Path, batches: int, has_output: bool) -> None:
    start = Start(tmp_path / "out", checkpoint=tmp_path / "checkpoint", seed=None, batch=10)
    killed = start.client()
    run_some(killed, batches)
    assert any(seal_of(killed, -1).committables.values()) == has_output
    flip_a_bit_of_the_newest_state(killed)
    if has_output:
        # Run again, it would miss what the publication has taken, or publish it a second time.
        with pytest.raises(CheckpointError, match="its output may already be published"):
            start.client()
        return
    start.client().wait()
    assert published(tmp_path / "out") == oracle()
