"""Random lives of work: every store answers as a small oracle does, step by step, on a clock of the script.

The oracle keeps no numbers of its own making: for each scope a list of what raised work and when, which shrinks when
work is done. What is wanted, since when, and what waits is read off that list.
"""

from __future__ import annotations

import tempfile
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from places import PLACES, Place

from foldmark.checkpoint import Checkpoint, Mark
from foldmark.errors import StoreError
from foldmark.events import Event, ToolCall, assistant, result, user
from foldmark.store import Backlog, Key, Raising, Store, Work

# What an append may bring: its events, and whether the last of them ends a step, a turn.
BRINGS: dict[str, tuple[bool, bool]] = {"user": (False, False), "words": (True, True), "round": (True, False)}


class Raised(msgspec.Struct):
    seq: int
    time: float


class Job(msgspec.Struct):
    """A scope's work as the oracle sees it."""

    number: int
    raised: list[Raised] = []
    done: int = 0
    rest: float = 0.0
    by_hand: bool = False
    attempts: int = 0
    holder: int = -1  # the place of its newest claim in the life's list of works
    lease: float | None = None
    taken: int = 0


class Oracle:
    def __init__(self) -> None:
        self.heads: dict[str, int] = {}
        self.scopes: dict[str, set[tuple[str, str]]] = {}
        self.versions: dict[Key, int] = {}
        self.jobs: dict[Key, Job] = {}
        self.claims: list[tuple[Job, Key]] = []
        self.made = 0

    def job(self, key: Key) -> Job:
        if key not in self.jobs:
            self.made += 1
            self.jobs[key] = Job(self.made)
        return self.jobs[key]

    def keys(self, session: str) -> list[Key]:
        found = sorted(self.scopes.get(session, ()))
        return [Key(session=session, scope=scope, sees=sees) for scope, sees in found]  # type: ignore[arg-type]

    def exists(self, key: Key) -> None:
        self.heads.setdefault(key.session, 0)
        self.scopes.setdefault(key.session, set()).add((key.scope, key.sees))

    def append(self, session: str, brings: str, scope: str, raising: Raising, now: float) -> None:
        events = made(brings, scope)
        self.heads[session] = head = self.heads.get(session, 0) + len(events)
        if raising.whole_session and raising.after != "nothing":
            self.exists(Key(session=session))
        step, turn = BRINGS[brings]
        ends = {"steps": step, "turns": turn, "nothing": False}[raising.after]
        for key in self.keys(session):
            chosen = raising.whole_session is not False
            if key.scope:
                names = raising.scopes
                chosen = names is None or any(f"{key.scope}/".startswith(f"{name}/") for name in names)
            if not chosen or not any(key.shows(event) for event in events):
                continue
            if ends:  # all events of an append have one key
                job = self.job(key)
                if not job.raised:
                    job.rest, job.by_hand = 0.0, False
                job.raised.append(Raised(head, now))
            if (job := self.jobs.get(key, Job(0))).raised:
                job.rest = max(job.rest, raising.not_before)

    def want(self, key: Key, now: float) -> None:
        self.exists(key)
        if head := self.heads[key.session]:
            job = self.job(key)
            job.raised.append(Raised(head, now))
            job.done, job.rest, job.by_hand = min(job.done, head - 1), 0.0, True

    def leased(self, session: str, now: float) -> bool:
        return any(key.session == session and (job.lease or 0.0) > now for key, job in self.jobs.items())

    def free(self, now: float) -> list[tuple[float, int, Key]]:
        return sorted(
            (job.raised[0].time, job.number, key)
            for key, job in self.jobs.items()
            if job.raised and (job.by_hand or job.rest <= now) and not self.leased(key.session, now)
        )

    def claim(self, now: float, seconds: float) -> tuple[Any, ...] | None:
        found = self.free(now)
        if not found:
            return None
        since, _, key = found[0]
        job = self.jobs[key]
        job.taken, job.lease, job.attempts = max(each.seq for each in job.raised), now + seconds, job.attempts + 1
        job.rest, job.by_hand, job.holder = 0.0, False, len(self.claims)
        self.claims.append((job, key))
        return key, job.taken, job.done, job.lease, since, job.attempts

    def held(self, place: int) -> tuple[Job, Key] | None:
        """The job of a claim, unless it was claimed again or erased since."""
        job, key = self.claims[place]
        return (job, key) if self.jobs.get(key) is job and job.holder == place else None

    def finish(self, job: Job) -> None:
        job.done, job.lease, job.attempts = max(job.done, job.taken), None, 0
        job.raised = [each for each in job.raised if each.seq > job.taken]

    def settle(self, place: int, again: float | None, counts: bool) -> bool:
        if not (found := self.held(place)):
            return False
        job, _ = found
        if again is None:
            self.finish(job)
        else:
            job.attempts -= job.lease is not None and not counts
            job.lease, job.rest = None, max(job.rest, again)
        return True

    def extend(self, place: int, until: float) -> bool:
        found = self.held(place)
        if not found or found[0].lease is None:
            return False
        job, key = found
        others = [job for other, job in self.jobs.items() if other.session == key.session]
        if any(other.holder > place and other.lease is not None for other in others):
            return False
        job.lease = max(found[0].lease, until)
        return True

    def commit(self, place: int) -> str:
        _, key = self.claims[place]
        if not self.heads.get(key.session):  # erased, and made again without an event perhaps
            return "NotFound"
        found = self.held(place)
        if not found or found[0].lease is None:
            return "StaleBoundary"
        self.finish(found[0])
        self.versions[key] = self.versions.get(key, 0) + 1
        return "committed"

    def delete(self, session: str) -> None:
        self.heads.pop(session, None)
        self.scopes.pop(session, None)
        for table in (self.jobs, self.versions):
            for key in [key for key in table if key.session == session]:
                del table[key]

    def backlog(self, now: float) -> Backlog:
        waiting = [job for job in self.jobs.values() if job.raised]
        leased = [job for job in waiting if (job.lease or 0.0) > now]
        resting = [job for job in waiting if job not in leased and not job.by_hand and job.rest > now]
        free = self.free(now)
        return Backlog(
            dirty=len(waiting),
            leased=len(leased),
            resting=len(resting),
            oldest_seconds=now - free[0][0] if free else 0.0,
        )


