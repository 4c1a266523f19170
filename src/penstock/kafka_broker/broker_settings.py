"""What one broker on one machine is told: its settings, its log, its Java; starts nothing."""

from __future__ import annotations

from pathlib import Path

HOST = "127.0.0.1"
_HOUR_MS = 3_600_000

# One node is all there is, so nothing can have a second copy; and nobody waits for others who might join.
_ONE_NODE = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "controlled.shutdown.enable": "false",
}
# A laptop or a test machine: few partitions of the broker's own topics, few threads, small buffers.
_SMALL = {
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "share.coordinator.state.topic.num.partitions": "1",
    "num.network.threads": "2",
    "num.io.threads": "4",
    "background.threads": "2",
    "log.cleaner.threads": "1",
    "log.cleaner.dedupe.buffer.size": str(8 << 20),
    "offsets.load.buffer.size": str(1 << 20),
    "transaction.state.log.load.buffer.size": str(1 << 20),
}
_TIMES = {
    # Flink's sinks ask for an hour; the broker's own limit of 15 minutes would refuse them.
    "transaction.max.timeout.ms": str(_HOUR_MS),
    # A broker that was killed may come back at once: its own old session must not keep it out for nine seconds.
    "broker.session.timeout.ms": "2000",
    "broker.heartbeat.interval.ms": "500",
}
_LOG = """\
status = error
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d %p %m (%c)%n
rootLogger.level = WARN
rootLogger.appenderRef.out.ref = out
logger.started.name = kafka.server.KafkaRaftServer
logger.started.level = INFO
"""


def server_properties(port: int, controller_port: int, data: Path) -> str:
    """The text of the broker's settings file."""
    clients = f"PLAINTEXT://{HOST}:{port}"
    places = {
        "listeners": f"{clients},CONTROLLER://{HOST}:{controller_port}",
        "advertised.listeners": clients,
        "controller.quorum.voters": f"1@{HOST}:{controller_port}",
        "log.dirs": str(data),
    }
    settings = {**_ONE_NODE, **_SMALL, **_TIMES, **places}
    return "".join(f"{name}={_escaped(value)}\n" for name, value in settings.items())


def log_properties() -> str:
    """The text of the settings file of the broker's log: warnings, and when it has started."""
    return _LOG


def java_command(java_home: Path, jars: Path, main_class: str, *arguments: str, log_settings: Path) -> list[str]:
    """The command of a small Java with the broker's classes."""
    return [
        str(java_home / "bin" / "java"),
        "-Xms64m",
        "-Xmx512m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        f"-Dlog4j2.configurationFile={log_settings.as_uri()}",
        "-cp",
        str(jars / "*"),
        main_class,
        *arguments,
    ]


def _escaped(value: str) -> str:
    """A backslash begins an escape in Java's properties files."""
    return value.replace("\\", "\\\\")
