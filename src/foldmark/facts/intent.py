"""What a sentence says: a limit, a correction, a stop, an agreement, a decision. Knows nothing of events or
facts.

Plain words in six languages, no model. For a user's words it rather sees a limit too many than one too few: a
limit that is overlooked is broken later, one too many costs a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

_SENTENCE_END = re.compile(r"[.!?…]+[\"')\]*_]*(?=\s)|[。！？]+")
_ABBREVIATION = re.compile(
    r"(?:\b(?:etc|e\.g|i\.e|vs|cf|approx|resp|incl|z\.B|bzw|ca|Mr|Dr|St|Nr|no)|\b[A-Za-z]|\b\d)\.$",
    re.IGNORECASE,
)
BULLET = re.compile(r"^\s*(?:[-*•>]|\d{1,3}[.)])\s+")
_PRINTED = re.compile(
    r"^\s*(?:[{}<$>|]|at\s+\S+[(:]|\[\d|\d{4}-\d\d-\d\d[T ]\d|File \"|[+-]{3}\s|@@|npm |Traceback"
    r"|[A-Z]\w*(?:Error|Exception):)"
    r"|\":|\\n|[;{]\s*$|=>|</|\w\(\)|\s{4,}\S",
)
_SIGNS = re.compile(r"[^\w\s]|\d")
SHORT_MESSAGE = 160
"""Characters of two sentences that belong together; longer ones speak of several things."""
SHORT_LIMIT = 8
"""Words of a limit that may only point: a longer one says what it is about."""
_VALUE = re.compile(r"\d")

LONGEST_SENTENCE = 1_000

_LIMIT = re.compile(
    r"\b(?:(?<!\bi )(?:do not|don['’]?t)|i (?:do not|don['’]?t) (?:want|like|need|accept|allow|wish)|does "
    r"?n[o']t|never|must|mustn['’]?t|only|always|without|avoid|unless|until|at (?:most|least)"
    r"|(?:no|not) (?:more|less|later|longer) than|make sure|ensure|should ?n[o']t|shouldn['’]?t|should not"
    r"|cannot"
    r"|can['’]?t|required?|keep|leave|forbid(?:den)?|not allowed|instead|rather than|prefer(?:s|red)?|no new|no need"
    r"|exactly"
    r"|(?<!\bi )(?:have to|has to|needs? to)|stop|not?\b(?=[^.?!]*\bbut\b)|limit(?:ed)? to|maximum|minimum"
    r"|stick to|no\s+\w+ing"
    r"|nicht|nie(?:mals)?|keine?[nmrs]?|nur|muss|müssen|d[aü]rf(?:en|st)?|immer|statt(?:dessen)?|ohne"
    r"|unbedingt"
    r"|nunca|jam[aá]s|debes?|deben|s[oó]lo|[uú]nicamente|siempre|en (?:lugar|vez) de|sin|no (?:toques|uses"
    r"|hagas|cambies"
    r"|modifiques|borres)|jamais|doi(?:t|s|vent)|seulement|uniquement|toujours|au lieu de|plut[oô]t que|sans"
    r"|n['’e]\s?\w+\s+(?:pas|jamais|plus))\b",
    re.IGNORECASE,
)
_LIMIT_WIDE = re.compile(
    "不要|不能|不得|不可|禁止|必须|必須|务必|務必|只能|只用|只有|仅|总是|始终|一律|而不是|改为|改成|不准|别(?:再|用|改|动|碰|删)"
    "|不许|ないで|するな|てはいけ|絶対|必ず|だけ|のみ|代わりに|常に|なければ|べき|以外"
    "|하지 ?마|반드시|절대|항상|대신"
)
_DEMAND = re.compile(
    r"^(?:please|make sure|never|must not|do not|don['’]t)\b|\b(?:please (?:do not|don['’]t|never))\b",
    re.IGNORECASE,
)
_LIFTS = re.compile(
    r"\byou (?:can|may) now\b|\bnow you (?:can|may)\b|\byou['’]?re (?:now )?(?:allowed|free) to\b|\bno "
    r"longer (?:need|applies|matters)"
    r"|\bit['’]?s (?:now )?(?:ok|okay|fine|allowed) (?:to|now)\b|\b(?:forget|ignore|disregard) (?:the|my"
    r"|that|what) (?:rule|limit"
    r"|constraint|restriction|earlier|previous|i said)\b|\bis (?:ok|okay|fine|allowed) now\b|\bdu (?:darfst"
    r"|kannst) jetzt\b"
    r"|\bya puedes\b|\btu peux maintenant\b|現在可以|现在可以|もう.{0,12}(?:いい|よい|構わ)",
    re.IGNORECASE,
)
_CONTENT = re.compile(r"[^\W\d_]{4,}|[\u3040-\u30ff\u3400-\u9fff]{2}")
_STOP = re.compile(
    r"^\W*(?:(?:no|ok|okay|oh|hm+|please|actually|wait|and|sorry)\W+)*(?:stop|halt|abort|cancel|undo|revert"
    r"|roll\s?back"
    r"|never\s?mind|forget (?:it|that|this|about)|scratch that|drop (?:it|that|this)|hold on|leave it"
    r"|stopp|abbrechen|brich\b.*\bab|rückgängig|mach\b.*rückgängig|vergiss|lass (?:es|das)|para\b|detente"
    r"|cancela"
    r"|deshaz|olv[ií]da|arrête|annule|laisse tomber|oublie)\b",
    re.IGNORECASE,
)
_STOP_WIDE = re.compile(
    "停止|停下|停一下|撤销|撤回|取消|算了|不用了|やめて|止めて|中止|取り消|元に戻|キャンセル|忘れて|멈춰|취소|그만"
)
_CORRECTION = re.compile(
    r"^\W*(?:no\b|nope|nah|wrong|wait\b|actually|that['’]?s (?:not|wrong)|thats (?:not|wrong)|not (?:what"
    r"|like|that)|nein|falsch"
    r"|non\b|faux|mal\b|incorrecto)|\b(?:instead|i (?:meant|said|told|asked)|you (?:forgot|missed|broke"
    r"|removed|deleted"
    r"|ignored|should have|shouldn['’]?t have)|why did you|(?:still|that|it|this) (?:does ?n[o']?t|did "
    r"?n[o']?t|doesn['’]?t"
    r"|didn['’]?t|is ?n[o']?t) (?:work|help|right|what)|still (?:broken|failing|fails|wrong)|rather than"
    r"|not what i"
    r"|stattdessen|en vez de|en lugar de|au lieu de|plut[oô]t)\b",
    re.IGNORECASE,
)
_CORRECTION_WIDE = re.compile("不对|不是这|错了|而不是|改为|改成|違う|ではなく|じゃなく|代わりに|아니(?:라|야)|대신")
_FAILED = re.compile(
    r"\b(?:(?:did|does|do|is|was)\s?n[o'’]t (?:work|help|fix)|didn['’]?t (?:work|help|fix)|doesn['’]?t "
    r"(?:work|help|fix)"
    r"|not work(?:ing)?|still (?:broken|failing|fails|wrong)|made it worse|dead end|won['’]?t work"
    r"|abandon\w*|gave up on"
    r"|revert(?:ed|ing)? (?:this|that|the|my)|funktioniert nicht|no funciona|ne (?:marche|fonctionne) pas)\b"
    "|不行|没用|不起作用|動かない|動きません|うまくいか",
    re.IGNORECASE,
)
_AGREE = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|yes|yep|yeah|yup|sure|great|perfect|cool|good|nice|thanks?(?: you)?|ty|lgtm"
    r"|approved?|agreed"
    r"|correct|right|exactly|go(?: ahead| on| for it)?|do it|continue|proceed|ship it|sounds good|looks "
    r"good|please"
    r"|carry on|keep going|y|ja|gern|weiter|mach(?: das| weiter)?|s[ií]|vale|claro|sigue|oui|d['’]accord"
    r"|vas-y|continue[rz]?"
    r"|好的?|可以|继续|是的|行|はい|お願いします|続けて|了解|네|좋아요?|계속)[\s,.!。！，、]*)+$",
    re.IGNORECASE,
)
_APPROVE = re.compile(
    r"^\W*(?:yes|yep|yeah|sure|lgtm|approved?|agreed|go ahead|go for it|do it|proceed|ship it|sounds good"
    r"|ja|s[ií]|oui"
    r"|d['’]accord|vas-y|好的?|可以|是的|はい|お願いします|네|ok(?:ay)?)\b"
    r"|\bi (?:approve|agree)\b|同意|批准|承認",
    re.IGNORECASE,
)
_TARGET = re.compile(
    r"\b(?:new (?:task|goal|objective|request)|next (?:task|issue|up)|(?:your|the) (?:new |next )?(?:task"
    r"|goal|job) is"
    r"|different (?:task|topic|thing)|let['’]?s (?:now )?(?:switch|move on|turn|focus|work "
    r"on)"
    r"|moving on|switch(?:ing)? (?:to|over)|forget (?:that|this|it|about)\b.*\b(?:instead|now)|neue aufgabe"
    r"|nueva tarea|nouvelle t[aâ]che)\b|新(?:的)?任务|新しいタスク|次のタスク",
    re.IGNORECASE,
)
_DECISION = re.compile(
    r"\b(?:decid(?:e|ed|ing)|decision|chos(?:e|en)|choos(?:e|ing)|settl(?:e|ed|ing) (?:on|for)|opt(?:ed"
    r"|ing)? for"
    r"|(?:i['’]?ll|i will|we['’]?ll|let['’]?s|i['’]?m going to|going to|we should|better to) (?:use|keep|go "
    r"with|switch|stick"
    r"|leave|skip|drop|replace|avoid|move|rename|remove|split)|instead of|rather than|root cause|the (?:fix"
    r"|solution"
    r"|reason|problem|issue) (?:is|was)|turns out|conclu(?:de|ded|sion)|entschieden|entscheide|statt|grund "
    r"ist|decid(?:í|imos)"
    r"|en lugar de|décidé|au lieu de)\b|决定|改用|采用|根本原因|原因是|ことにし|採用|根本原因|결정",
    re.IGNORECASE,
)


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text, each a byte-equal slice without its bullet and outer spaces.

    A full stop after an abbreviation or inside open brackets ends nothing.
    """
    for line in text.split("\n"):
        start = 0
        for end in _SENTENCE_END.finditer(line):
            piece = line[start : end.end()]
            if _ABBREVIATION.search(piece) or piece.count("(") > piece.count(")"):
                continue
            yield from _without_bullet(piece)
            start = end.end()
        yield from _without_bullet(line[start:])


