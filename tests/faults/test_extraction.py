"""LOSS: what an extraction into a long-term memory gets of a session that is compacted all the while."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st
from scenes import applied, pair, pairs_of
from ways import lived, refusing

from foldmark import MemoryStore, SQLiteStore
from foldmark.errors import StoreError
from foldmark.events import assistant, user
from foldmark.exporting import Exported, Handed, export

DOES = ("record", "record", "compact", "compact fails", "extract", "extract fails", "extract dies half-way", "undo")
FAULTS = ["record"] * 3 + ["extract fails", "compact", "record", "extract"]


class Memory:
    """A long-term memory that keeps what it gets, and is away when told to: at the batch with that number."""

    def __init__(self) -> None:
        self.seqs: list[int] = []
        self.away: int | None = None

    def __call__(self, batch: Exported) -> None:
        if self.away == 0:
            self.away = None
            raise OSError("the memory is away")
        self.away = self.away and self.away - 1
        self.seqs += [event.seq for event in batch.events]


def extracted(one: Any, memory: Any) -> Handed | None:
    try:
        return export(one.store, one.session.key, memory, name="memory", batch=7)
    except (OSError, StoreError):
        return None


@settings(max_examples=25)
@given(acts=st.lists(st.sampled_from(DOES), min_size=3, max_size=20), is_on_disk=st.booleans())
@example(FAULTS, False).via("S-LOSS-10: the extraction fails once, the compaction still runs")
@example(FAULTS, True).via("S-LOSS-10, on disk")
def test_every_event_is_extracted_exactly_once_whatever_fails_and_whatever_is_compacted(
    acts: list[str], is_on_disk: bool
) -> None:
    """S-LOSS-10: the boundary has no say in what was extracted: extractions and compactions fail at random, in any
    order, and the memory has every event once, in order."""
    with TemporaryDirectory() as folder:
        store: Any = SQLiteStore(Path(folder) / "agent.db") if is_on_disk else MemoryStore()
        one, memory = lived("caller", store), Memory()
        one.record(user("Begin."), *pairs_of(30, 200, start=1_000))
        for number, act in enumerate(acts):
            if act == "record":
                one.record(user(f"Go {number}."), *pair(number, 900), assistant(f"Done {number}."))
            elif act == "undo" and applied(one.session):
                one.session.control.undo()
            elif act.startswith("compact"):
                mend = refusing(store, "commit", StoreError("the disk gave up")) if act.endswith("fails") else None
                with suppress(StoreError):
                    one.run()
                if mend:
                    mend()
            elif act.startswith("extract"):
                memory.away = {"extract fails": 0, "extract dies half-way": 1}.get(act)
                extracted(one, memory)
                memory.away = None
            assert memory.seqs == list(range(1, len(memory.seqs) + 1)), "a gap, or one twice"
        assert extracted(one, memory)
        assert memory.seqs == [event.seq for event in store.log(one.session.key)]
        store.close()


def test_when_the_note_of_an_extraction_is_lost_the_same_batch_comes_again_and_no_other(store: Any) -> None:
    """S-LOSS-10: the memory took a batch, and the process died before that was noted: the very same batch is handed
    over again, under the same refs, so that a memory that keeps by ref has every event once."""
    one, got = lived("caller", store), list[Exported]()
    one.record(user("Begin."), *pairs_of(30, 200))
    mend = refusing(store, "describe", StoreError("the disk gave up"))
    assert extracted(one, got.append) is None
    mend()
    assert one.compacted().outcome == "applied"
    assert extracted(one, got.append)
    assert [row["ref"] for row in got[0].rows()] == [row["ref"] for row in got[1].rows()]
    kept = {row["ref"]: row for batch in got for row in batch.rows()}
    assert list(kept) == [f"event:{seq}" for seq in range(1, 62)]
    assert sum(len(batch.events) for batch in got) == 61 + 7
