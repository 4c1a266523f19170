"""The registry: programs, submissions, history and who leads. All that a dispatcher must not forget."""

from __future__ import annotations

import json
import uuid
import zlib
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from penstock.errors import ConfigurationError, JobNotFoundError
from penstock.server.dispatcher.database import Database, Row, Transaction

SCHEMA = 2
HISTORY_KEPT = 100

WAITING, PREPARING, RUNNING, ENDED = "WAITING", "PREPARING", "RUNNING", "ENDED"
"""A submission waits for its start (its first or another), is prepared, has a process, or is over."""


@dataclass(frozen=True)
class Launch:
    """How a program is to be started: entry, arguments, settings; `entry` is a file in it or a module."""

    arguments: list[str] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    entry: str | None = None
    savepoint: str | None = None
    allows_loss: bool = False
    parallelism: int | None = None


@dataclass(frozen=True)
class Submission:
    """One start of a program that is kept up until it ends.

    `deaths_ms` are the times at which its driver died; `outcome` is how it ended, and `error` why. Who leads waits
    `delay_ms` from when it has seen it wait; `due_ms` is for people, since clocks differ and are set back.
    """

    id: str
    program: str
    name: str
    launch: Launch
    state: str = WAITING
    created_ms: int = 0
    due_ms: int = 0
    delay_ms: int = 0
    host: str | None = None
    pid: int | None = None
    process_started: int | None = None
    attempt: int = 0
    deaths_ms: list[int] = field(default_factory=list)
    deaths: list[str] = field(default_factory=list)
    restart: dict[str, Any] | None = None
    job_id: str | None = None
    last_status: str | None = None
    outcome: str | None = None
    error: str | None = None


@dataclass(frozen=True)
class Lease:
    """What the registry says of who leads; it changes with each renewal, and followers watch for that."""

    holder: str
    url: str
    epoch: int
    renewals: int
    expires_ms: int

    @property
    def is_free(self) -> bool:
        """Whether who had it has left it."""
        return self.expires_ms == 0


@dataclass(frozen=True)
class Lead:
    """Proof of who leads: no two leaders ever have the same epoch, and what is done with an old one is refused."""

    holder: str
    epoch: int


_TABLES = (
    "CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS programs (id TEXT PRIMARY KEY, name TEXT NOT NULL, uploaded_ms BIGINT NOT NULL,"
    " requirements TEXT NOT NULL, content {bytes} NOT NULL)",
    "CREATE TABLE IF NOT EXISTS submissions (id TEXT PRIMARY KEY, state TEXT NOT NULL, created_ms BIGINT NOT NULL,"
    " content TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS history (job_id TEXT PRIMARY KEY, ended_ms BIGINT NOT NULL, document {bytes} NOT NULL)",
    "CREATE TABLE IF NOT EXISTS reports (job_id TEXT PRIMARY KEY, seen_ms BIGINT NOT NULL, document {bytes} NOT NULL)",
    "CREATE TABLE IF NOT EXISTS requests (id TEXT PRIMARY KEY, job_id TEXT NOT NULL, content TEXT NOT NULL,"
    " outcome TEXT)",
    "CREATE TABLE IF NOT EXISTS used_up (name TEXT PRIMARY KEY, until_s BIGINT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS leases (name TEXT PRIMARY KEY, holder TEXT NOT NULL, url TEXT NOT NULL,"
    " expires_ms BIGINT NOT NULL)",
)

# What a registry of an earlier version lacks, by that version.
_MIGRATIONS = {
    1: (
        "ALTER TABLE leases ADD COLUMN epoch BIGINT NOT NULL DEFAULT 0",
        "ALTER TABLE leases ADD COLUMN renewals BIGINT NOT NULL DEFAULT 0",
    ),
}


