"""What the commands do, apart from printing. Knows nothing of terminals."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from foldmark import importers
from foldmark.cli.files import read_bytes
from foldmark.cli.options import Reading
from foldmark.cli.place import Place, read_policy, remembered
from foldmark.drafts import Request, payload_bytes
from foldmark.errors import NotFound, PolicyError, WireError
from foldmark.events import to_json
from foldmark.importing import Brought, bring_in
from foldmark.originals import whole
from foldmark.policy import Policy
from foldmark.redact import redact_json, redact_value, redactor
from foldmark.refs import event_ref
from foldmark.session import Session
from foldmark.wire import Wire, by_name


def read_transcript(path: Path, reading: Reading, place: Place) -> importers.Imported:
    """Read one session out of a transcript file. With several inside, `--session` chooses; else the longest. Raises
    NotFound also for what is the name of a session of the database."""
    session = place.session
    try:
        data = read_bytes(path)
    except FileNotFoundError as error:
        if place.holds(str(path)):
            said = f"No such file: {path}. {place.db} holds a session of that name: --session {path}, without a file."
            raise NotFound(str(path), said) from error
        raise
    found = importers.read(data, format=reading.format, name=path.name, strict=reading.strict)
    if not found:
        raise WireError(str(path), "no session in this file")
    if len(found) == 1:
        return found[0]
    chosen = next((one for one in found if one.session == session), None)
    if chosen:
        return chosen
    if session:
        names = ", ".join(one.session for one in found[:10])
        raise NotFound(
            session, f"{path.name} holds no session {session!r}. It holds: {names}{', …' if len(found) > 10 else ''}."
        )
    longest = max(found, key=lambda one: len(one.events))
    others = ", ".join(one.session for one in found[:5])
    note = (
        f"{path.name} holds {len(found)} sessions ({others}{', …' if len(found) > 5 else ''}); "
        f"the longest, {longest.session}, is taken. --session chooses another."
    )
    return msgspec.structs.replace(longest, warnings=(*longest.warnings, note))


def bring(place: Place, imported: importers.Imported, policy: Policy) -> tuple[Session, Brought]:
    """Bring the transcript in; `--session` names it anew, or chooses one of its sub-agents and branches."""
    inside = {f"{imported.session}/{child.imported.session}" for child in imported.children}
    if place.session in inside:
        _, brought = _record(place, imported, policy, "")
        opened = Session(place.session, store=place.store(), policy=policy)
        return opened, msgspec.structs.replace(brought, session=opened.name, children=())
    return _record(place, imported, policy, place.session)


def _record(place: Place, imported: importers.Imported, policy: Policy, session: str) -> tuple[Session, Brought]:
    console = Console(stderr=True)
    total = len(imported.events)
    if total < 200 or not console.is_terminal:
        return bring_in(imported, place.store(create=True), policy, session=session)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("reading events", total=total)
        return bring_in(
            imported, place.store(create=True), policy, session=session,
            progress=lambda done, new: progress.update(task, completed=done, total=new),
        )  # fmt: skip


def import_transcript(place: Place, path: Path, reading: Reading, *, policy: str | None) -> dict[str, Any]:
    """Bring a transcript in under a policy (None: the session's own); what `--json` prints of it."""
    imported = read_transcript(path, reading, place)
    chosen = read_policy(policy) if policy else place.policy_of(place.session or imported.session)
    opened, brought = bring(place, imported, chosen)
    settled = chosen if policy else remembered(opened.info.meta, chosen)
    opened.remember({"policy": settled.to_json(), "wire": imported.wire, **({"target": ""} if policy else {})})
    return {
        "session": brought.session,
        "db": str(place.db),
        "format": imported.format,
        "events": brought.new + brought.known,
        "new": brought.new,
        "known": brought.known,
        "forked_at": event_ref(brought.forked_at) if brought.forked_at else None,
        "children": list(brought.children),
        "warnings": [*brought.warnings, *asides(brought)],
    }


def asides(brought: Brought) -> list[str]:
    """What a person should know about the import: a fork, and sessions that stand beside this one."""
    said = []
    if brought.forked_at is not None:
        where = f"behind event:{brought.forked_at}" if brought.forked_at else "from its beginning"
        said = [f"The transcript differs from the log {where}; it goes on as the fork {brought.session}."]
    if not brought.children:
        return said
    names = ", ".join(brought.children[:3]) + (", …" if len(brought.children) > 3 else "")
    return [
        *said,
        f"{len(brought.children)} sub-agent session(s) or branches are sessions of their own and not in this request: "
        f"{names}. --session NAME compacts one of them.",
    ]


def next_request(opened: Session, wire: str) -> Request:
    """The next request as it would go out now; nothing is stored."""
    return opened.peek(form_of(opened, wire))


def form_of(opened: Session, wire: str) -> Wire | None:
    """The wire that is asked for, else that of the last request, else that of the transcript it came from; None where
    nobody said one. A sub-agent or branch that came in with a transcript has the form of that."""
    last = opened.store.view(opened.key).state.frame
    name = wire or (last.wire if last else _of_transcript(opened))
    return by_name(name) if name else None


def _of_transcript(opened: Session) -> str:
    key, info, seen = opened.key, opened.info, set[str]()
    while not info.meta.get("wire") and info.parent and info.session not in seen:
        seen.add(info.session)
        key = msgspec.structs.replace(key, session=info.parent)
        info = opened.store.info(key)
    return info.meta.get("wire", "")


def export_session(opened: Session, wire: str, *, raw: bool) -> tuple[str, list[str]]:
    """The whole log with every result in full, as JSON lines of events or as one payload of a wire; and what that wire
    cannot carry."""
    form = None if wire == "events" else _wire(wire)
    redact = redactor(opened.store.context(opened.key, ()).secret, not raw)
    events = [whole(event, opened.artifacts, opened.key.tenant) for event in opened.store.log(opened.key)]
    if form is None:
        return "".join(_redacted_event(to_json(event).decode(), redact) + "\n" for event in events), []
    payload = form.write(opened.system, opened.tools, [event for event in events if event.role != "control"])
    return _redacted_event(payload_bytes(payload).decode(), redact) + "\n", form.lost(events)


def _wire(name: str) -> Wire:
    """Raises PolicyError, which names the one more form that an export takes."""
    try:
        return by_name(name)
    except PolicyError as error:
        raise PolicyError(f"{error} The default, events, writes JSON lines.") from error


def _redacted_event(text: str, redact: Callable[[str], str]) -> str:
    """JSON with its strings redacted, and the JSON that call arguments are inside it."""
    value = json.loads(text)
    clean = redact_value(_open_arguments(value, redact), redact)
    return text if clean == value else json.dumps(clean, ensure_ascii=False, separators=(",", ":"))


def _open_arguments(value: Any, redact: Callable[[str], str]) -> Any:
    if isinstance(value, list):
        return [_open_arguments(item, redact) for item in value]
    if isinstance(value, dict):
        return {
            key: redact_json(item, redact)
            if key == "arguments" and isinstance(item, str)
            else _open_arguments(item, redact)
            for key, item in value.items()
        }
    return value


__all__ = ["Place", "asides", "bring", "export_session", "import_transcript", "next_request", "read_transcript"]
