"""Restart policies, driven with literal times."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from penstock.common.restart_strategy import RestartStrategies
from penstock.errors import ConfigurationError


def delays(configuration: Any, failures_ms: list[int]) -> list[int | None]:
    policy = configuration.create_policy()
    return [policy.next_delay_ms(now) for now in failures_ms]


def test_no_restart() -> None:
    assert delays(RestartStrategies.no_restart(), [0]) == [None]


def test_fixed_delay_gives_up_after_its_attempts() -> None:
    configuration = RestartStrategies.fixed_delay_restart(2, 50)
    assert (configuration.get_restart_attempts(), configuration.get_delay_between_attempts_interval()) == (2, 50)
    assert delays(configuration, [0, 1, 2, 3]) == [50, 50, None, None]
    assert delays(configuration, [0]) == [50], "a new run counts from the start"


def test_failure_rate_forgets_old_failures() -> None:
    configuration = RestartStrategies.failure_rate_restart(2, 1000, 10)
    assert delays(configuration, [0, 500, 1000]) == [10, 10, None]
    assert delays(configuration, [0, 500, 1001, 1400]) == [10, 10, 10, None]


def test_exponential_delay_grows_to_its_limit_and_starts_again_after_a_quiet_time() -> None:
    configuration = RestartStrategies.exponential_delay_restart(100, 350, 2.0, 1000)
    assert delays(configuration, [0, 200, 500, 900]) == [100, 200, 350, 350]
    # The quiet time counts from the restart, not from the failure before it.
    assert delays(configuration, [0, 1099]) == [100, 200]
    assert delays(configuration, [0, 1100]) == [100, 100]


def test_exponential_delay_can_give_up() -> None:
    configuration = RestartStrategies.exponential_delay_restart(100, 100, attempts_before_reset=2)
    assert delays(configuration, [0, 1, 2]) == [100, 100, None]


def test_jitter_needs_randomness_and_stays_in_bounds() -> None:
    lowest = RestartStrategies.exponential_delay_restart(100, 100, jitter_factor=0.1, random=lambda: 0.0)
    highest = RestartStrategies.exponential_delay_restart(100, 100, jitter_factor=0.1, random=lambda: 1.0)
    assert (delays(lowest, [0]), delays(highest, [0])) == ([90], [100])
    with pytest.raises(ConfigurationError, match=r"give random=random\.random"):
        RestartStrategies.exponential_delay_restart(jitter_factor=0.1)


def test_fall_back_restarts_for_ever() -> None:
    assert None not in delays(RestartStrategies.fall_back_restart(), list(range(100)))


def test_settings_compare_describe_and_pickle() -> None:
    for configuration in (
        RestartStrategies.no_restart(),
        RestartStrategies.fall_back_restart(),
        RestartStrategies.fixed_delay_restart(1, 2),
        RestartStrategies.failure_rate_restart(1, 2, 3),
        RestartStrategies.exponential_delay_restart(),
    ):
        assert pickle.loads(pickle.dumps(configuration)) == configuration
        assert configuration.get_description()
    assert "2 ms" in RestartStrategies.fixed_delay_restart(1, 2).get_description()
    assert RestartStrategies.fixed_delay_restart(1, 2) != RestartStrategies.fixed_delay_restart(1, 3)


@pytest.mark.parametrize(
    "make",
    [
        lambda: RestartStrategies.fixed_delay_restart(-1, 0),
        lambda: RestartStrategies.fixed_delay_restart(1, -1),
        lambda: RestartStrategies.failure_rate_restart(0, 1, 1),
        lambda: RestartStrategies.exponential_delay_restart(100, 99),
        lambda: RestartStrategies.exponential_delay_restart(backoff_multiplier=0.5),
    ],
)
def test_wrong_settings_are_refused(make: Any) -> None:
    with pytest.raises(ConfigurationError, match="must be a number of at least"):
        make()
