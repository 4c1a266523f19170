"""The way of a browser into the server: a token or a link becomes a session cookie. No script is needed for it."""

from __future__ import annotations

from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from penstock.server.access import COOKIE, SESSION_SECONDS, Access
from penstock.tokens import Role

_MOST_BYTES = 4096
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>Penstock: log in</title><link rel="icon" href="data:,">
<style>body {{ font: 14px/1.5 system-ui, sans-serif; display: grid; place-items: center; min-height: 90vh; }}
main {{ max-width: 420px; }} h1 {{ font-size: 20px; }} form {{ display: flex; gap: 8px; align-items: end; }}
label {{ display: grid; flex: 1; }} input, button {{ font: inherit; padding: 5px 10px; }}</style></head>
<body><main><h1>Penstock</h1>{message}
<form method="post" action="/login"><label>Token <input type="password" name="token" autofocus required></label>
<button>Log in</button></form>
<p>The server printed a link and the place of its token file when it started.</p></main></body></html>
"""


def login_routes(access: Access, *, has_tls: bool) -> APIRouter:
    """Log in and out."""
    router = APIRouter()

    def entered(role: Role) -> Response:
        answer = RedirectResponse("/", 303)
        answer.set_cookie(
            COOKIE, access.new_session(role), SESSION_SECONDS, httponly=True, secure=has_tls, samesite="lax"
        )
        return answer

    @router.get("/login", include_in_schema=False)
    def page(code: str | None = None) -> Response:
        if access.is_open:
            return RedirectResponse("/", 303)
        role = None if code is None else access.take_link_code(code)
        if role is not None:
            return entered(role)
        message = "" if code is None else "<p>This link is too old, or was followed before. Log in with a token.</p>"
        return HTMLResponse(_PAGE.format(message=message), 200 if code is None else 401)

    @router.post("/login", include_in_schema=False)
    async def log_in(request: Request) -> Response:
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > _MOST_BYTES:
                return HTMLResponse(_PAGE.format(message="<p>That is no token.</p>"), 413)
        given = parse_qs(body.decode(errors="replace")).get("token", [""])[0]
        role = access.role_of_token(given.strip())
        if role is None:
            return HTMLResponse(_PAGE.format(message="<p>This token is not known.</p>"), 401)
        return entered(role)

    @router.post("/logout", include_in_schema=False)
    def log_out(request: Request) -> Response:
        access.end_session(request.cookies.get(COOKIE, ""))
        answer = RedirectResponse("/login", 303)
        answer.delete_cookie(COOKIE)
        return answer

    return router
