"""The state while a batch of events is read: the facts known before, and the new ones. Knows nothing of
events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from foldmark.checkpoint import OPEN, Fact, FactKind
from foldmark.log import State, newest


class Ledger:
    """Newest fact per (kind, key) on top of a stored state, and the list of what is new."""

    def __init__(self, state: Mapping[tuple[str, str], Fact]) -> None:
        self._before = state if isinstance(state, State) else newest(state.values())
        self._now: dict[tuple[str, str], Fact] = {}
        self._keys: dict[str, dict[str, None]] = {}
        self._open: dict[str, dict[str, None]] = {}
        self.facts: list[Fact] = []

    def get(self, kind: FactKind, key: str) -> Fact | None:
        """The newest fact of a key; None when there is none or it was withdrawn."""
        fact = self._now.get((kind, key)) or self._before.get((kind, key))
        return None if fact is None or fact.status == "gone" else fact

    def said(self, kind: FactKind, key: str, scope: str) -> Fact | None:
        """The newest fact of a key, when an event of that scope established it. What was said elsewhere is not known to
        everybody who reads here: it has to be noted again."""
        fact = self.get(kind, key)
        return fact if fact and fact.scope == scope else None

    def all(self, kind: FactKind) -> list[Fact]:
        """The newest fact of every key of a kind."""
        keys = self._keys.get(kind)
        if keys is None:
            keys = self._keys[kind] = dict.fromkeys(self._before.keys_of(kind))
            keys.update(dict.fromkeys(key for known, key in self._now if known == kind))
        return [fact for key in keys if (fact := self.get(kind, key))]

    def open(self, kind: FactKind) -> list[Fact]:
        """The newest facts of a kind that are still active or open, in the order they became so."""
        keys = self._open.get(kind)
        if keys is None:
            new = [key for known, key in self._now if known == kind]
            held = (*self._before.open_keys(kind, new), *new)
            keys = dict.fromkeys(key for key in held if (fact := self.get(kind, key)) and fact.status in OPEN)
            self._open[kind] = keys
        return [fact for key in keys if (fact := self.get(kind, key))]

    def add(
        self, seq: int, kind: FactKind, key: str, value: str, *, status: str = "", scope: str = "",
        refs: Iterable[int] = (), meta: Mapping[str, str] | None = None,
    ) -> Fact:  # fmt: skip
        """Note a fact; it is the newest of its key from now on."""
        small = {name: text for name, text in (meta or {}).items() if text}
        fact = Fact(
            seq=seq, kind=kind, key=key, value=value, status=status, scope=scope, meta=small,
            refs=tuple(dict.fromkeys(ref for ref in refs if ref and ref != seq)),
        )  # fmt: skip
        self.facts.append(fact)
        self._now[kind, key] = fact
        if kind in self._keys:
            self._keys[kind][key] = None
        if kind in self._open:
            self._open[kind].pop(key, None)
            if status in OPEN:
                self._open[kind][key] = None
        return fact

    def rest_on(self, seq: int, *, since: int) -> None:
        """Let the facts from number `since` on rest on one event more."""
        for at in range(since, len(self.facts)):
            fact = self.facts[at]
            if seq not in (0, fact.seq, *fact.refs):
                self.facts[at] = wider = msgspec.structs.replace(fact, refs=(*fact.refs, seq))
                if self._now[fact.kind, fact.key] is fact:
                    self._now[fact.kind, fact.key] = wider

    def newest(self, kind: FactKind) -> Fact | None:
        """The fact of a kind with the highest seq."""
        return max(self.all(kind), key=lambda fact: fact.seq, default=None)
