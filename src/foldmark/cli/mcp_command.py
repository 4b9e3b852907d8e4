"""`foldmark mcp`: recall for any agent that speaks MCP. Knows nothing of the protocol."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Annotated, Any

import typer

from foldmark.cli.embedders import EmbedderName, embedder_of, note_of
from foldmark.cli.endings import told
from foldmark.cli.place import ScopedPlace, whose
from foldmark.cli.terminal import terminal
from foldmark.errors import PolicyError
from foldmark.seeking import Reach

TOKEN = "FOLDMARK_MCP_TOKEN"
"""The environment variable with the token of the HTTP server: on the command line every process could read it."""


def mcp(
    http: Annotated[bool, typer.Option("--http", help="Serve over HTTP; default: over standard input/output.")] = False,
    host: Annotated[str, typer.Option("--host", help="Where to listen, with --http.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="On which port, with --http.", min=1, max=65_535)] = 8765,
    reach: Annotated[
        Reach, typer.Option("--reach", help="How far a search and a ref may go: session, children or user.")
    ] = "children",
    embedder: EmbedderName = "",
    *,
    place: ScopedPlace,
) -> None:
    """Serve search and load to an agent over MCP. With --http the token in FOLDMARK_MCP_TOKEN guards it."""
    with told(False):
        serving = _serving()
        chosen = embedder_of(embedder)
        if note := note_of(chosen):
            terminal(errors=True).tell(f"note: {note}", "yellow")
        opened = place.open(embedder=chosen)
        server = serving.recall_server(opened, reach=reach)
        served = f"serving session {whose(opened.key)} of {place.db} (reach: {reach})"
        if http:
            token = os.environ.get(TOKEN, "")
            app = _guarded(serving, server, host, token)
            _tell(f"{served} at {_address(host, port)}; {_guard(token)}. Ctrl-C ends it.")
            serving.run_app(app, host=host, port=port)
        else:
            _tell(f"{served} over standard input and output, until the client closes them.")
            serving.serve_stdio(server)


def _guarded(serving: Any, server: Any, host: str, token: str) -> Any:
    """The application behind its token. Raises PolicyError, which names the variable, where one is needed."""
    try:
        return serving.http_app(server, token=token, host=host)
    except PolicyError as error:
        raise PolicyError(f"{error} Set {TOKEN}.") from error


def _tell(said: str) -> None:
    """On standard error: standard output belongs to the protocol."""
    terminal(errors=True).tell(f"foldmark mcp: {said}")


def _address(host: str, port: int) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/mcp"


def _guard(token: str) -> str:
    if token:
        return f"requests must carry the token of {TOKEN} (Authorization: Bearer …)"
    return f"no token is needed, every process of this machine may read it (set {TOKEN} to ask for one)"


def _serving() -> Any:
    """The module that speaks MCP; its SDK is an extra. Raises PolicyError when it is not installed."""
    try:
        return import_module("foldmark.mcp")
    except ImportError as error:
        raise PolicyError(str(error)) from error
