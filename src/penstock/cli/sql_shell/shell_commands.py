"""Statements that the shell itself answers: HELP, QUIT, CLEAR, SHOW JOBS, STOP JOB and short forms with a backslash."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot.tokenizer_core import Token, TokenType

from penstock.errors import SqlParserError
from penstock.table.sql.places import Place, shown
from penstock.table.sql.splitting import tokens_of


@dataclass(frozen=True)
class Help:
    """`HELP`: what can be typed."""


@dataclass(frozen=True)
class Quit:
    """`QUIT`: leave the shell."""


@dataclass(frozen=True)
class Clear:
    """`CLEAR`: clear the screen."""


@dataclass(frozen=True)
class ShowJobs:
    """`SHOW JOBS`: the jobs that this shell started; with an id only that one (`DESCRIBE JOB 'id'`)."""

    job: str | None = None


@dataclass(frozen=True)
class StopJob:
    """`STOP JOB 'id' [WITH SAVEPOINT] [WITH DRAIN]`: end a job."""

    job: str
    with_savepoint: bool = False
    with_drain: bool = False


ShellCommand = Help | Quit | Clear | ShowJobs | StopJob

WORDS: dict[tuple[str, ...], ShellCommand] = {
    ("HELP",): Help(),
    ("QUIT",): Quit(),
    ("EXIT",): Quit(),
    ("CLEAR",): Clear(),
    ("SHOW", "JOBS"): ShowJobs(),
}

# Short forms, as in psql: a letter, and the statement it stands for with and without a name behind it.
SHORT_FORMS = {
    "\\h": ("HELP", None),
    "\\?": ("HELP", None),
    "\\q": ("QUIT", None),
    "\\d": ("SHOW TABLES", "DESCRIBE {}"),
    "\\j": ("SHOW JOBS", None),
}


def written_out(text: str) -> str:
    """A short form as the statement it stands for; any other text as it is.

    >>> written_out("\\\\d orders"), written_out("\\\\q"), written_out("SELECT 1")
    ('DESCRIBE orders', 'QUIT', 'SELECT 1')
    """
    if not text.lstrip().startswith("\\"):
        return text
    word, _, name = text.strip().rstrip(";").partition(" ")
    alone, named = SHORT_FORMS.get(word.lower(), (None, None))
    if alone is None or (name.strip() and named is None):
        known = ", ".join(SHORT_FORMS)
        raise SqlParserError(f"{text.strip()} is not a shell command; the short forms are {known}. Try HELP;")
    return named.format(name.strip()) if named is not None and name.strip() else alone


def is_word_alone(text: str) -> bool:
    """Whether a text needs no semicolon: a short form, or HELP, QUIT, EXIT, CLEAR."""
    word = text.strip()
    return word.startswith("\\") or (word.upper(),) in WORDS


def shell_command(text: str) -> ShellCommand | None:
    """The command that a statement is; None for statements of SQL."""
    tokens = [each for each in tokens_of(text) if each.token_type is not TokenType.SEMICOLON]
    words = tuple("'" if each.token_type is TokenType.STRING else each.text.upper() for each in tokens)
    if words in WORDS:
        return WORDS[words]
    if words[:2] == ("STOP", "JOB"):
        return _stop_job(text, tokens, words)
    if words[:2] in (("DESCRIBE", "JOB"), ("DESC", "JOB")) and words[2:] == ("'",):
        return ShowJobs(tokens[2].text)
    return None


def _stop_job(text: str, tokens: Sequence[Token], words: tuple[str, ...]) -> StopJob:
    clauses = {words[i : i + 2] for i in range(3, len(words), 2)}
    if words[2:3] != ("'",) or clauses - {("WITH", "SAVEPOINT"), ("WITH", "DRAIN")}:
        place = Place(text, tokens[0].start, tokens[-1].end)
        message = "Expected STOP JOB 'id' [WITH SAVEPOINT] [WITH DRAIN]; SHOW JOBS shows the ids"
        raise SqlParserError(shown(message, place), place.line, place.column)
    return StopJob(tokens[2].text, ("WITH", "SAVEPOINT") in clauses, ("WITH", "DRAIN") in clauses)
