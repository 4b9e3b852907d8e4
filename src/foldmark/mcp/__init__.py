"""Recall as an MCP server: the recall tools, and events and bodies as resources, over stdio or HTTP.

    from foldmark.mcp import http_app, recall_server, serve_stdio

    serve_stdio(recall_server(session))               # for a client that starts the server as a process
    app = http_app(recall_server(session))            # an ASGI application: `uvicorn module:app`

Needs the extra `mcp`. Whose session it is and how far a search may reach is said here, by the application;
no parameter of a tool and no address of a resource widens it.
"""

from __future__ import annotations

from foldmark.errors import needs_extra

try:
    import mcp.server  # noqa: F401 (only whether it is there)
except ImportError as error:
    raise ImportError(needs_extra("foldmark.mcp needs the MCP SDK", "mcp")) from error

from foldmark.mcp.running import http_app, run_app, serve_http, serve_stdio
from foldmark.mcp.server import recall_server

__all__ = ["http_app", "recall_server", "run_app", "serve_http", "serve_stdio"]
