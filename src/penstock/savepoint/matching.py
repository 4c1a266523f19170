"""Whether a job can go on from the state of another one: operators are matched by uid, state by name.

Restoring itself is `penstock.savepoint.restoring`.
"""

from __future__ import annotations

from penstock.connectors.source import PartitionedSource, SplitSource
from penstock.errors import CheckpointError
from penstock.graph.plan import ChainedOperator, JobPlan
from penstock.runtime.operators import SourceOperator
from penstock.savepoint.manifest import OperatorRecord
from penstock.savepoint.origin import Origin
from penstock.state.declarations import Declared, SchemasByRole, StateDeclaration, refusal

FLAG = "execution.state-recovery.ignore-unclaimed-state"


def check_match(origin: Origin, plan: JobPlan, *, allow_non_restored_state: bool) -> None:
    """Refuse state without an owner (unless that is allowed) and owners that cannot take their state."""
    owners = {chained.uid: chained for vertex in plan.vertices for chained in vertex.operators}
    unclaimed: list[str] = []
    for uid, record in origin.manifest.operators.items():
        if uid in owners:
            _check_owner(origin, uid, record, owners[uid])
            _check_one_layout(origin, uid, record)
        elif not allow_non_restored_state:
            claims = _claims(origin, uid, record)
            unclaimed += [f"{' and '.join(claims)} of operator {record.name!r} (uid {uid!r})"] if claims else []
    if unclaimed:
        raise CheckpointError(
            f"{origin.place} has {', '.join(unclaimed)}, which this job lacks: give the operators their old uids, or "
            f"drop their state by setting {FLAG} to true"
        )


def check_layouts(origin: Origin, plan: JobPlan) -> None:
    """Refuse to go on from state that other settings of its operator have laid out, where it cannot be brought over."""
    for vertex in plan.vertices:
        for chained in vertex.operators:
            record = origin.manifest.operators.get(chained.uid)
            for written in () if record is None else record.layouts:
                reason = chained.operator.layout_refusal(written)
                if reason is not None:
                    raise CheckpointError(
                        f"operator {chained.name!r} (uid {chained.uid!r}) cannot resume from its state in "
                        f"{origin.place}: {reason}. Change the settings back, or give the operator a new uid, so that "
                        "it starts without state"
                    )


def check_declared(origin: Origin, plan: JobPlan, declared: Declared) -> None:
    """Refuse to go on from rows that the states, as the program declares them now, cannot read."""
    for vertex in plan.vertices:
        for chained in vertex.operators:
            record = origin.manifest.operators.get(chained.uid)
            schemas = {} if record is None else record.schemas
            for state, wanted in declared.get(chained.uid, {}).items():
                who = f"operator {chained.name!r} (uid {chained.uid!r})"
                check_schemas(who, origin.place, state, schemas.get(state, {}), wanted)


def check_kind(who: str, place: str, state: str, kind: str, wanted: StateDeclaration) -> None:
    """Refuse a state that is of another kind in this job."""
    if kind != wanted.kind:
        raise CheckpointError(
            f"state {state!r} of {who} is {kind} state in {place}, but {wanted.kind} state in this job: give the new "
            "state another name"
        )


def check_schemas(who: str, place: str, state: str, written: SchemasByRole, wanted: StateDeclaration) -> None:
    """Refuse a state whose rows cannot be read as the type it has in this job."""
    reason = refusal(written, wanted)
    if reason is not None:
        raise CheckpointError(
            f"state {state!r} of {who} cannot resume from its state in {place}: {reason}. Change the type back, or "
            "give the new state another name"
        )


def _claims(origin: Origin, uid: str, record: OperatorRecord) -> list[str]:
    """What an operator that is gone would lose."""
    states = [*(origin.states_of(uid) if record.is_bound else ()), *record.operator_states]
    claims = [f"state {', '.join(map(repr, sorted(states)))}"] if states else []
    manifest = origin.manifest
    if uid in manifest.positions or uid in manifest.partitions or uid in manifest.frames:
        claims.append("positions of a source")
    if record.output:
        claims.append("output that is not published yet")
    return claims


def _check_one_layout(origin: Origin, uid: str, record: OperatorRecord) -> None:
    """Rows of several subtasks come together: what they mean must be one thing."""
    if len(record.layouts) > 1:
        raise CheckpointError(
            f"{origin.place} was made while operator {record.name!r} (uid {uid!r}) was changing its settings: some of "
            "its subtasks had not run since. Let that job run until all of them had elements, or go on in its "
            "own checkpoint directory"
        )


def _check_owner(origin: Origin, uid: str, record: OperatorRecord, chained: ChainedOperator) -> None:
    operator = chained.operator
    who = f"operator {chained.name!r} (uid {uid!r})"
    source = operator.source if isinstance(operator, SourceOperator) else None
    manifest = origin.manifest
    if uid in manifest.positions and not isinstance(source, SplitSource):
        raise CheckpointError(
            f"{who} was a source that Penstock reads itself in {origin.place}, now it is none: give it another uid"
        )
    if uid in manifest.partitions and not isinstance(source, PartitionedSource):
        raise CheckpointError(
            f"{who} was a source of partitions in {origin.place}, now it is none: give it another uid"
        )
    if uid in manifest.frames and (source is None or isinstance(source, (SplitSource, PartitionedSource))):
        raise CheckpointError(
            f"{who} was a source that Spark reads in {origin.place}, now it is none: give it another uid"
        )
    if not operator.is_keyed and record.is_bound:
        states = origin.states_of(uid)
        if states:
            raise CheckpointError(
                f"{who} has keyed state {', '.join(map(repr, sorted(states)))} in {origin.place}, but in this job its "
                "stream is not keyed: give it another uid"
            )
