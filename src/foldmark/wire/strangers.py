"""Says of an object that is no reply of an API what it is instead: an error, or what another wire reads. Knows nothing
of how replies are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foldmark.errors import WireError
from foldmark.wire.plain import plain

SIGNS = {
    "tool_calls": "openai-chat",
    "choices": "openai-chat",
    "candidates": "gemini",
    "parts": "gemini",
    "output": "openai-responses",
}
"""What only one wire's replies and messages hold."""
_SHOWN = 200


def check_reply(reply: Mapping[str, Any], wire: str, api: str, wanted: str, *, fits: bool) -> None:
    """Raises WireError for an object that is none of the `api`: one that does not fit, for it has no `wanted`, and one
    with the sign of another wire, of which something would be lost unseen."""
    sign = next((sign for sign, owner in SIGNS.items() if owner != wire and _holds(reply, sign)), "")
    if fits and not sign:
        return
    why = f"it holds `{sign}`" if fits else f"it has no {wanted} ({_held(reply)})"
    there = f" The wire {SIGNS[sign]!r} reads such." if sign else ""
    raise WireError("reply", f"this is no reply of {api}: {why}. Nothing was read.{there}")


def error_in(reply: Mapping[str, Any]) -> str:
    """The error that an API sent in place of a reply, in a few words; empty when it holds none."""
    error = plain(reply.get("error"))
    if not error:
        return ""
    if not isinstance(error, Mapping):
        return f"it holds `error`: {_line(error)}"
    told = [error[name] for name in ("code", "status", "type", "message") if error.get(name) not in (None, "")]
    return f"it holds `error`: {_line(' '.join(str(one) for one in told) or dict(error))}"


def _holds(reply: Mapping[str, Any], sign: str) -> bool:
    """Calls are lost beside words too; the others are told by standing where the words should be."""
    return bool(reply.get(sign)) and (sign == "tool_calls" or not reply.get("content"))


def _held(reply: Mapping[str, Any]) -> str:
    if said := error_in(reply):
        return said
    names = [f"`{str(name)[:40]}`" for name in reply]
    more = f" and {len(names) - 6} more" if len(names) > 6 else ""
    return f"it holds {', '.join(names[:6])}{more}" if names else "it is empty"


def _line(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
