"""The database file and the session that a command is about. Knows nothing of what the command does with them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args

from foldmark.artifacts import FileArtifacts
from foldmark.cli.files import check_database
from foldmark.cli.options import DEFAULT_DB, Db, ScopeKey, ScopeSees, SessionId
from foldmark.embedding import Embedder
from foldmark.errors import NotFound, PolicyError
from foldmark.policy import Policy
from foldmark.reports import Observer
from foldmark.session import Session
from foldmark.sqlite import SQLiteStore
from foldmark.store import Key, Sees, SessionInfo, Store
from foldmark.summarizer import Summarizer

TENANT, USER = "local", "local"
_MOST_NAMES = 5
LONGEST_WRITE_SECONDS = 3_600
"""A file that is still unfinished after so long has lost its writer."""


@dataclass(kw_only=True)
class Database:
    """A database file; opened when asked, and said clearly when it is not there. Each class below adds options of what
    is meant inside it (`foldmark.cli.commands`)."""

    db: Db = field(default=DEFAULT_DB, kw_only=False)
    _store: SQLiteStore | None = field(default=None, init=False)

    def store(self, *, create: bool = False) -> SQLiteStore:
        """The store. Raises NotFound where there is none (not with `create`), PolicyError for what is no database."""
        if self._store is None:
            check_database(self.db, create=create)
            self._store = SQLiteStore(self.db)
        return self._store

    @property
    def nothing(self) -> str:
        """What is said of a database without a session."""
        return f"{self.db} holds no session yet. `foldmark import TRANSCRIPT` brings one in."

    def rows(self) -> list[dict[str, Any]]:
        return [
            {
                "session": info.session,
                "kind": info.kind,
                "events": info.head,
                "parent": info.parent or None,
                "title": info.title,
                "updated": info.updated,
                "damaged": info.damaged or None,
            }
            for info in self.store().sessions(TENANT, USER)
        ]

    def hanging(self, session: str, *, forks: bool) -> tuple[list[str], list[str]]:
        """(sub-agents, forks) that go when a session goes: its sub-agents and theirs, and with `forks` the sessions
        that inherit from one of them, with their sub-agents."""
        rows, gone, waiting = self.store().sessions(TENANT, USER), dict[str, str](), [session]
        while waiting:
            parent = waiting.pop()
            found = [one for one in rows if one.parent == parent and one.session not in {*gone, session}]
            found = [one for one in found if one.kind == "child" or (forks and one.kind == "fork")]
            gone.update((one.session, one.kind) for one in found)
            waiting += [one.session for one in found]
        children = sorted(name for name, kind in gone.items() if kind == "child")
        return children, sorted(name for name in gone if name not in children)

    def sweep(self, days: float, *, dry_run: bool = False) -> int:
        """Remove artifact bodies older than `days` that no event refers to; returns how many (`dry_run`: how many there
        are). What writers that were killed left unfinished goes too, when it is older than `days` and than any write
        takes."""
        store, now = self.store(), time.time()
        used, before = store.hashes(TENANT), now - days * 86_400
        orphans = [sha for sha, changed in store.artifacts.all(TENANT) if sha not in used and changed <= before]
        if dry_run:
            return len(orphans)
        if isinstance(store.artifacts, FileArtifacts):
            store.artifacts.sweep(TENANT, before=min(before, now - LONGEST_WRITE_SECONDS))
        return store.artifacts.delete(TENANT, orphans, before=before)


@dataclass(kw_only=True)
class Place(Database):
    """A database file and the session meant: a name or the beginning of one (with `exact` a whole name), empty for the
    newest."""

    session: SessionId = field(default="", kw_only=False)
    exact: bool = False
    chosen: str = field(default="", init=False)
    """Which session was taken where none was named and there are several; empty else, and before it is opened."""

    def open(
        self, *, summarizer: Summarizer | None = None, policy: Policy | None = None, embedder: Embedder | None = None,
        observer: Observer | None = None,
    ) -> Session:  # fmt: skip
        """The session meant, under the policy it was last compacted with (or under `policy`), as the scope sees it that
        is meant. Raises NotFound, PolicyError."""
        info = self.info()
        key = self._key(Key(session=info.session, tenant=TENANT, user=USER))
        return Session(
            info.session, store=self.store(), policy=policy or aimed(info.meta, remembered(info.meta)),
            summarizer=summarizer, scope=key.scope, sees=key.sees, embedder=embedder, observer=observer,
        )  # fmt: skip

    def _key(self, whole: Key) -> Key:
        return whole

    def info(self) -> SessionInfo:
        """The row of the session meant: the one named, else the newest that is no sub-agent. The beginning of a name is
        enough where only one begins so. Raises NotFound."""
        known = {info.session: info for info in self.store().sessions(TENANT, USER)}
        if not known:
            raise NotFound(str(self.db), self.nothing)
        whole = {n: info for n, info in known.items() if not info.damaged}
        lines = [n for n, info in whole.items() if info.kind != "child" and not info.meta.get("branch")]
        name = self.session or (lines or list(whole) or list(known))[0]
        if not self.session and len(known) > 1:
            self.chosen = f"session {name}, the newest of {len(known)}; --session names another"
        return known[name if name in known else self._begun(name, list(known))]

    def _begun(self, start: str, known: list[str]) -> str:
        """The only session whose name begins so; of a main line and its sub-agents the main line. Raises NotFound."""
        found = [] if self.exact else [name for name in known if name.startswith(start)]
        main = min(found, key=len, default="")
        if found and all(name == main or name.startswith(f"{main}/") for name in found):
            return main
        if found:
            said = f"{self.db} holds {len(found)} sessions that begin with {start!r}: {_some(found)}. Write more of it."
            raise NotFound(start, said)
        near = get_close_matches(start, known, _MOST_NAMES, 0.5)
        others = [*near, *(name for name in known if name not in near)]
        raise NotFound(start, f"{self.db} holds no session {start!r}. It holds: {_some(others)}.")

    def holds(self, session: str) -> bool:
        """Whether there is a database with that session."""
        return self.db.is_file() and any(info.session == session for info in self.store().sessions(TENANT, USER))

    def policy_of(self, session: str) -> Policy:
        """The policy kept with a session, else `coding`."""
        known = {info.session: info for info in self.store(create=True).sessions(TENANT, USER)}
        return remembered(known[session].meta if session in known else {})


@dataclass(kw_only=True)
class ScopedPlace(Place):
    """A database file, the session meant and the scope inside it, by default the whole."""

    scope: ScopeKey = field(default="", kw_only=False)
    sees: ScopeSees = field(default="", kw_only=False)

    def _key(self, whole: Key) -> Key:
        return _scope_of(self.store(), whole, self.scope, _sees(self.sees))

    def must_be_whole(self) -> None:
        """Raises PolicyError where a scope was given, and a file is named."""
        if self.scope or self.sees:
            raise PolicyError(
                "--scope and --sees choose inside a session of the database; a file is taken whole: import it first."
            )


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more (`foldmark sessions` lists them)" if len(names) > _MOST_NAMES else ""
    return f"{', '.join(names[:_MOST_NAMES])}{more}"


def _sees(sees: str) -> Sees | None:
    """What a scope sees, as an option says it; None: it says nothing. Raises PolicyError."""
    found: Sees | None = next((one for one in get_args(Sees) if one == sees), None)
    if sees and found is None:
        raise PolicyError(f"--sees is {sees!r}; it takes {', '.join(get_args(Sees))}.")
    return found


def _scope_of(store: Store, whole: Key, scope: str, sees: Sees | None) -> Key:
    """The scope meant. The whole session is always one; any other must exist, and its key alone names it where it is
    the only one with that key. Raises NotFound, PolicyError."""
    if not scope and sees in (None, whole.sees):
        return whole
    known = store.scopes(whole)
    found = [key for key in known if key.scope == scope and sees in (None, key.sees)]
    if not found:
        asked = f"scope {scope!r}" if sees is None else f"scope {scope!r} that sees {sees}"
        raise NotFound(
            scope, f"Session {whole.session!r} has no {asked}. {_listed(known)} `foldmark scopes` tells more."
        )
    if len(found) > 1:
        ways = ", ".join(key.sees for key in found)
        raise PolicyError(f"Session {whole.session!r} has several scopes {scope!r}: --sees chooses one of {ways}.")
    return found[0]


def _listed(scopes: Sequence[Key]) -> str:
    if not scopes:
        return "It has none yet; one exists once a request was made for it."
    names = ", ".join(f"{key.scope or 'the whole session'} ({key.sees})" for key in scopes[:10])
    return f"It has: {names}{', …' if len(scopes) > 10 else ''}."


def whose(key: Key) -> str:
    """A session's name, and which scope of it is meant where that is not the whole."""
    return key.session if key.is_whole else f"{key.session}, scope {key.scope or repr('')} ({key.sees})"


def remembered(meta: Mapping[str, str], fallback: Policy | None = None) -> Policy:
    return Policy.from_json(meta["policy"]) if meta.get("policy") else fallback or Policy.coding()


def aimed(meta: Mapping[str, str], policy: Policy) -> Policy:
    """The policy with the `--target` of the last compaction: what reads the session looks at it as it was compacted."""
    return policy.replace(budget={"target_tokens": int(meta["target"])}) if meta.get("target") else policy


def targeted(policy: Policy, target: int | None) -> Policy:
    """The policy aimed at what `--target` says. Raises PolicyError."""
    try:
        return policy if target is None else policy.replace(budget={"target_tokens": target})
    except PolicyError as error:
        raise PolicyError(f"--target: {error}") from error


def read_policy(name: str) -> Policy:
    """A preset by name, or a TOML file. Raises PolicyError."""
    if not name.endswith(".toml"):
        try:
            return Policy.preset(name)
        except PolicyError as error:
            raise PolicyError(f"{error} The name of a policy file ends in .toml.") from error
    return Policy.from_toml(Path(name).read_text(encoding="utf-8"))