def made(brings: str, scope: str) -> list[Event]:
    if brings == "user":
        return [user("go", scope=scope)]
    if brings == "words":
        return [assistant("done", scope=scope)]
    call = assistant("", ToolCall("c", "x"), scope=scope)
    return [call, msgspec.structs.replace(result("c", "1"), scope=scope)]


SESSIONS = ["one", "two"]
SCOPES = [("", "all"), ("a", "exact"), ("a", "lineage"), ("a/b", "subtree"), ("b", "exact")]
keys = st.builds(
    lambda name, at: Key(session=name, scope=at[0], sees=at[1]), st.sampled_from(SESSIONS), st.sampled_from(SCOPES)
)
raisings = st.builds(
    Raising,
    after=st.sampled_from(["steps", "steps", "steps", "turns", "nothing"]),
    not_before=st.sampled_from([0.0, 0.0, 0.0, 2.0, 5.0, 20.0]),
    scopes=st.sampled_from([None, None, None, None, ("a",), ("b", "a/b"), ()]),
    whole_session=st.sampled_from([None, None, None, None, True, False]),
)
places = st.sampled_from([1, 1, 1, 2, 2, 3, 4, 7])  # the newest claim, the one before it …
append = st.tuples(
    *(st.just("append"), st.sampled_from(SESSIONS), st.sampled_from(list(BRINGS))),
    *(st.sampled_from(["", "a", "a/b", "b"]), raisings),
)
OPERATIONS = {
    "append": append,
    "claim": st.tuples(st.just("claim"), st.sampled_from([0.0, 3.0, 8.0, 50.0])),
    "enlist": st.tuples(st.just("enlist"), keys),
    "want": st.tuples(st.just("want"), keys),
    "extend": st.tuples(st.just("extend"), places, st.integers(0, 30).map(float)),
    "settle": st.tuples(st.just("settle"), places, st.sampled_from([None, None, 0.0, 4.0, 15.0]), st.booleans()),
    "commit": st.tuples(st.just("commit"), places),
    "delete": st.tuples(st.just("delete"), st.sampled_from(SESSIONS)),
    "wait": st.tuples(st.just("wait"), st.sampled_from([1.0, 5.0, 20.0])),
}
OFTEN = {"append": 8, "claim": 5, "settle": 3, "commit": 2, "want": 2, "extend": 2, "wait": 2}
operations = st.sampled_from([name for name in OPERATIONS for _ in range(OFTEN.get(name, 1))]).flatmap(
    OPERATIONS.__getitem__
)
BEGUN = [("enlist", Key(session=name, scope=at[0], sees=at[1])) for name in SESSIONS for at in SCOPES[:3]]  # type: ignore[arg-type]


