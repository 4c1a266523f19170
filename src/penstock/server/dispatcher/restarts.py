"""When a driver that died is started again: by the restart strategy of its job, as if the job had failed."""

from __future__ import annotations

from dataclasses import fields

from penstock.common.restart_strategy import RestartStrategies, RestartStrategyConfiguration
from penstock.common.state_identity import identity_of_class
from penstock.graph.settings import JobSettings
from penstock.server.dispatcher.registry import Submission

_STRATEGIES: dict[str, type[RestartStrategyConfiguration]] = {
    identity_of_class(each): each
    for each in (
        RestartStrategies.NoRestartStrategyConfiguration,
        RestartStrategies.FixedDelayRestartStrategyConfiguration,
        RestartStrategies.FailureRateRestartStrategyConfiguration,
        RestartStrategies.ExponentialDelayRestartStrategyConfiguration,
    )
}


def next_delay_ms(submission: Submission, now_ms: int) -> int | None:
    """How long to wait before the next start; None to give up. All deaths so far count."""
    policy = _strategy(submission).create_policy()
    delay: int | None = None
    for moment in [*submission.deaths_ms, now_ms]:
        delay = policy.next_delay_ms(moment)
        if delay is None:
            return None
    return delay


def _strategy(submission: Submission) -> RestartStrategyConfiguration:
    """What the running job said of itself, or what the settings of its start ask for."""
    told = submission.restart
    if told is not None and told.get("kind") in _STRATEGIES:
        kind = _STRATEGIES[told["kind"]]
        known = {each.name for each in fields(kind)}  # type: ignore[arg-type]
        return kind(**{name: value for name, value in told.items() if name in known})
    return JobSettings.from_configuration(submission.launch.settings).restart_strategy
