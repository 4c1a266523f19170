"""Restart strategies: after a failure, how long to wait and when to give up."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from penstock.errors import ConfigurationError

__all__ = ["RestartPolicy", "RestartStrategies", "RestartStrategyConfiguration"]


class RestartPolicy(ABC):
    """Counts the failures of one run of a job."""

    @abstractmethod
    def next_delay_ms(self, now_ms: int) -> int | None:
        """Record a failure at `now_ms`; return the delay before the restart, or None to give up."""


class _NeverRestart(RestartPolicy):
    def next_delay_ms(self, now_ms: int) -> int | None:
        return None


class _FixedDelay(RestartPolicy):
    def __init__(self, attempts: int, delay_ms: int) -> None:
        self._attempts_left = attempts
        self._delay_ms = delay_ms

    def next_delay_ms(self, now_ms: int) -> int | None:
        if self._attempts_left == 0:
            return None
        self._attempts_left -= 1
        return self._delay_ms


class _FailureRate(RestartPolicy):
    def __init__(self, max_failures: int, interval_ms: int, delay_ms: int) -> None:
        # Only that many failures can matter: one more within the interval is one too many.
        self._failures_ms: deque[int] = deque(maxlen=max_failures)
        self._interval_ms = interval_ms
        self._delay_ms = delay_ms

    def next_delay_ms(self, now_ms: int) -> int | None:
        is_full = len(self._failures_ms) == self._failures_ms.maxlen
        if is_full and now_ms - self._failures_ms[0] <= self._interval_ms:
            return None
        self._failures_ms.append(now_ms)
        return self._delay_ms


class _ExponentialDelay(RestartPolicy):
    def __init__(self, settings: RestartStrategies.ExponentialDelayRestartStrategyConfiguration) -> None:
        self._settings = settings
        self._delay_ms = float(settings.initial_backoff)
        self._attempts = 0
        self._resumed_ms: int | None = None

    def next_delay_ms(self, now_ms: int) -> int | None:
        settings = self._settings
        if self._resumed_ms is not None and now_ms - self._resumed_ms >= settings.reset_backoff_threshold:
            self._delay_ms = float(settings.initial_backoff)
            self._attempts = 0
        if settings.attempts_before_reset is not None and self._attempts >= settings.attempts_before_reset:
            return None
        self._attempts += 1
        delay_ms = self._jittered(min(self._delay_ms, settings.max_backoff))
        self._delay_ms = min(self._delay_ms * settings.backoff_multiplier, settings.max_backoff)
        self._resumed_ms = now_ms + delay_ms
        return delay_ms

    def _jittered(self, delay_ms: float) -> int:
        if self._settings.random is None:
            return int(delay_ms)
        spread = (2 * self._settings.random() - 1) * self._settings.jitter_factor
        return int(min(delay_ms * (1 + spread), self._settings.max_backoff))


class RestartStrategyConfiguration(ABC):
    """The settings of a restart strategy."""

    @abstractmethod
    def get_description(self) -> str:
        """Return the settings in words."""

    @abstractmethod
    def create_policy(self) -> RestartPolicy:
        """Return a fresh counter of failures."""


class RestartStrategies:
    """Makes restart strategies; all times are milliseconds."""

    @dataclass(frozen=True)
    class NoRestartStrategyConfiguration(RestartStrategyConfiguration):
        """A failure ends the job."""

        state_identity = "NoRestartStrategyConfiguration"

        def get_description(self) -> str:
            """Return the settings in words."""
            return "Restart deactivated."

        def create_policy(self) -> RestartPolicy:
            """Return a policy that gives up at once."""
            return _NeverRestart()

    @dataclass(frozen=True)
    class FixedDelayRestartStrategyConfiguration(RestartStrategyConfiguration):
        """A fixed number of restarts, with the same delay before each."""

        state_identity = "FixedDelayRestartStrategyConfiguration"

        restart_attempts: int
        delay_between_attempts_interval: int

        def __post_init__(self) -> None:
            _check_at_least(0, restart_attempts=self.restart_attempts)
            _check_at_least(0, delay_between_attempts=self.delay_between_attempts_interval)

        def get_restart_attempts(self) -> int:
            """Return how many restarts there are."""
            return self.restart_attempts

        def get_delay_between_attempts_interval(self) -> int:
            """Return the wait before a restart."""
            return self.delay_between_attempts_interval

        def get_description(self) -> str:
            """Return the settings in words."""
            return (
                f"Restart with fixed delay ({self.delay_between_attempts_interval} ms). "
                f"#{self.restart_attempts} restart attempts."
            )

        def create_policy(self) -> RestartPolicy:
            """Return a fresh counter of failures."""
            return _FixedDelay(self.restart_attempts, self.delay_between_attempts_interval)

    @dataclass(frozen=True)
    class FailureRateRestartStrategyConfiguration(RestartStrategyConfiguration):
        """Restart unless more than a number of failures happen within an interval."""

        state_identity = "FailureRateRestartStrategyConfiguration"

        max_failure_rate: int
        failure_interval: int
        delay_between_attempts_interval: int

        def __post_init__(self) -> None:
            _check_at_least(1, failure_rate=self.max_failure_rate, failure_interval=self.failure_interval)
            _check_at_least(0, delay_interval=self.delay_between_attempts_interval)

        def get_max_failure_rate(self) -> int:
            """Return how many failures an interval may have."""
            return self.max_failure_rate

        def get_failure_interval(self) -> int:
            """Return the interval."""
            return self.failure_interval

        def get_delay_between_attempts_interval(self) -> int:
            """Return the wait before a restart."""
            return self.delay_between_attempts_interval

        def get_description(self) -> str:
            """Return the settings in words."""
            return (
                f"Failure rate restart with maximum of {self.max_failure_rate} failures within interval "
                f"{self.failure_interval} ms and fixed delay {self.delay_between_attempts_interval} ms."
            )

        def create_policy(self) -> RestartPolicy:
            """Return a fresh counter of failures."""
            return _FailureRate(self.max_failure_rate, self.failure_interval, self.delay_between_attempts_interval)

    @dataclass(frozen=True)
    class ExponentialDelayRestartStrategyConfiguration(RestartStrategyConfiguration):
        """A delay that grows with each failure and is reset after a time without failures.

        With a jitter factor, `random` must give numbers from 0 to 1 (`random.random`), so that many jobs that
        failed together do not come back together. `attempts_before_reset` None means restart for ever.
        """

        state_identity = "ExponentialDelayRestartStrategyConfiguration"

        initial_backoff: int = 1_000
        max_backoff: int = 60_000
        backoff_multiplier: float = 1.5
        reset_backoff_threshold: int = 3_600_000
        jitter_factor: float = 0.0
        attempts_before_reset: int | None = None
        random: Callable[[], float] | None = None

        def __post_init__(self) -> None:
            _check_at_least(1, initial_backoff=self.initial_backoff)
            _check_at_least(1, reset_backoff_threshold=self.reset_backoff_threshold)
            _check_at_least(self.initial_backoff, max_backoff=self.max_backoff)
            _check_at_least(1, backoff_multiplier=self.backoff_multiplier)
            if not 0 <= self.jitter_factor <= 1:
                raise ConfigurationError(f"jitter_factor must be from 0 to 1, got {self.jitter_factor!r}")
            if self.jitter_factor and self.random is None:
                raise ConfigurationError("a jitter_factor needs a source of random numbers: give random=random.random")

        def get_description(self) -> str:
            """Return the settings in words."""
            return (
                f"Restart with exponential delay from {self.initial_backoff} ms to {self.max_backoff} ms, "
                f"multiplier {self.backoff_multiplier}, reset after {self.reset_backoff_threshold} ms without failure."
            )

        def create_policy(self) -> RestartPolicy:
            """Return a fresh counter of failures."""
            return _ExponentialDelay(self)

    @dataclass(frozen=True)
    class FallbackRestartStrategyConfiguration(RestartStrategyConfiguration):
        """The default of the engine: exponential delay, as in Flink with checkpoints enabled."""

        state_identity = "FallbackRestartStrategyConfiguration"

        def get_description(self) -> str:
            """Return the settings in words."""
            return "Cluster level default restart strategy"

        def create_policy(self) -> RestartPolicy:
            """Return a fresh counter of failures."""
            return RestartStrategies.exponential_delay_restart().create_policy()

    @staticmethod
    def no_restart() -> RestartStrategies.NoRestartStrategyConfiguration:
        """End the job at the first failure."""
        return RestartStrategies.NoRestartStrategyConfiguration()

    @staticmethod
    def fall_back_restart() -> RestartStrategies.FallbackRestartStrategyConfiguration:
        """Use the default of the engine."""
        return RestartStrategies.FallbackRestartStrategyConfiguration()

    @staticmethod
    def fixed_delay_restart(
        restart_attempts: int, delay_between_attempts: int
    ) -> RestartStrategies.FixedDelayRestartStrategyConfiguration:
        """Restart this many times, with the same delay before each."""
        return RestartStrategies.FixedDelayRestartStrategyConfiguration(restart_attempts, delay_between_attempts)

    @staticmethod
    def failure_rate_restart(
        failure_rate: int, failure_interval: int, delay_interval: int
    ) -> RestartStrategies.FailureRateRestartStrategyConfiguration:
        """Restart unless more than a number of failures happen within an interval."""
        return RestartStrategies.FailureRateRestartStrategyConfiguration(failure_rate, failure_interval, delay_interval)

    @staticmethod
    def exponential_delay_restart(
        initial_backoff: int = 1_000,
        max_backoff: int = 60_000,
        backoff_multiplier: float = 1.5,
        reset_backoff_threshold: int = 3_600_000,
        jitter_factor: float = 0.0,
        *,
        attempts_before_reset: int | None = None,
        random: Callable[[], float] | None = None,
    ) -> RestartStrategies.ExponentialDelayRestartStrategyConfiguration:
        """Restart with a delay that grows with each failure and is reset after a time without failures."""
        return RestartStrategies.ExponentialDelayRestartStrategyConfiguration(
            initial_backoff,
            max_backoff,
            backoff_multiplier,
            reset_backoff_threshold,
            jitter_factor,
            attempts_before_reset,
            random,
        )


def _check_at_least(lowest: float, **settings: float) -> None:
    for name, value in settings.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value < lowest:
            raise ConfigurationError(f"{name} must be a number of at least {lowest}, got {value!r}")
