"""Cuts a run of word characters by script: what is written without spaces, or with particles joined, has its own way
to be cut. Knows nothing of names and stems.

Pairs need no dictionary, and serve index and query alike. Han and kana: pairs of characters, and every Han character
alone, for it may be a word (without them one question in ten was lost). Thai and its neighbours: pairs of units, which
are a consonant with its vowels and marks (as good as pairs of characters with fewer tokens; threes were worse).
Korean: pairs of syllables, which meet whatever particle follows and whether a compound is spaced or not (whole words
without their particles lost one question in ten). A word of one syllable stands beside, without its particle.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from foldmark.words.chinese import simple_alone, simple_in_pairs

_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_EAST = _HAN + "\u3040-\u30ff\u31f0-\u31ff"
_SOUTH = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_HANGUL = "\uac00-\ud7a3"
_SEMITIC = "\u0590-\u06ff\u0750-\u077f"
_RUNS = re.compile(
    f"(?P<east>[{_EAST}]+)|(?P<south>[{_SOUTH}]+)|(?P<hangul>[{_HANGUL}]+)|(?P<semitic>[{_SEMITIC}]+)"
    f"|(?P<other>[^{_EAST}{_SOUTH}{_HANGUL}{_SEMITIC}]+)"
)
_IS_HAN = re.compile(f"[{_HAN}]")
# A vowel written before its consonant, the consonant (in Khmer and Myanmar with those stacked below), what follows.
_UNIT = re.compile(
    "[\u0e40-\u0e44\u0ec0-\u0ec4]?[^\u0e40-\u0e44\u0ec0-\u0ec4](?:[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc"
    "\u0ec8-\u0ece\u102b-\u1038\u103a-\u103e\u17b4-\u17d1\u17d3]|[\u1039\u17d2].)*[\u0e30\u0e32\u0e33\u0e45\u0eb0\u0eb2]?"
    "|."
)


def runs(piece: str) -> Iterator[tuple[str, str]]:
    """(east, south, hangul, semitic or other; a run of that kind), in order."""
    for found in _RUNS.finditer(piece):
        yield found.lastgroup or "other", found[0]


def cut_east(run: str) -> list[str]:
    """Han and kana: pairs, and Han characters alone; Chinese in its simple characters."""
    alone = simple_alone(run)
    return _pairs(simple_in_pairs(run)) + _IS_HAN.findall(alone) if len(run) > 1 else [alone]


def cut_south(run: str) -> list[str]:
    """Thai, Lao, Khmer, Myanmar: pairs of units, and full syllables alone (other units are everywhere)."""
    units = _UNIT.findall(run)
    if len(units) < 2:
        return [run]
    return [a + b for a, b in pairwise(units)] + [unit for unit in units if len(unit) > 3]


def cut_hangul(run: str) -> list[str]:
    """Korean: pairs of syllables, and a word of one syllable without its particle."""
    if len(run) < 2:
        return [run]
    bare = _without_particle(run)
    return [*_pairs(run), bare] if len(bare) == 1 else _pairs(run)


def is_particle(run: str) -> bool:
    """Whether a run is no more than a Korean particle, as behind a name in Latin letters."""
    return run in _PARTICLE


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)]


def _without_particle(run: str) -> str:
    for particle, closed in _PARTICLES:
        if len(run) > len(particle) and run.endswith(particle):
            before = (ord(run[-len(particle) - 1]) - 0xAC00) % 28  # 0: the syllable ends in a vowel; 8: in l
            if closed is None or closed == (before != 0) or (particle.startswith("로") and before == 8):
                return run[: -len(particle)]
    return run


_AFTER_ANY = (
    "에서는 에서도 에서만 에게서 에게만 까지는 까지도 까지만 부터는 한테서 입니다 "
    "에서 에게 한테 께서 까지 부터 보다 처럼 마다 조차 밖에 에는 에도 하고 만큼 대로 마저 에 의 도 만"
)
_AFTER_CONSONANT = "으로부터 으로는 으로도 으로만 이에요 이라고 이라도 으로 이나 이란 이랑 이며 이든 은 이 을 과"
_AFTER_VOWEL = "로부터 로는 로도 로만 라고 라도 예요 는 가 를 와 로"
# (particle, whether the syllable before it must end in a consonant (True), a vowel (False), or either (None)); the
# longer ones first, for they end in shorter ones.
_PARTICLES = sorted(
    (
        (particle, closed)
        for row, closed in ((_AFTER_ANY, None), (_AFTER_CONSONANT, True), (_AFTER_VOWEL, False))
        for particle in row.split()
    ),
    key=lambda one: -len(one[0]),
)
_PARTICLE = frozenset(particle for particle, _ in _PARTICLES)
