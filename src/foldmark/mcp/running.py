"""Runs an MCP server: over stdio, or over HTTP behind a token. Knows nothing of what the server answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from hmac import compare_digest
from typing import Any

import anyio
import uvicorn
from mcp.server import Server
from mcp.server.stdio import stdio_server
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse

from foldmark.errors import PolicyError

LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")
PATH = "/mcp"

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


def serve_stdio(server: Server[Any]) -> None:
    """Serve the process that started this one, over its standard input and output, until it closes them."""
    anyio.run(_over_stdio, server)


async def _over_stdio(server: Server[Any]) -> None:
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def http_app(server: Server[Any], *, token: str = "", host: str = "127.0.0.1") -> Starlette:
    """The server as an ASGI application with streamable HTTP at `/mcp`.

    With a `token` every request must carry it (`Authorization: Bearer …`). `host` is the name under which clients reach
    it; for a local one the application refuses requests that a web page of another origin made. Raises PolicyError for
    any other host without a token: it would hand the session to everybody who can reach the port.
    """
    if host not in LOCAL_HOSTS and not token:
        raise PolicyError(
            f"Serving {host!r} without a token would hand the session to everybody; give a token, or serve 127.0.0.1."
        )
    app = server.streamable_http_app(streamable_http_path=PATH, host=host)
    if token:
        app.user_middleware.insert(0, Middleware(_Guard, token=token))
    return app


def serve_http(server: Server[Any], *, host: str = "127.0.0.1", port: int = 8765, token: str = "") -> None:
    """Serve over HTTP until interrupted. Raises PolicyError as `http_app` does."""
    run_app(http_app(server, token=token, host=host), host=host, port=port)


def run_app(app: Starlette, *, host: str, port: int) -> None:
    """Run what `http_app` made until interrupted."""
    uvicorn.run(app, host=host, port=port, log_level="warning")


class _Guard:
    """Lets requests through that carry the token. Compares in constant time: how long a refusal takes tells nothing."""

    def __init__(self, app: Any, token: str) -> None:
        self._app, self._expected = app, f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._knows(scope):
            said = "A token is needed: Authorization: Bearer …\n"
            await PlainTextResponse(said, 401, {"WWW-Authenticate": "Bearer"})(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _knows(self, scope: Scope) -> bool:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        return any(compare_digest(value, self._expected) for value in given)