class Registry:
    """Reads and writes a database; every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database
        with database.transaction() as transaction:
            # PostgreSQL fails one of two who make the same table at once, whatever IF NOT EXISTS says.
            transaction.be_alone()
            for table in _TABLES:
                transaction.run(table.format(bytes=database.bytes_type))
            version = _migrated(transaction)
        if version != str(SCHEMA):
            database.close()
            raise ConfigurationError(
                f"the registry is of version {version}, and this Penstock reads versions to {SCHEMA}: give it another"
            )

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    # ---- who leads ----

    def lease(self) -> Lease | None:
        """Who leads, or led last; None if nobody ever did."""
        with self._database.reading() as transaction:
            rows = transaction.rows(f"SELECT {_LEASE} FROM leases WHERE name = 'leader'")
        return Lease(**rows[0]) if rows else None

    def take_lead(self, holder: str, url: str, seen: Lease | None, lease_ms: int) -> Lead | None:
        """Lead from now on, unless the lease is not as it was seen: then somebody else was quicker, or lives."""
        epoch = 1 if seen is None else seen.epoch + 1
        with self._database.transaction() as transaction:
            # When it expires is for dispatchers of earlier versions, which share the registry for a while.
            values = (holder, url, transaction.now_ms() + lease_ms, epoch)
            if seen is None:
                taken = transaction.run(
                    "INSERT INTO leases (name, holder, url, expires_ms, epoch) VALUES ('leader', ?, ?, ?, ?)"
                    " ON CONFLICT DO NOTHING",
                    *values,
                )
            else:
                taken = transaction.run(
                    "UPDATE leases SET holder = ?, url = ?, expires_ms = ?, epoch = ?, renewals = renewals + 1"
                    " WHERE name = 'leader' AND holder = ? AND epoch = ? AND renewals = ? AND expires_ms = ?",
                    *(*values, seen.holder, seen.epoch, seen.renewals, seen.expires_ms),
                )
        return Lead(holder, epoch) if taken else None

    def renew_lead(self, lead: Lead, lease_ms: int) -> bool:
        """Show those who watch the lease that its holder lives; False if somebody else has taken it."""
        with self._database.transaction() as transaction:
            renewed = transaction.run(
                "UPDATE leases SET renewals = renewals + 1, expires_ms = ?"
                " WHERE name = 'leader' AND holder = ? AND epoch = ?",
                *(transaction.now_ms() + lease_ms, lead.holder, lead.epoch),
            )
        return bool(renewed)

    def leave_lead(self, lead: Lead) -> None:
        """Lead no longer, so that somebody else can at once."""
        with self._database.transaction() as transaction:
            transaction.run(
                "UPDATE leases SET expires_ms = 0 WHERE name = 'leader' AND holder = ? AND epoch = ?",
                *(lead.holder, lead.epoch),
            )

    # ---- programs ----

    def add_program(self, program_id: str, name: str, content: bytes, requirements: str, now_ms: int) -> None:
        """Keep a program; the same one again changes nothing but its time."""
        with self._database.transaction() as transaction:
            transaction.run(
                "INSERT INTO programs VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
                " uploaded_ms = excluded.uploaded_ms",
                *(program_id, name, now_ms, requirements, content),
            )

    def programs(self) -> list[Row]:
        """All programs without their content, the latest first."""
        with self._database.reading() as transaction:
            return list(
                transaction.rows("SELECT id, name, uploaded_ms, requirements FROM programs ORDER BY uploaded_ms DESC")
            )

    def program(self, program_id: str) -> Row:
        """One program with its content; raises JobNotFoundError."""
        with self._database.reading() as transaction:
            rows = transaction.rows("SELECT * FROM programs WHERE id = ?", program_id)
        if not rows:
            raise JobNotFoundError(f"no program has the id {program_id!r}; /jars lists them")
        return {**rows[0], "content": bytes(rows[0]["content"])}

    def remove_program(self, program_id: str) -> None:
        """Forget a program that nothing needs."""
        self.program(program_id)
        with self._database.transaction() as transaction:
            needed = {each.program for each in _submissions(transaction, RUNNING, WAITING, PREPARING)}
            if program_id in needed:
                raise ConfigurationError(f"program {program_id} is needed by a job: cancel the job first")
            transaction.run("DELETE FROM programs WHERE id = ?", program_id)

    # ---- submissions ----

    def add_submission(self, program: str, name: str, launch: Launch) -> Submission:
        """Have a program started by who leads."""
        with self._database.transaction() as transaction:
            now = transaction.now_ms()
            made = Submission(uuid.uuid4().hex, program, name, launch, created_ms=now, due_ms=now)
            _write(transaction, made)
        return made

    def submissions(self, *states: str) -> list[Submission]:
        """Those in given states, or all; the latest first."""
        with self._database.reading() as transaction:
            return _submissions(transaction, *states)

    def submission(self, submission_id: str) -> Submission | None:
        """One of them."""
        with self._database.reading() as transaction:
            rows = transaction.rows("SELECT content FROM submissions WHERE id = ?", submission_id)
        return _read(rows[0]) if rows else None

    def change(self, seen: Submission, lead: Lead | None = None, **changes: Any) -> Submission | None:
        """Change fields of a submission; None if somebody else was quicker, or the lead that is given is over.

        A dispatcher that was paused finds out here that another one has taken over. Check and change are one step: the
        lead cannot be taken in between.
        """
        with self._database.transaction() as transaction:
            if lead is not None and not _holds(transaction, lead):
                return None
            rows = transaction.rows("SELECT content FROM submissions WHERE id = ?", seen.id)
            if not rows:
                return None
            current = _read(rows[0])
            if (current.state, current.attempt) != (seen.state, seen.attempt):
                return None
            changed = replace(current, **changes)
            # Another transaction may have read the same: it is whoever writes first.
            written = transaction.run(
                "UPDATE submissions SET state = ?, content = ? WHERE id = ? AND content = ?",
                *(changed.state, json.dumps(asdict(changed)), seen.id, rows[0]["content"]),
            )
        return changed if written else None

    def forget_submissions(self, lead: Lead, most: int) -> list[Submission]:
        """Forget the oldest of those that are over; returns them."""
        with self._database.transaction() as transaction:
            if not _holds(transaction, lead):
                return []
            old = _submissions(transaction, ENDED)[most:]
            for each in old:
                transaction.run("DELETE FROM submissions WHERE id = ?", each.id)
        return old

    # ---- history ----

    def add_history(self, document: dict[str, Any], most: int = HISTORY_KEPT) -> None:
        """Keep the document of a job that has ended, and forget the oldest."""
        content = zlib.compress(json.dumps(document).encode())
        with self._database.transaction() as transaction:
            transaction.run(
                "INSERT INTO history VALUES (?, ?, ?) ON CONFLICT (job_id) DO UPDATE SET"
                " ended_ms = excluded.ended_ms, document = excluded.document",
                *(document["id"], document["ended_ms"] or document["now_ms"], content),
            )
            old = transaction.rows("SELECT job_id FROM history ORDER BY ended_ms DESC")[most:]
            old = [row for row in old if row["job_id"] != document["id"]]  # the oldest, if a clock was set back
            for row in old:
                transaction.run("DELETE FROM history WHERE job_id = ?", row["job_id"])

    def history(self) -> list[tuple[str, int]]:
        """Ids of ended jobs and when they ended, the latest first."""
        with self._database.reading() as transaction:
            rows = transaction.rows("SELECT job_id, ended_ms FROM history ORDER BY ended_ms DESC")
        return [(row["job_id"], row["ended_ms"]) for row in rows]

    def ended_job(self, job_id: str) -> dict[str, Any] | None:
        """The document of a job that has ended."""
        with self._database.reading() as transaction:
            rows = transaction.rows("SELECT document FROM history WHERE job_id = ?", job_id)
        return json.loads(zlib.decompress(bytes(rows[0]["document"]))) if rows else None

    # ---- drivers on other machines ----

    def set_report(self, job_id: str, document: bytes) -> None:
        """Keep what a driver said last."""
        with self._database.transaction() as transaction:
            transaction.run(
                "INSERT INTO reports VALUES (?, ?, ?) ON CONFLICT (job_id) DO UPDATE SET"
                " seen_ms = excluded.seen_ms, document = excluded.document",
                *(job_id, transaction.now_ms(), document),
            )

    def forget_report(self, job_id: str) -> None:
        """A driver has ended."""
        with self._database.transaction() as transaction:
            transaction.run("DELETE FROM reports WHERE job_id = ?", job_id)
            transaction.run("DELETE FROM requests WHERE job_id = ? AND outcome IS NULL", job_id)

    def report(self, job_id: str, within_ms: int) -> bytes | None:
        """What a driver said within the last milliseconds."""
        with self._database.reading() as transaction:
            since = transaction.now_ms() - within_ms
            rows = transaction.rows("SELECT document FROM reports WHERE job_id = ? AND seen_ms >= ?", job_id, since)
        return bytes(rows[0]["document"]) if rows else None

    def reporting_jobs(self, within_ms: int) -> list[tuple[str, int]]:
        """The jobs whose drivers were heard of within the last milliseconds, and when."""
        with self._database.reading() as transaction:
            now = transaction.now_ms()
            rows = transaction.rows(
                "SELECT job_id, seen_ms FROM reports WHERE seen_ms >= ? ORDER BY job_id", now - within_ms
            )
        if any(row["seen_ms"] > now for row in rows):
            # A clock that was set back: what was heard in its future counts from now on.
            with self._database.transaction() as transaction:
                transaction.run("UPDATE reports SET seen_ms = ? WHERE seen_ms > ?", now, now)
        return [(row["job_id"], row["seen_ms"]) for row in rows]

    def reports(self, job_ids: list[str]) -> dict[str, bytes]:
        """What some drivers said last."""
        statement = "SELECT document FROM reports WHERE job_id = ?"
        with self._database.reading() as transaction:
            found = {job_id: transaction.rows(statement, job_id) for job_id in job_ids}
        return {job_id: bytes(rows[0]["document"]) for job_id, rows in found.items() if rows}

    def add_request(self, request_id: str, job_id: str, content: str) -> None:
        """Ask something of a driver."""
        with self._database.transaction() as transaction:
            transaction.run("INSERT INTO requests VALUES (?, ?, ?, NULL)", request_id, job_id, content)

    def requests(self, job_id: str) -> list[tuple[str, str]]:
        """What is asked of a driver and not answered yet."""
        with self._database.reading() as transaction:
            rows = transaction.rows("SELECT id, content FROM requests WHERE job_id = ? AND outcome IS NULL", job_id)
        return [(row["id"], row["content"]) for row in rows]

    def set_outcome(self, request_id: str, outcome: str) -> None:
        """What a driver answered."""
        with self._database.transaction() as transaction:
            transaction.run("UPDATE requests SET outcome = ? WHERE id = ?", outcome, request_id)

    def take_outcome(self, request_id: str) -> str | None:
        """What a driver answered, if it has; it is told once."""
        with self._database.transaction() as transaction:
            rows = transaction.rows("SELECT outcome FROM requests WHERE id = ? AND outcome IS NOT NULL", request_id)
            if rows:
                transaction.run("DELETE FROM requests WHERE id = ?", request_id)
        return rows[0]["outcome"] if rows else None

    # ---- what is used up: sessions and links of the pages ----

    def use(self, name: str, until_s: int) -> bool:
        """Use a name up until a time in seconds; False if it was before, by whichever server."""
        with self._database.transaction() as transaction:
            transaction.run("DELETE FROM used_up WHERE until_s < ?", transaction.now_ms() // 1000)
            return bool(transaction.run("INSERT INTO used_up VALUES (?, ?) ON CONFLICT DO NOTHING", name, until_s))

    def is_used(self, name: str) -> bool:
        """Whether a name was used up."""
        with self._database.reading() as transaction:
            return bool(transaction.rows("SELECT name FROM used_up WHERE name = ?", name))

    # ---- small facts ----

    def fact(self, name: str) -> str:
        """A remembered text; empty if there is none."""
        with self._database.reading() as transaction:
            rows = transaction.rows("SELECT value FROM facts WHERE name = ?", name)
        return str(rows[0]["value"]) if rows else ""

    def set_fact(self, name: str, value: str) -> None:
        """Remember a text."""
        with self._database.transaction() as transaction:
            transaction.run(
                "INSERT INTO facts VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", name, value
            )


_LEASE = "holder, url, epoch, renewals, expires_ms"


def _migrated(transaction: Transaction) -> str:
    """Bring the tables of an earlier version up to this one; returns the version that they have then."""
    transaction.run("INSERT INTO facts VALUES ('schema', '1') ON CONFLICT DO NOTHING")
    [row] = transaction.rows("SELECT value FROM facts WHERE name = 'schema'")
    version = str(row["value"])
    while version.isdigit() and int(version) in _MIGRATIONS:
        for statement in _MIGRATIONS[int(version)]:
            transaction.run(statement)
        version = str(int(version) + 1)
        transaction.run("UPDATE facts SET value = ? WHERE name = 'schema'", version)
    return version


def _holds(transaction: Transaction, lead: Lead) -> bool:
    """Whether a lead is good, and stays so until the end of the transaction: its row is locked by being written."""
    statement = "UPDATE leases SET url = url WHERE name = 'leader' AND holder = ? AND epoch = ?"
    return bool(transaction.run(statement, lead.holder, lead.epoch))


def _submissions(transaction: Transaction, *states: str) -> list[Submission]:
    rows = transaction.rows("SELECT state, content FROM submissions ORDER BY created_ms DESC, id")
    return [_read(row) for row in rows if not states or row["state"] in states]


def _read(row: Row) -> Submission:
    content = json.loads(row["content"])
    return Submission(**{**content, "launch": Launch(**content["launch"])})


def _write(transaction: Transaction, submission: Submission) -> None:
    transaction.run(
        "INSERT INTO submissions VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
        " state = excluded.state, content = excluded.content",
        *(submission.id, submission.state, submission.created_ms, json.dumps(asdict(submission))),
    )
