"""Claims are looked up: what the index finds is what a search of every text finds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldmark.checkpoint import Item
from foldmark.story import Sources, checked
from foldmark.story import evidence as searching
from foldmark.story.claims import claims_of
from foldmark.story.places import holds
from foldmark.words import words

_WORDS = (
    "src/pay/refund.py refund.py ttl=30 1,200 1.2k commit 3f2a9c1d8e77b0 3f2a9c1 v1.2.3 test_late Redis 45% 14:05 "
    "2026-11-30 #12 issue OAuthClient refreshToken() `lock now` --force db-prod-x sixty 60 é数据 数据 K12 . ,"
)
_PIECES = st.sampled_from([*_WORDS.split(), "\n"])
_TEXT = st.lists(_PIECES, max_size=9).map(" ".join)


@settings(max_examples=200, deadline=None)
@given(st.lists(_TEXT, min_size=1, max_size=6), _TEXT)
def test_a_claim_is_found_exactly_where_it_stands(texts: list[str], statement: str) -> None:
    evidence = Sources(shown=dict(enumerate(texts, 1)), boundary=len(texts)).evidence
    for claim in claims_of(statement)[0]:
        assert evidence.holders(claim) == {seq for seq, text in evidence.texts.items() if holds(text, claim)}


def test_an_older_event_that_a_ref_brings_in_is_found_by_its_words() -> None:
    sources = Sources(
        shown={9: "Going on."}, boundary=9, earlier=lambda seq: "lock_key is order_id" if seq == 2 else ""
    )
    assert not sources.evidence.has_word(words("lock_key")[0])
    assert checked([Item("decisions", "lock_key is order_id", (2,))], sources).items[0].refs == (2,)
    assert sources.evidence.has_word(words("lock_key")[0])


def test_a_claim_is_not_searched_in_texts_that_cannot_hold_it(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []

    def counted(text: object, claim: object) -> bool:
        looked.append(1)
        return holds(text, claim)  # type: ignore[arg-type]

    monkeypatch.setattr(searching, "holds", counted)
    shown = {seq: f"value_{seq} = charge_{seq}() in src/file_{seq}.py" for seq in range(1, 1_001)}
    item = Item("decisions", "value_500 is charge_500() in src/file_500.py", (500,))
    assert checked([item], Sources(shown=shown, boundary=1_000)).items[0].verified
    assert len(looked) < 20