def carry_out(stores: list[Store], works: list[list[Work]], oracle: Oracle, operation: Any, now: float) -> list[Any]:
    """Every store's answer (`works` are the claims of each so far), and behind them what the oracle expects."""
    match operation:
        case ("append", session, brings, scope, raising):
            pause = raising.not_before
            later = msgspec.structs.replace(raising, not_before=now + pause if pause else 0.0)
            for store in stores:
                context = store.context(Key(session=session), made(brings, scope))
                store.append(context.key, context.new, head=context.head, now=now, raising=later)
            oracle.append(session, brings, scope, later, now)
        case ("enlist", key):
            for store in stores:
                store.enlist(key)
            oracle.exists(key)
        case ("want", key):
            for store in stores:
                store.open(key)
                store.want(key, now)
            oracle.want(key, now)
        case ("claim", seconds):
            found = [store.claim(now, seconds) for store in stores]
            for held, work in zip(works, found, strict=True):
                held.extend([work] if work else [])
            return [*(work and told(work) for work in found), oracle.claim(now, seconds)]
        case ("delete", session) if session in oracle.heads:
            for store in stores:
                store.delete(Key(session=session))
            oracle.delete(session)
        case (("extend" | "settle" | "commit") as what, place, *rest) if works[0]:
            place = max(0, len(works[0]) - place)
            pairs = [(store, held[place]) for store, held in zip(stores, works, strict=True)]
            if what == "extend":
                until = now + rest[0]
                return [*(store.extend(work, until) for store, work in pairs), oracle.extend(place, until)]
            if what == "settle":
                again, counts = None if rest[0] is None else now + rest[0], rest[1]
                held_on = [store.settle(work, again=again, counts=counts) for store, work in pairs]
                return [*held_on, oracle.settle(place, again, counts)]
            version = oracle.versions.get(pairs[0][1].key, 0)
            return [*(commit(store, work, version) for store, work in pairs), oracle.commit(place)]
    return []


def told(work: Work) -> tuple[Any, ...]:
    return work.key, work.wanted, work.done, work.lease_until, work.since, work.attempts


def commit(store: Store, work: Work, version: int) -> str:
    new = Checkpoint(version=version + 1, boundary=1, text="t", tokens=1, mark=Mark(1))
    try:
        store.commit(work.key, new, expected=version, token=work.token)
    except StoreError as error:
        return type(error).__name__
    return "committed"


def handles(place: Place, folder: Path) -> list[Store]:
    """Two on one place, which take turns, where it can be opened twice."""
    folder.mkdir()
    return [place.new(folder), *([place.again(folder)] if place.again else [])]


@settings(max_examples=150)
@given(st.lists(operations, min_size=30, max_size=60))  # short lives reach no lease that was lost
def test_every_store_does_with_work_what_the_oracle_does(life: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        held = [handles(place, Path(folder) / name) for name, place in PLACES.items()]
        for store in (each for of_one in held for each in of_one):
            stack.enter_context(closing(store))
        oracle, now = Oracle(), 1.0
        works: list[list[Work]] = [[] for _ in held]
        for number, operation in enumerate([*BEGUN, *life]):
            now += operation[1] if operation[0] == "wait" else 0.5
            stores = [of_one[number % len(of_one)] for of_one in held]
            answers = carry_out(stores, works, oracle, operation, now)
            assert all(answer == answers[-1] for answer in answers), operation
            for store in stores:
                assert store.backlog(now) == oracle.backlog(now), operation
                for session in oracle.heads:
                    assert store.scopes(Key(session=session)) == oracle.keys(session)
        for claims in works:
            tokens = [work.token for work in claims]
            assert tokens == sorted(set(tokens))
