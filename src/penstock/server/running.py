"""`penstock server` as a function: options, what is served, and what is told to who starts it."""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from penstock.common.masking import masked
from penstock.common.secret_references import resolved
from penstock.errors import ConfigurationError
from penstock.job.cards import user_folder
from penstock.scratch import make_own, open_private
from penstock.server.access import Access, own_access, token_file_access
from penstock.server.app import PAGES, create_app
from penstock.server.cluster_routes import ServerFacts
from penstock.server.dispatcher.database import open_database
from penstock.server.dispatcher.dispatcher import Dispatcher
from penstock.server.dispatcher.registry import HISTORY_KEPT, Registry
from penstock.server.dispatcher.remote_drivers import driver_routes
from penstock.server.dispatcher.routes import dispatcher_routes
from penstock.server.gateway.channel import Handler
from penstock.server.gateway.routes import gateway_routes
from penstock.server.gateway.sessions import IDLE_SECONDS, MOST_SESSIONS, Sessions
from penstock.server.gateway.sql_jobs import SqlJobs
from penstock.server.serving import HttpServer, Place, login_link


@dataclass(frozen=True)
class ServerOptions:
    """What a server can be started with."""

    host: str = "127.0.0.1"
    port: int = 8081
    has_token: bool = True
    token_file: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    host_names: tuple[str, ...] = ()
    pages: Path | None = None
    registry: str | None = None
    folder: Path | None = None
    history: int = HISTORY_KEPT
    log: Path | None = None
    sql_sessions: int = MOST_SESSIONS
    sql_timeout: float = IDLE_SECONDS

    def data_folder(self) -> Path:
        """Where programs, logs and checkpoints of drivers are kept."""
        return self.folder or user_folder() / "server"

    def registry_url(self) -> str:
        """Where the registry is."""
        return self.registry or str(self.data_folder() / "registry.sqlite")

    def place(self) -> Place:
        """Where it listens."""
        if (self.certificate is None) != (self.key is None):
            raise ConfigurationError("a certificate and its key go together: give --tls-certificate and --tls-key")
        for path in (self.certificate, self.key, self.pages):
            if path is not None and not path.exists():
                raise ConfigurationError(f"there is no {path}")
        certificate, key = (None if path is None else str(path) for path in (self.certificate, self.key))
        return Place(self.host, self.port, certificate, key)

    def access(self) -> Access:
        """Who may do what."""
        if not self.has_token:
            return Access()
        return own_access(default_token_file()) if self.token_file is None else token_file_access(self.token_file)


def default_token_file() -> Path:
    """Where the tokens of this user's server are."""
    return user_folder() / "server" / "tokens"


def run_server(options: ServerOptions, tell: Callable[[str], None]) -> None:
    """Serve until a signal or DELETE /cluster."""
    place, access = options.place(), options.access()
    place.check(access)
    place.check_certificate()
    if options.log is not None:
        _log_to(options.log)
    shut_down: list[Callable[[], None]] = []
    facts = ServerFacts(settings=_shown(options), log=options.log, can_submit=True, shut_down=lambda: shut_down[0]())
    listener = place.listen()
    registry = Registry(open_database(resolved(options.registry_url(), "option --registry")))
    access = replace(access, used_up=registry)
    dispatcher = Dispatcher(
        registry,
        Path(make_own(str(options.data_folder().absolute()))),
        place.url(listener),
        options.history,
    )
    sessions = _sql_sessions(options, dispatcher)
    app = create_app(
        dispatcher,
        access,
        facts,
        routes=[
            dispatcher_routes(dispatcher),
            driver_routes(dispatcher.registry, options.history),
        ],
        gateway=gateway_routes(sessions),
        pages=options.pages or PAGES,
        host_names=options.host_names,
        has_tls=place.has_tls,
    )
    server = HttpServer(app, place, listener)
    shut_down.append(server.stop)
    signal.signal(signal.SIGTERM, _end)
    dispatcher.start()
    tell(f"penstock server at {server.url}")
    if not access.is_open:
        tell(f"open {login_link(server.url, access)} (good for 10 minutes)")
        tell(f"tokens: {options.token_file or default_token_file()}")
    try:
        server.run()
    finally:
        sessions.end()
        dispatcher.stop()


def _end(number: int, frame: object) -> None:
    """End in good order: the web server raises a signal again when it has ended, and the process would be gone."""
    raise SystemExit(0)


def _log_to(path: Path) -> None:
    try:
        with open(path, "a", opener=open_private):
            path.chmod(0o600)  # one that was there may be everybody's
        logging.basicConfig(filename=path, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    except OSError as error:
        raise ConfigurationError(f"log {path} cannot be written: {error.strerror}; choose another --log") from None


def _sql_sessions(options: ServerOptions, dispatcher: Dispatcher) -> Sessions:
    jobs = SqlJobs(dispatcher)
    asked: dict[str, Handler] = {
        "submit": jobs.submit,
        "await_end": jobs.await_end,
        "jobs": jobs.jobs,
        "stop_job": jobs.stop_job,
    }
    return Sessions(options.data_folder().absolute() / "sql_sessions", asked, options.sql_sessions, options.sql_timeout)


def _shown(options: ServerOptions) -> dict[str, str]:
    named = {name.replace("_", "-"): value for name, value in vars(options).items() if value is not None}
    # The names of files are no secrets, whatever is in them.
    return {name: str(value) if isinstance(value, Path | bool) else masked(str(value)) for name, value in named.items()}
