"""What every request passes before anything is done for it, and what every answer carries.

Without a session or a token there is nothing to see but the login page. What changes something needs the role for it,
and a browser must send it from a page of this server: a cookie is sent along by any page, so it proves nothing alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penstock.server.access import COOKIE, Access
from penstock.tokens import Role

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
_OPEN_PATHS = frozenset({"/login", "/logout", "/favicon.ico"})
# Flink has these as GET for clients that know no other; they change something all the same.
_CHANGING_ENDS = ("/yarn-cancel", "/yarn-stop")
# A session of SQL is its user's alone: its results can hold anything, and who fetches them takes them away.
_SQL_SESSION = re.compile(r"(/v\d+)?/sessions(/.*)?", re.DOTALL)
# A query of state changes nothing; its keys may be more than fit into a URL.
_READING_ENDS = ("/queryable/state",)

_CONTROL = re.compile(r"[\x00-\x1f\x7f\u0085\u2028\u2029]")
_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?")

BODY_BYTES = 1 << 20
UPLOAD_BYTES = 102 << 20


def _policy(scripts: str) -> str:
    return (
        f"default-src 'self'; script-src {scripts}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        "font-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'self'; "
        "form-action 'self'; frame-ancestors 'none'"
    )


# `this.media='all'`, by which pages that Angular made, Flink's too, load their styles; nothing else may be inline.
_ANGULARS_ONLOAD = "'unsafe-hashes' 'sha256-MhtPZXr7+LpJUY5qtMutB+qWfQtMaPccfe7QXtCcEYc='"

CONTENT_SECURITY_POLICY = _policy("'self'")
OTHER_PAGES_POLICY = _policy(f"'self' {_ANGULARS_ONLOAD}")
"""For pages that somebody else made."""

HEADERS: Mapping[str, str] = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Guard:
    """Lets through who may, tells others why not, and adds the headers that keep browsers from harm."""

    def __init__(
        self,
        app: ASGIApp,
        access: Access,
        host_names: frozenset[str],
        *,
        has_tls: bool = False,
        policy: str = CONTENT_SECURITY_POLICY,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        """Take the names by which this server may be addressed; loopback always is one.

        `on_change` is called when a request that may have changed something was served.
        """
        self._app = app
        self._access = access
        self._hosts = _LOOPBACK | host_names
        self._has_tls = has_tls
        self._on_change = on_change
        self._headers = {**HEADERS, "content-security-policy": policy}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
                if not scope["path"].startswith("/static/"):
                    headers.setdefault("cache-control", "no-store")
            await send(message)

        refusal = self._refusal(scope)
        await (refusal or self._app)(scope, _limited(receive, _most_bytes(scope)), send_with_headers)
        if refusal is None and _is_change(scope) and not _is_report(scope):
            self._on_change()

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if _CONTROL.search(str(scope["path"])):
            # A route may match in front of a line's end what is looked at here with it.
            return refused(400, "the path has control characters in it")
        if not self._is_addressed_rightly(headers):
            return refused(421, "this server does not go by that host name; start it with --host-name to allow it")
        role, is_by_cookie = self._role(headers)
        is_change = _is_change(scope)
        if is_change and not self._is_from_own_page(headers, must_be_told=is_by_cookie and role is not None):
            return refused(403, "the request comes from a page of another site")
        if scope["path"] in _OPEN_PATHS:
            return None
        if role is None:
            return self._unknown(headers, scope)
        if is_change and role < Role.OPERATE:
            return refused(403, "this token may only look: use one with the role operate")
        scope["state"] = {**scope.get("state", {}), "role": role}
        return None

    def _role(self, headers: Headers) -> tuple[Role | None, bool]:
        """The role of who asks, and whether only a cookie says so."""
        if self._access.is_open:
            return Role.OPERATE, False
        given = headers.get("authorization")
        if given is not None:
            return self._access.role_of_header(given), False
        cookie = _cookie(headers.get("cookie", ""))
        return (None if cookie is None else self._access.role_of_session(cookie)), True

    def _unknown(self, headers: Headers, scope: Scope) -> Response:
        is_page = "text/html" in headers.get("accept", "") and scope["method"] == "GET"
        if is_page:
            return Response(status_code=303, headers={"location": "/login"})
        return refused(401, "no valid token: send `Authorization: Bearer TOKEN`", {"www-authenticate": "Bearer"})

    def _is_addressed_rightly(self, headers: Headers) -> bool:
        """A page of another site may have its own name lead here; the browser then still sends that name."""
        given = headers.getlist("host")
        found = _HOST.fullmatch(given[0]) if len(given) == 1 else None
        return found is not None and (found["name"].lower() in self._hosts or "*" in self._hosts)

    def _is_from_own_page(self, headers: Headers, *, must_be_told: bool) -> bool:
        """Programs say nothing of where a request comes from; browsers always do if something may change."""
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        if site is not None:
            return site in ("same-origin", "none")
        if origin is not None:
            return urlsplit(origin).netloc.lower() == headers.get("host", "").lower()
        return not must_be_told


def role_of(request: Request) -> Role:
    """The role of who sent a request that was let through."""
    role: Role = getattr(request.state, "role", Role.READ)
    return role


def _most_bytes(scope: Scope) -> int:
    return UPLOAD_BYTES if scope["path"].endswith("/jars/upload") else BODY_BYTES


def _limited(receive: Receive, most: int) -> Receive:
    """What is sent, as far as it is not too much; counted as it comes, for a length that is told may be a lie."""
    received = 0

    async def limited() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > most:
            raise HTTPException(413, f"a request of more than {most >> 20} MB is not taken here")
        return message

    return limited


def _is_change(scope: Scope) -> bool:
    path = str(scope["path"])
    if _SQL_SESSION.fullmatch(path):
        return True
    return path.endswith(_CHANGING_ENDS) if scope["method"] in _SAFE_METHODS else not path.endswith(_READING_ENDS)


def _is_report(scope: Scope) -> bool:
    """Whether a driver elsewhere tells how it is; hundreds do all the time, and lists must not be made for each."""
    return str(scope["path"]).endswith("/penstock/drivers")


def _cookie(header: str) -> str | None:
    try:
        found = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return None
    return None if found is None else found.value


def refused(status: int, text: str, headers: Mapping[str, str] | None = None) -> Response:
    """An error as Flink's clients read it."""
    content = json.dumps({"errors": [text]})
    return Response(content, status, headers, media_type="application/json")