_LETTERS = re.compile(r"[^\W\d_]+")


@lru_cache(maxsize=64)
def _words(sentence: str) -> frozenset[str]:
    return frozenset(_LETTERS.findall(sentence.lower()))


def _may(sentence: str, words: frozenset[str]) -> bool:
    """Whether a pattern is worth trying: one of its words stands there. Patterns cost ten times a look-up."""
    return not sentence.isascii() or not words.isdisjoint(_words(sentence))


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_STOP_WORDS = _set(
    "stop halt abort cancel undo revert roll rollback never nevermind forget scratch drop hold leave stopp "
    "abbrechen brich "
    "vergiss lass para detente cancela deshaz annule laisse oublie"
)
_CORRECTION_WORDS = _set(
    "no nope nah wrong wait actually that thats not nein falsch non faux mal incorrecto instead i you why "
    "still it this "
    "rather stattdessen vez lugar au"
)
_FAILED_WORDS = _set(
    "work works working help fix broken failing fails wrong worse dead abandon abandoned abandoning gave "
    "revert reverted reverting funktioniert funciona marche fonctionne"
)
_LIFT_WORDS = _set("now allowed free longer ok okay fine forget ignore disregard jetzt ya maintenant")
_TARGET_WORDS = _set(
    "new next task goal job change different let lets moving switch switching forget neue nueva nouvelle"
)
_DECISION_WORDS = _set(
    "decide decided deciding decision chose chosen choose choosing settle settled settling opt opted opting "
    "ll will let lets "
    "going should better instead rather root fix solution reason problem issue turns conclude concluded "
    "conclusion entschieden "
    "entscheide statt grund decid decidimos lugar au"
)


