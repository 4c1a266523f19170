"""One broker of this machine: started, asked, stopped."""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType

from penstock.errors import BrokerError
from penstock.java import java_home
from penstock.kafka_broker.broker_settings import HOST, java_command, log_properties, server_properties
from penstock.kafka_broker.folder_lock import claimed, is_claimed
from penstock.kafka_broker.jars import broker_jars
from penstock.kafka_broker.parent_death import dying_with_this_process
from penstock.kafka_broker.topics import cluster_id, create_topic, topics
from penstock.process_ids import process_exists
from penstock.user_cache import user_cache

_START_SECONDS = 120.0
_STOP_SECONDS = 30.0
_LOOK_SECONDS = 0.05
# A cluster needs an id of 16 bytes in base64; clients never see two local brokers as one cluster by it.
_CLUSTER_BYTES = 16


@dataclass(frozen=True)
class _Record:
    """What is known of the broker that runs in a folder."""

    pid: int
    port: int
    cluster: str


def default_folder() -> Path:
    """Where the broker of this user is, if no other folder is named."""
    return user_cache() / "kafka-broker"


class LocalBroker:
    """A Kafka broker of one node on the loopback address, with its data in a folder.

    Whoever names the same folder means the same broker, in this process or another. Without a port it keeps the one
    that it had last time; the first time it takes `first_port`, or a free one. As a context manager it runs inside
    the block, and is killed if this process is; `ends_with_starter` has that for `start` too (Linux).
    """

    def __init__(
        self,
        folder: Path | str,
        port: int | None = None,
        first_port: int | None = None,
        *,
        ends_with_starter: bool = False,
    ) -> None:
        self.folder = Path(folder).absolute()
        self._wanted_port = port
        self._first_port = first_port
        self._ends_with_starter = ends_with_starter
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def is_running(self) -> bool:
        """Whether its process lives."""
        return is_claimed(self._lock)

    @property
    def address(self) -> str:
        """`host:port` for `bootstrap.servers`; the last one if it does not run now."""
        return f"{HOST}:{self._known().port}"

    @property
    def pid(self) -> int:
        """The number of its process, or of the last one if it does not run now."""
        return self._known().pid

    @property
    def log(self) -> Path:
        """The file that its log goes to."""
        return self.folder / "broker.log"

    def start(self) -> LocalBroker:
        """Have it running and answering; one that runs already is left as it is."""
        deadline = time.monotonic() + _START_SECONDS
        jars = broker_jars()
        while True:
            with claimed(self._lock) as descriptor:
                if descriptor is not None:
                    self._launch(jars, descriptor)
                    break
            if self.is_running and self._record() is not None:
                self._check_port()
                break
            _wait(deadline, f"the Kafka broker in {self.folder} to be there")
        self._await_answer(deadline)
        return self

    def stop(self) -> None:
        """End it in order; one that does not end in time is killed."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it as a crash does, without a chance to tidy up."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        """Stop it and start it again on the same data and port."""
        self.stop()
        self.start()

    def topics(self) -> dict[str, int]:
        """The number of partitions of each topic, the broker's own ones apart."""
        return topics(self.address)

    def create_topic(self, name: str, partitions: int = 1, settings: dict[str, str] | None = None) -> None:
        """Have a topic with that many partitions; one that exists like that is left as it is."""
        create_topic(self.address, name, partitions, settings or {})

    def remove(self) -> None:
        """Stop it and delete its folder with all its data."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> LocalBroker:
        self._ends_with_starter = True
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def _lock(self) -> Path:
        return self.folder / "broker.lock"

    @property
    def _record_path(self) -> Path:
        return self.folder / "broker.json"

    def _record(self) -> _Record | None:
        try:
            return _Record(**json.loads(self._record_path.read_text()))
        except (OSError, ValueError, TypeError):
            return None

    def _known(self) -> _Record:
        record = self._record()
        if record is None:
            raise BrokerError(f"no Kafka broker was ever started in {self.folder}: start it first")
        return record

    def _check_port(self) -> None:
        port = self._known().port
        if self._wanted_port not in (None, port):
            raise BrokerError(
                f"the Kafka broker in {self.folder} runs at port {port}, not {self._wanted_port}: stop it first, "
                "or choose another folder"
            )

    def _launch(self, jars: Path, descriptor: int) -> None:
        """Start the process, which inherits the lock by the descriptor."""
        java = java_home()
        last = self._record()
        port = self._wanted_port or (last.port if last is not None else self._first_port or _free_port())
        _check_free(port)
        log_settings = self.folder / "log4j2.properties"
        log_settings.write_text(log_properties())
        settings = self.folder / "server.properties"
        settings.write_text(server_properties(port, _free_port(), self.folder / "data"))
        cluster = self._formatted(java, jars, settings, log_settings)
        command = java_command(java, jars, "kafka.Kafka", str(settings), log_settings=log_settings)
        with self.log.open("ab") as log:
            self._child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                pass_fds=(descriptor,),
                start_new_session=True,  # Ctrl-C in the terminal is not meant for a broker that stays
                preexec_fn=dying_with_this_process() if self._ends_with_starter else None,
            )
        self._write(_Record(self._child.pid, port, cluster))

    def _write(self, record: _Record) -> None:
        draft = self._record_path.with_suffix(".draft")
        draft.write_text(json.dumps(asdict(record)))
        draft.replace(self._record_path)

    def _formatted(self, java: Path, jars: Path, settings: Path, log_settings: Path) -> str:
        """The id of the cluster; makes an empty store if there is no whole one."""
        marker = self.folder / "cluster.id"
        if marker.exists():
            return marker.read_text()
        shutil.rmtree(self.folder / "data", ignore_errors=True)
        cluster = new_cluster_id()
        arguments = ("format", "-t", cluster, "-c", str(settings))
        command = java_command(java, jars, "kafka.tools.StorageTool", *arguments, log_settings=log_settings)
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, check=False)
        if done.returncode != 0:
            raise BrokerError(
                f"could not create an empty Kafka store in {self.folder}: {(done.stderr or done.stdout)[-400:]}"
            )
        marker.with_suffix(".draft").write_text(cluster)
        marker.with_suffix(".draft").replace(marker)
        return cluster

    def _await_answer(self, deadline: float) -> None:
        record = self._known()
        while not _listens(record.port) or cluster_id(self.address) != record.cluster:
            if not self._lives():
                raise BrokerError(f"the Kafka broker in {self.folder} ended while it started:\n{self._tail()}")
            _wait(deadline, f"the Kafka broker at {self.address} to answer; see {self.log}")

    def _lives(self) -> bool:
        if self.is_running:
            return True
        if self._child is not None:
            self._child.wait()
            self._child = None
        return False

    def _tail(self, lines: int = 15) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def _end(self, how: signal.Signals) -> None:
        if not self._lives():
            return
        deadline = time.monotonic() + _STOP_SECONDS
        pid = self._pid_of_running(deadline)
        _send(pid, how)
        try:
            self._await_end(deadline)
        except BrokerError:
            _send(pid, signal.SIGKILL)
            self._await_end(time.monotonic() + _STOP_SECONDS)

    def _pid_of_running(self, deadline: float) -> int:
        """A broker that is just being started has its lock before its number is written down."""
        while True:
            record = self._record()
            if record is not None and process_exists(record.pid):
                return record.pid
            _wait(deadline, f"the number of the Kafka broker's process in {self.folder}")

    def _await_end(self, deadline: float) -> None:
        while self._lives():
            _wait(deadline, f"the Kafka broker in {self.folder} to end")


def _wait(deadline: float, what: str) -> None:
    if time.monotonic() > deadline:
        raise BrokerError(f"timed out waiting for {what}")
    time.sleep(_LOOK_SECONDS)


def _send(pid: int, how: signal.Signals) -> None:
    try:
        os.kill(pid, how)
    except ProcessLookupError:
        return


def new_cluster_id() -> str:
    """An id that no other cluster has."""
    first, *others = os.urandom(_CLUSTER_BYTES)
    # Without its highest bit the text cannot begin with a dash, which the tool that takes it would read as an option.
    return base64.urlsafe_b64encode(bytes([first & 0x7F, *others])).decode().rstrip("=")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _check_free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise BrokerError(f"port {port} of {HOST} is in use by something else: choose another port") from error


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((HOST, port)) == 0
