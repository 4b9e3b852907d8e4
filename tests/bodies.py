"""Bodies for tests: opened as a caller opens them, by a ref."""

from __future__ import annotations

from typing import Any

from foldmark import MemoryStore
from foldmark.artifacts import MemoryArtifacts
from foldmark.opening import Opened, open_body
from foldmark.redact import Redactor
from foldmark.store import Key


def body_of(data: str | bytes, *, span: str = "", shelf: Any = None, redact: Redactor | None = None) -> Opened:
    """The body of these bytes, or the range of it that `span` (`#L2-9`) names."""
    shelf = MemoryArtifacts() if shelf is None else shelf
    sha256 = shelf.put("t", data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data)
    key = Key(session="s", tenant="t", user="u")
    return open_body(MemoryStore(), shelf, key, f"artifact:sha256:{sha256}{span}", redact=redact)


def again(body: Opened, ref: str) -> Opened:
    """The body that a `next` names."""
    key = Key(session="s", tenant="t", user="u")
    return open_body(MemoryStore(), body.shelf, key, ref, redact=body.redact)


def span_of(ref: str) -> str:
    """The range of a ref."""
    return "#" + ref.partition("#")[2]
