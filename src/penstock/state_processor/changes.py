"""What is to be different in a new savepoint: operators gone, renamed, with other state, new ones.

Nothing is read or written here beyond what the origin already knows of itself.
"""

from __future__ import annotations

import uuid
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import penstock
from penstock.common.constants import MIN_WATERMARK
from penstock.errors import CheckpointError, GraphError
from penstock.keys.groups import check_parallelism, default_max_parallelism
from penstock.savepoint.folder import SavepointOrigin
from penstock.savepoint.manifest import Manifest, OperatorRecord
from penstock.savepoint.origin import Origin
from penstock.state_processor.bootstrap import StateBootstrap
from penstock.state_processor.description import listed, record_of

BOOTSTRAPPED = "Bootstrapped"
"""Kind of an operator that never ran."""


@dataclass(frozen=True)
class NewOperatorState:
    """Elements for a state without keys; `data` is a frame with the columns as read, or a collection."""

    kind: str | None
    data: Any


@dataclass
class Changes:
    """Changes of an origin, or of nothing. `sources` has the uid that each operator of the result has in the origin."""

    origin: Origin | None
    max_parallelism: int
    sources: dict[str, str] = field(default_factory=dict)
    frames: dict[str, dict[str, Any]] = field(default_factory=dict)
    bootstraps: dict[str, StateBootstrap] = field(default_factory=dict)
    operator_states: dict[str, dict[str, NewOperatorState]] = field(default_factory=dict)

    @classmethod
    def of_nothing(cls, max_parallelism: int) -> Changes:
        """Begin without operators."""
        check_parallelism(1, max_parallelism)
        return cls(None, max_parallelism)

    @classmethod
    def of(cls, origin: Origin) -> Changes:
        """Begin with all operators of an origin; new ones get the number of key groups that most of them have."""
        bound = Counter(each.max_parallelism for each in origin.manifest.operators.values() if each.is_bound)
        most = bound.most_common(1)[0][0] if bound else default_max_parallelism(1)
        return cls(origin, most, {uid: uid for uid in origin.manifest.operators})

    def record(self, uid: str) -> OperatorRecord:
        """The record of an operator that is taken over, under its new uid."""
        place = "the new savepoint" if self.origin is None else self.origin.place
        manifest = self._manifest()
        if uid not in self.sources:
            raise CheckpointError(f"{place} has no operator with uid {uid!r}: it has {listed(self.sources)}")
        return record_of(manifest, self.sources[uid], place)

    def remove(self, uid: str) -> None:
        """Leave an operator out, with all it has."""
        if uid in self.bootstraps or (uid in self.operator_states and uid not in self.sources):
            self.bootstraps.pop(uid, None)
            self.operator_states.pop(uid, None)
            return
        self.record(uid)
        del self.sources[uid]
        self.frames.pop(uid, None)
        self.operator_states.pop(uid, None)

    def rename(self, old: str, new: str) -> None:
        """Give an operator another uid."""
        self.record(old)
        if new in self._all_uids():
            raise CheckpointError(f"change_uid: an operator with uid {new!r} already exists")
        every: tuple[dict[str, Any], ...] = self.sources, self.frames, self.operator_states
        for held in every:
            if old in held:
                held[new] = held.pop(old)

    def add_bootstrap(self, uid: str, bootstrap: StateBootstrap) -> None:
        """Make keyed state for an operator that the origin does not have."""
        if not isinstance(bootstrap, StateBootstrap):
            raise GraphError(
                f"with_operator({uid!r}): expected OperatorTransformation.bootstrap_with(...).key_by(...)"
                f".transform(...), got {bootstrap!r}"
            )
        if uid in self.sources or uid in self.bootstraps:
            raise CheckpointError(
                f"with_operator: there is an operator with uid {uid!r} already: call remove_operator({uid!r}) first, "
                "or change one of its states by with_keyed_state"
            )
        self.bootstraps[uid] = bootstrap

    def new_uids(self) -> list[str]:
        """Operators that the origin does not have."""
        return [uid for uid in {**self.bootstraps, **self.operator_states} if uid not in self.sources]

    def new_record(self, uid: str, parallelism: int) -> OperatorRecord:
        """The record of an operator that never ran."""
        return OperatorRecord(
            name=uid,
            kind=BOOTSTRAPPED,
            parallelism=parallelism,
            max_parallelism=self.max_parallelism,
            is_bound=uid in self.bootstraps,
            watermarks=[MIN_WATERMARK] * parallelism,
        )

    def check(self) -> None:
        """Refuse what cannot be written, before anything is."""
        if not self._all_uids():
            raise CheckpointError("write: there is no operator to write; add one with with_operator")
        if self.origin is None or isinstance(self.origin, SavepointOrigin):
            return
        for uid, source in self.sources.items():
            record = self.origin.manifest.operators[source]
            if record.output or self.origin.committables(source):
                raise CheckpointError(
                    f"operator {record.name!r} (uid {source!r}) has output in {self.origin.place} that only a job can "
                    f"publish: start one from there and take a savepoint of it, or call remove_operator({uid!r})"
                )

    def manifest(self, now_ms: int) -> Manifest:
        """The description of the new savepoint, without files; operators as the origin has them."""
        old = self._manifest()
        back = {source: uid for uid, source in self.sources.items()}
        return replace(
            old,
            time_ms=now_ms,
            penstock_version=penstock.__version__,
            operators={uid: old.operators[source] for uid, source in self.sources.items()},
            positions={back[uid]: each for uid, each in old.positions.items() if uid in back},
            frames={back[uid]: each for uid, each in old.frames.items() if uid in back},
            files={},
        )

    def _manifest(self) -> Manifest:
        if self.origin is not None:
            return self.origin.manifest
        return Manifest("bootstrap", uuid.uuid4().hex, 0, 0, "", {}, {}, {})

    def _all_uids(self) -> set[str]:
        return {*self.sources, *self.bootstraps, *self.operator_states}
