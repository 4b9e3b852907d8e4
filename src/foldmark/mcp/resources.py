"""Events, bodies and compactions as MCP resources. Knows nothing of protocols' messages and of search.

An address is a ref with `//`: `event://12`, `artifact://12.2`, `event://3@child`, `compaction://2`. A range stands
behind `#` as in a ref, or as a query (`artifact://12?lines=10-40`, `?bytes=0-4096`): many clients send no fragment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mcp_types import Resource, ResourceTemplate, TextResourceContents

from foldmark.errors import NotFound
from foldmark.events import Artifact, Event
from foldmark.evidence import joined, opening
from foldmark.kinds.base import plural
from foldmark.refs import artifact_ref
from foldmark.retrieval import Loaded
from foldmark.seeking import Reach
from foldmark.session import Session
from foldmark.tools.answers import blocks_of

PAGE = 100
"""Resources on a page of the list."""
PAGE_CHARACTERS = 50_000
MOST_CHARACTERS = 100_000
"""A resource has no pages, so this much of it is sent, and the address to go on with: about 25,000 tokens."""

_ASKED = re.compile(r"\?(\w+=.*)$", re.DOTALL)
_QUERY = re.compile(r"\?(lines|bytes)=([0-9]+(?:-[0-9]+)?)$")

TEMPLATES = (
    ResourceTemplate(
        name="event", uri_template="event://{seq}", mime_type="text/plain",
        description="One event of the session by its number: what was said, called or returned.",
    ),
    ResourceTemplate(
        name="artifact", uri_template="artifact://{seq}{?lines,bytes}", mime_type="text/plain",
        description="The whole body of a large result or paste, or its lines (1-200) or bytes (0-4096).",
    ),
    ResourceTemplate(
        name="compaction", uri_template="compaction://{number}", mime_type="text/plain",
        description="The events that a compaction covers.",
    ),
)  # fmt: skip


def listed(session: Session, cursor: str) -> tuple[list[Resource], str]:
    """(a page of the session's bodies, the newest first; the cursor of the next page). Raises ValueError for a cursor
    that this server did not give."""
    if cursor and not (cursor.isascii() and cursor.isdigit()):
        raise ValueError(f"{cursor[:40]!r} is no cursor of this list; start again without one.")
    before = int(cursor[:18]) if cursor else None
    found: list[Resource] = []
    for event, artifact in _bodies(session, before):
        if len(found) >= PAGE and event.seq != before:
            return found, str(before)
        found.append(_resource(event, artifact))
        before = event.seq
    return found, ""


def _bodies(session: Session, before: int | None) -> Iterator[tuple[Event, Artifact]]:
    """Bodies of events in front of a seq. A page may be longer than PAGE: the bodies of one event stay together."""
    last = None if before is None else before - 1
    for event in reversed(session.store.log(session.key, 1, last)):
        for artifact in event.artifacts:
            yield event, artifact


def _resource(event: Event, artifact: Artifact) -> Resource:
    said = (event.result.name if event.result else "") or event.role
    return Resource(
        uri=_uri(artifact_ref(event.seq, artifact.number)),
        name=artifact_ref(event.seq, artifact.number),
        description=f"{artifact.kind} from {said}, {plural(artifact.lines, 'line')}",
        mime_type="text/plain",
        size=artifact.size,
    )


def opened(session: Session, reach: Reach, uri: str) -> list[TextResourceContents]:
    """What stands behind an address, and where it goes on when it is long: a body as it is, events quoted as the load
    tool quotes them. Raises NotFound, also for what lies outside the reach."""
    try:
        return _pages(session, reach, _QUERY.sub(_range, uri))
    except NotFound as error:
        raise NotFound(uri, _refusal(uri, str(error))) from error


def _refusal(uri: str, said: str) -> str:
    """Why nothing is there, in words of this server: nobody who reads it has the command line."""
    if (asked := _ASKED.search(uri)) and not _QUERY.search(uri):
        return f"{asked[1]!r:.80} is no range; write ?lines=10-40 (the first is 1) or ?bytes=0-4096 (the first is 0)."
    if "`foldmark" in said:
        return f"Nothing that may be read here is at {uri:.200}. The tool session_search finds refs that exist."
    return said


def _pages(session: Session, reach: Reach, ref: str) -> list[TextResourceContents]:
    """What a ref opens, page after page. Raises NotFound."""
    size = 0
    out: list[TextResourceContents] = []
    while ref:
        page = session.load(ref, reach=reach, limit=PAGE_CHARACTERS, redact=True)
        text, following = _told(page) if page.events else (page.text, page.next)
        out.append(_contents(ref, text))
        size += len(text)
        if following and size >= MOST_CHARACTERS:
            return [*out, _contents(following, f"[There is more: read {_uri(following)}]")]
        ref = following
    return out


def _told(page: Loaded) -> tuple[str, str]:
    blocks, following = blocks_of(page, PAGE_CHARACTERS, lambda ref: f"read {_uri(ref)}")
    return joined([opening(f"recalled {page.ref}"), *blocks]), following


def _range(found: re.Match[str]) -> str:
    return f"#{'L' if found[1] == 'lines' else 'B'}{found[2]}"


def _contents(ref: str, text: str) -> TextResourceContents:
    return TextResourceContents(uri=_uri(ref), mime_type="text/plain", text=sendable(text))


def _uri(ref: str) -> str:
    """A ref as an address; one that is an address already stays as it is."""
    kind, _, rest = ref.partition(":")
    return f"{kind}://{rest.removeprefix('//')}"


def sendable(text: str) -> str:
    """Text that can be sent: half a surrogate pair has no form in UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()