def _without_bullet(piece: str) -> Iterator[str]:
    sentence = piece.strip()
    if bullet := BULLET.match(sentence):
        sentence = sentence[bullet.end() :]
    if len(sentence) > 1:
        yield sentence


_COMMAND_TAG = re.compile(r"</?command-\w+>")


def is_prose(line: str) -> bool:
    """Whether somebody wrote this line, as opposed to pasting it from a log, a trace, JSON or code."""
    if _PRINTED.search(line):
        return False
    signs = len(_SIGNS.findall(line))
    return signs * 5 <= len(line) * 2


def own_words(text: str) -> str:
    """The lines of a user's message that are prose, outside of code fences, without the tags of slash
    commands."""
    if "<command-" in text:
        text = _COMMAND_TAG.sub(" ", text)
    if "```" in text:
        text = "".join(text.split("```")[::2])
    return "\n".join(line for line in text.split("\n") if is_prose(line))


def only_points(sentence: str, with_the_one_before: str) -> bool:
    """Whether a limit means nothing without the sentence before it: that one gives a value ("Budget cap is $956.") and
    the limit names none of its own."""
    before = with_the_one_before[: -len(sentence)]
    return bool(_VALUE.search(before)) and not _VALUE.search(sentence) and len(sentence.split()) <= SHORT_LIMIT


