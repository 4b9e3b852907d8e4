"""`foldmark mcp`: recall for any agent that speaks MCP. Knows nothing of the protocol."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Annotated, Any

import typer

from foldmark.cli.embedders import EmbedderName, embedder_of, note_of
from foldmark.cli.endings import told
from foldmark.cli.options import DEFAULT_DB, Db, ScopeKey, ScopeSees, SessionId
from foldmark.cli.place import Place
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
    db: Db = DEFAULT_DB,
    session: SessionId = "",
    scope: ScopeKey = "",
    sees: ScopeSees = "",
) -> None:
    """Serve search and load to an agent over MCP. With --http the token in FOLDMARK_MCP_TOKEN guards it."""
    with told(False):
        serving = _serving()
        chosen = embedder_of(embedder)
        if note := note_of(chosen):
            terminal(errors=True).tell(f"note: {note}", "yellow")
        opened = Place(db, session).open(scope=scope, sees=sees, embedder=chosen)
        server = serving.recall_server(opened, reach=reach)
        if http:
            serving.serve_http(server, host=host, port=port, token=os.environ.get(TOKEN, ""))
        else:
            serving.serve_stdio(server)


def _serving() -> Any:
    """The module that speaks MCP; its SDK is an extra. Raises PolicyError when it is not installed."""
    try:
        return import_module("foldmark.mcp")
    except ImportError as error:
        raise PolicyError(str(error)) from error
