"""Branches of a stream: each record goes to the first branch whose predicate holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.kstreams.functions import checked_function
from penstock.kstreams.naming import Named
from penstock.kstreams.options import Branched
from penstock.runtime.operators.kstreams.stateless import PassThrough, StreamBranch

if TYPE_CHECKING:
    from penstock.kstreams.stream import KStream


class BranchedKStream:
    """A stream that is being dealt out to branches."""

    def __init__(self, stream: KStream, named: Named | str | None) -> None:
        self._stream = stream
        self._name = stream.construction.names.or_processor(named, "KSTREAM-BRANCH-")
        self._processor = StreamBranch()
        self._branches: dict[str, KStream] = {}
        stream.construction.add_processor(self._name, self._processor, [stream.name])

    def branch(self, predicate: Callable[[Any, Any], bool], branched: Branched | None = None) -> BranchedKStream:
        """Add a branch for records for which `predicate(key, value)` holds, and no predicate before did."""
        self._processor.predicates.append(checked_function(predicate, "branch"))
        self._processor.children.append(self._add(str(len(self._processor.predicates)), branched))
        return self

    def default_branch(self, branched: Branched | None = None) -> dict[str, KStream]:
        """Add a branch for all other records; all branches by name."""
        self._processor.default = self._add("0", branched)
        return self._branches

    def no_default_branch(self) -> dict[str, KStream]:
        """Drop all other records; all branches by name."""
        return self._branches

    def _add(self, number: str, branched: Branched | None) -> str:
        options = branched or Branched()
        construction = self._stream.construction
        name = self._name + (options.name if options.name is not None else number)
        construction.names.processor(name)  # Kafka Streams uses up a number here
        construction.add_processor(name, PassThrough(), [self._name])
        branch = self._stream.same_records(name)
        if options.function is not None:
            made = options.function(branch)
            if made is not None:
                self._branches[name] = made
        elif options.consumer is not None:
            options.consumer(branch)
        else:
            self._branches[name] = branch
        return name