def is_limit(sentence: str) -> bool:
    """Whether a user's sentence limits what may be done: a rule, a prohibition, an exception."""
    if not (_LIMIT.search(sentence) or _LIMIT_WIDE.search(sentence)):
        return False
    return not sentence.rstrip().endswith(("?", "？")) or bool(_DEMAND.search(sentence))


def allows(sentence: str) -> bool:
    """Whether a user's sentence takes an earlier limit back: `you may now …`, `… is fine now`."""
    return len(sentence) < 200 and _may(sentence, _LIFT_WORDS) and bool(_LIFTS.search(sentence))


def lifts(sentence: str, limit: str) -> bool:
    """Whether a sentence that allows something means this limit: they share their rarer words."""
    shared = set(map(str.lower, _CONTENT.findall(sentence))) & set(map(str.lower, _CONTENT.findall(limit)))
    return bool(shared - _COMMON)


_COMMON = frozenset(
    [
        "this",
        "that",
        "with",
        "from",
        "have",
        "please",
        "anymore",
        "longer",
        "should",
        "could",
        "would",
        "what",
        "when",
        "about",
        "your",
        "just",
        "only",
    ]
)


def is_stop(sentence: str) -> bool:
    """Whether a user's sentence ends work: stop, undo, cancel, never mind."""
    if "###" in sentence:  # an end mark of a scripted conversation
        return False
    return _may(sentence, _STOP_WORDS) and bool(_STOP.search(sentence) or _STOP_WIDE.search(sentence))


def is_correction(sentence: str) -> bool:
    """Whether a user's sentence corrects what was done or said before."""
    if not _may(sentence, _CORRECTION_WORDS):
        return False
    return bool(_CORRECTION.search(sentence) or _CORRECTION_WIDE.search(sentence))


def says_failed(sentence: str) -> bool:
    """Whether a sentence says that something that was tried did not work."""
    return _may(sentence, _FAILED_WORDS) and bool(_FAILED.search(sentence))


def is_agreement(text: str) -> bool:
    """Whether a whole message only agrees, thanks or says go on."""
    return len(text) < 80 and bool(_AGREE.match(text.strip()))


def approves(text: str) -> bool:
    """Whether a message begins by allowing what was proposed."""
    return bool(_APPROVE.search(text[:200]))


def sets_target(text: str) -> bool:
    """Whether a message names a new goal in so many words."""
    if text[:15].lower().startswith("change of plan"):
        return True
    return _may(text[:1_000], _TARGET_WORDS) and bool(_TARGET.search(text[:1_000]))


def is_decision(sentence: str) -> bool:
    """Whether an assistant's sentence decides something or gives the reason of a decision."""
    return _may(sentence, _DECISION_WORDS) and bool(_DECISION.search(sentence))
