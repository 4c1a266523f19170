"""JDBC URLs, translated to settings of Python drivers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, unquote

from penstock.errors import ConfigurationError

Settings = dict[str, str]

_POSTGRES_URL = re.compile(r"//(?P<hosts>[^/?]*)(?:/(?P<database>[^?]*))?(?:\?(?P<query>.*))?")
_HOST = re.compile(r"(?P<host>\[[^\]]+\]|[^:]*)(?::(?P<port>\d+))?")


def postgres_settings(rest: str) -> Settings:
    """Settings of libpq in what follows `jdbc:postgresql:`."""
    match = _POSTGRES_URL.fullmatch(rest) or _POSTGRES_URL.fullmatch("///" + rest.lstrip("/"))
    assert match is not None, "the pattern leaves no text out that begins with two slashes"
    settings: Settings = {}
    hosts = [_HOST.fullmatch(host) for host in (match["hosts"] or "localhost").split(",")]
    if None in hosts:
        raise ConfigurationError(f"JDBC URL 'jdbc:postgresql:{rest}': write it as jdbc:postgresql://host:port/database")
    settings["host"] = ",".join((host["host"] or "localhost").strip("[]") for host in hosts if host)
    settings["port"] = ",".join(host["port"] or "5432" for host in hosts if host)
    if match["database"]:
        settings["dbname"] = unquote(match["database"])
    for name, value in parse_qsl(match["query"] or "", keep_blank_values=True):
        settings.update(_translated(name, value))
    return settings


def _translated(name: str, value: str) -> Settings:
    """A property of the JDBC driver as settings of libpq."""
    if name in _SAME:
        return {name: value}
    translate = _OTHER.get(name)
    if translate is None:
        known = sorted({*_SAME, *_OTHER})
        raise ConfigurationError(
            f"JDBC URL: the property {name!r} has no counterpart in Python's PostgreSQL driver; known are "
            f"{', '.join(known)}"
        )
    return translate(value)


_SAME = {
    "user",
    "password",
    "sslmode",
    "sslcert",
    "sslkey",
    "sslrootcert",
    "sslpassword",
    "options",
    "connect_timeout",
    "application_name",
    "target_session_attrs",
    "keepalives_idle",
    "tcp_user_timeout",
}


_SERVER_TYPES = {"primary": "read-write", "master": "read-write", "secondary": "standby", "slave": "standby"}


def _nothing(value: str) -> Settings:
    # They tune the Java driver; ours sends batches in one go anyway.
    return {}


_OTHER: dict[str, Callable[[str], Settings]] = {
    "ssl": lambda value: {"sslmode": "verify-full"} if value.lower() in ("", "true") else {},
    "ApplicationName": lambda value: {"application_name": value},
    "connectTimeout": lambda value: {"connect_timeout": value},
    "loginTimeout": lambda value: {"connect_timeout": value},
    "currentSchema": lambda value: {"options": f"-c search_path={value}"},
    "tcpKeepAlive": lambda value: {"keepalives": "1" if value.lower() == "true" else "0"},
    "socketTimeout": lambda value: {"tcp_user_timeout": str(int(value) * 1000)},
    "targetServerType": lambda value: {"target_session_attrs": _SERVER_TYPES.get(value, value)},
    "reWriteBatchedInserts": _nothing,
    "prepareThreshold": _nothing,
    "stringtype": _nothing,
    "loggerLevel": _nothing,
}


def split_url(url: Any) -> tuple[str, str]:
    """The database system that a URL names, and the rest of the URL; `jdbc:` in front may be left out."""
    system, colon, rest = str(url).removeprefix("jdbc:").partition(":")
    if not isinstance(url, str) or not colon:
        raise ConfigurationError(
            f"a JDBC URL looks like jdbc:postgresql://host:port/database or jdbc:sqlite:/path/to/file, got {url!r}"
        )
    return {"postgres": "postgresql"}.get(system, system), rest
