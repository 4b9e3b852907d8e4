"""Each feature of the ranking by a case that fails without it, and what holds for any finding."""

from __future__ import annotations

import random
from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldmark.events import Event, ToolCall, assistant, result, user
from foldmark.refs import parse
from foldmark.retrieval import Hit, chosen, judged, question, rank, snippets
from foldmark.retrieval.counting import LONG_LINE, Counter
from foldmark.retrieval.ranking import LEAST_WORDS, _says_enough
from foldmark.seeking import Finding, Found, Piece
from foldmark.session import Session
from foldmark.words import words

DAY = 86_400.0
NOW = 1_700_049_600.0  # Wednesday, 15 November 2023, noon


def session_of(*events: Event) -> Session:
    session = Session("s", clock=lambda: NOW)
    session.record(*events)
    return session


def refs(session: Session, query: str) -> list[str]:
    return [hit.ref for hit in session.search(query)]


def fillers(count: int, start: float = NOW - 40 * DAY) -> list[Event]:
    return [assistant(f"Filler number {n} of no interest.", time=start + n) for n in range(count)]


def found(text: str, seq: int, *, session: str = "", time: float | None = None, role: str = "user") -> Found:
    make = user if role == "user" else assistant
    event = msgspec.structs.replace(make(text, time=time), seq=seq)
    return Found(Piece(seq, 0, text, 1, 1 + text.count("\n")), event, session, time)


def finding(*many: Found, near: tuple[Found, ...] = ()) -> Finding:
    held = [set(words(one.piece.text)) for one in many]
    terms = set().union(*held) if held else set()
    return Finding(many, max(len(many), 10), {term: sum(term in one for one in held) for term in terms}, near)


# Neighbours


def test_an_answer_that_repeats_nothing_of_its_question_is_found_by_it() -> None:
    session = session_of(
        *fillers(5), user("Where does the walrus sleep these days?"), assistant("In the old bathtub."), *fillers(5)
    )
    hit = next(hit for hit in session.search("where does the walrus sleep") if hit.ref == "event:7")
    assert "In the old bathtub." in hit.snippet
    assert hit.why.startswith("near: ")


def test_what_follows_a_question_comes_before_what_follows_a_statement() -> None:
    session = session_of(
        user("The walrus has a new name."), assistant("Fine with me."), *fillers(4),
        user("What is the walrus called, what is the name?"), assistant("Fine by me."),
    )  # fmt: skip
    order = refs(session, "walrus name")
    assert order.index("event:8") < order.index("event:2")


def test_a_fact_comes_before_the_question_for_it() -> None:
    session = session_of(user("Is the walrus grey?"), *fillers(4), assistant("So the walrus is grey."))
    assert refs(session, "walrus grey")[:2] == ["event:6", "event:1"]


def test_neighbours_do_not_reach_over_a_pause_of_hours() -> None:
    asks, answers = user("Where does the walrus sleep?", time=NOW - 9_000), "In the bathtub."
    near = session_of(asks, assistant(answers, time=NOW - 8_000))
    later = session_of(asks, assistant(answers, time=NOW + 9 * DAY))
    assert refs(near, "where does the walrus sleep") == ["event:1", "event:2"] or refs(
        near, "where does the walrus sleep"
    ) == ["event:2", "event:1"]
    assert refs(later, "where does the walrus sleep") == ["event:1"]


def test_of_two_alike_the_one_in_a_talk_of_the_same_thing_comes_first() -> None:
    alone = [user("A port."), *fillers(4), assistant("The walrus is fine."), *fillers(3)]
    among = [user("A bath."), *fillers(4), assistant("This walrus is well."), *fillers(3)]
    for first, second in ((alone, among), (among, alone)):
        earlier = [msgspec.structs.replace(one, time=NOW - DAY) for one in first]
        order = refs(session_of(*earlier, *(msgspec.structs.replace(one, time=NOW) for one in second)), "walrus bath")
        inside, outside = ("event:6", "event:15") if first is among else ("event:15", "event:6")
        assert order.index(inside) < order.index(outside)


def test_what_is_said_far_off_makes_nothing_an_answer_and_is_no_reason() -> None:
    talk = [user("The walrus has a bath."), *fillers(3), user("Nothing."), *fillers(1), user("A walrus.")]
    session = session_of(*(msgspec.structs.replace(one, time=NOW) for one in talk))
    hits = {hit.ref: hit.why for hit in session.search("walrus bath")}
    assert "event:5" not in hits
    assert hits["event:7"] == "words: walrus"


def test_one_word_beside_it_makes_nothing_an_answer() -> None:
    assert refs(session_of(user("The walrus sleeps."), assistant("Good.")), "walrus") == ["event:1"]


@pytest.mark.parametrize(
    ("reply", "is_answer"),
    [
        ("Noted.", False),
        ("ok, done", False),
        ("It opens in May.", True),
        ("五月三日です。", True),
        ("ثلاثة أيام فقط", True),
    ],
)
def test_a_word_or_two_that_say_nothing_are_no_answer(reply: str, is_answer: bool) -> None:
    session = session_of(user("The staging harbour gate has a new host."), assistant(reply))
    assert ("event:2" in refs(session, "staging harbour host")) == is_answer


def test_tool_results_lend_each_other_nothing() -> None:
    calls = [ToolCall(str(n), "bash", "{}") for n in range(2)]
    session = session_of(
        assistant("", calls[0]), result("0", "walrus sleep log", name="bash"),
        assistant("", calls[1]), result("1", "unrelated", name="bash"),
    )  # fmt: skip
    assert refs(session, "walrus sleep") == ["event:2"]


# Lines


def test_words_together_beat_the_same_words_apart() -> None:
    apart = "walrus\n" + "filler\n" * 10 + "port\n" + "filler\n" * 10 + "walrus port".replace(" ", "\n\n\n")
    session = session_of(assistant(apart), *fillers(3), assistant("x\nwalrus port = 7\ny"), *fillers(3))
    assert refs(session, "walrus port")[0] == "event:5"


def test_a_word_repeated_many_times_does_not_stand_for_another() -> None:
    session = session_of(
        assistant("", ToolCall("a", "bash", "{}")), result("a", "walrus " * 30, name="bash"),
        assistant("", ToolCall("b", "bash", "{}")), result("b", "walrus port", name="bash"),
    )  # fmt: skip
    assert refs(session, "walrus port")[0] == "event:4"


def test_a_long_line_is_judged_by_its_sentences() -> None:
    filler = "Nothing to see in this sentence here. " * 12
    apart = f"The walrus came. {filler} A port was open."
    close = f"{filler} The walrus uses a port. {filler}"
    assert min(len(apart), len(close)) > LONG_LINE
    for order in ((apart, close), (close, apart)):
        session = session_of(*(assistant(text, time=NOW + 9 * DAY * n) for n, text in enumerate(order)))
        assert refs(session, "walrus port")[0] == f"event:{1 + order.index(close)}"


# Names and quotes


@pytest.mark.parametrize(
    ("query", "right", "wrong"),
    [
        ("src/app.py", "open src/app.py now", "src has an app and py too"),
        ("QX-48151", "QX-48151 was it", "48151 QX were two"),
        ('"refund policy"', "our refund policy", "a policy for a refund"),
        ("error in app.py", "the error of app.py", "the error of myapp.py app py"),
    ],
)
def test_a_name_or_quote_beats_its_parts(query: str, right: str, wrong: str) -> None:
    for texts in ((right, wrong), (wrong, right)):
        session = session_of(*(user(text, time=NOW + 9 * DAY * n) for n, text in enumerate(texts)))
        assert refs(session, query)[0] == f"event:{1 + texts.index(right)}"


# Days, speakers


def test_last_tuesday_brings_what_was_said_on_tuesday() -> None:
    talk = [
        user(f"We spoke of the walrus {word}.", time=NOW - n * DAY)
        for n, word in ((8, "a1"), (6, "b2"), (1, "c3"), (0, "d4"))
    ]
    hits = session_of(*talk).search("what did we say of the walrus last Tuesday")
    assert hits[0].ref == "event:3"
    assert "day: 2023-11-14" in hits[0].why
    assert "day: " not in hits[1].why


def test_a_day_alone_brings_that_day_newest_first() -> None:
    talk = [user(f"Note {n}.", time=NOW - 3 * DAY + 60 * n) for n in range(3)]
    session = session_of(*talk, user("Other note.", time=NOW))
    assert refs(session, "three days ago") == ["event:3", "event:2", "event:1"]
    assert refs(session, "2023-11-12")[:3] == ["event:3", "event:2", "event:1"]


def test_a_day_is_a_wish_and_no_filter() -> None:
    session = session_of(user("The walrus sleeps.", time=NOW - 30 * DAY), user("Nothing.", time=NOW - DAY))
    assert "event:1" in refs(session, "the walrus yesterday")


def test_the_number_of_a_day_finds_no_day() -> None:
    session = session_of(user("step 8 failed"), *(user(f"note {'x' * n}", time=NOW - 7 * DAY) for n in range(1, 9)))
    assert refs(session, "8") == ["event:1"]


def test_what_i_asked_and_what_you_said_are_told_apart() -> None:
    session = session_of(user("The walrus needs a bath."), *fillers(4), assistant("The walrus needs a bath."))
    assert refs(session, "what did I say the walrus needs")[0] == "event:1"
    assert refs(session, "what did you say the walrus needs")[0] == "event:6"
    assert "speaker: user" in session.search("what did I say the walrus needs")[0].why


def test_a_name_that_speaks_comes_before_the_name_that_is_spoken_to() -> None:
    session = session_of(user("Bob: Ann should see the walrus."), *fillers(4), user("Ann: Bob should see the walrus."))
    assert refs(session, "Ann walrus")[0] == "event:6"
    assert refs(session, "Bob walrus")[0] == "event:1"
    assert "speaker: Ann" in session.search("Ann walrus")[0].why


def test_who_is_asked_about_and_speaks_of_themselves_comes_first() -> None:
    of_others = user("Ann: You and that walrus went swimming.")
    of_self = user("Ann: My walrus and I went swimming in the sea.")
    for order in ((of_others, of_self), (of_self, of_others)):
        session = session_of(order[0], *fillers(8), order[1])
        assert refs(session, "what did Ann do with a walrus")[0] == f"event:{1 if order[0] is of_self else 10}"


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("What is Ann's walrus doing?", ("ann", "walrus")),
        ("Didn't the walrus’s bath leak?", ("walrus", "bath", "leak")),
        ("Can't we say what they've got?", ("say", "get")),
        ("Do we know the port that goes with walrus?", ("port", "walrus")),
        ("did you still remember her walrus", ("walrus",)),
        ("known ports, go 1.22", ("know", "port", "go", "1_22", "1", "22")),
        ("went", ("go",)),
    ],
)
def test_a_query_is_freed_of_what_says_nothing(query: str, terms: tuple[str, ...]) -> None:
    assert sorted(question(query, NOW).terms) == sorted(terms)


@pytest.mark.parametrize(
    ("query", "text"), [("buy", "She bought one."), ("bought", "They buy."), ("child", "CHILDREN")]
)
def test_a_word_is_found_in_forms_that_begin_with_other_letters(query: str, text: str) -> None:
    assert refs(session_of(user(text), *fillers(3)), query) == ["event:1"]
    assert Counter(question(query, NOW)).counts(text)


def test_asked_when_a_line_with_a_time_comes_first() -> None:
    session = session_of(
        user("The walrus went swimming yesterday."), *fillers(4), user("The walrus went swimming happily.")
    )
    assert refs(session, "when did the walrus go swimming")[0] == "event:1"


# Which are shown


def test_recency_decides_among_equals_alone() -> None:
    old = [found("walrus port", 1, time=NOW - 90 * DAY), found("walrus other", 50, time=NOW)]
    assert [one.found.piece.seq for one in rank(finding(*old), question("walrus port", NOW))] == [1, 50]
    same = [found("walrus = 1", 1, time=1.0), found("walrus = 2", 9, time=2.0)]
    assert [one.found.piece.seq for one in rank(finding(*same), question("walrus", NOW))] == [9, 1]


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("  12\tThe walrus sleeps.", "The walrus sleeps.", True),
        ("2023-05-07 10:00:01,123 walrus lost", "2023-05-07 11:30:00,456 walrus lost", True),
        ("The Walrus, sleeps!", "the walrus sleeps", True),
        ("walrus port = 8080", "walrus port = 8081", False),
        ("walrus on alpha-1", "walrus on alpha-2", False),
        ("walrus sleeps", "walrus sleeps not", False),
    ],
)
def test_a_passage_comes_once_and_another_fact_is_no_repetition(one: str, other: str, *, is_same: bool) -> None:
    ranked = rank(finding(found(one, 1), found(other, 20)), question("walrus", NOW))
    assert len(ranked) == (1 if is_same else 2)


def test_no_session_fills_the_first_five_alone() -> None:
    mine = [found(f"walrus port {'x' * n} = {n}", 9 * n, session="a") for n in range(1, 9)]
    theirs = found("walrus port elsewhere = 99", 1, session="b")
    ranked = rank(finding(*mine, theirs), question("walrus port", NOW))
    assert "b" in {one.found.session for one in ranked[:5]}


def test_a_poorer_match_of_another_session_does_not_push_in() -> None:
    mine = [found(f"walrus port {'x' * n} = {n}", 9 * n, session="a") for n in range(1, 7)]
    ranked = rank(finding(*mine, found("walrus alone", 1, session="b")), question("walrus port", NOW))
    assert {one.found.session for one in ranked[:5]} == {"a"}


# What holds for any finding

WORDS = ["walrus", "port", "sleeps", "bath", "Ann:", "?", "filler", "8080", "2023-05-07", "naïve", "東京"]
TEXTS = st.lists(
    st.lists(st.sampled_from(WORDS), max_size=12),
    min_size=1, max_size=12,
)  # fmt: skip


def made(texts: list[list[str]]) -> list[Found]:
    return [
        found(
            " ".join(one), seq, session=("", "b")[seq % 3 == 0], time=float(seq % 4) * 9_000,
            role=("user", "assistant")[seq % 2],
        )
        for seq, one in enumerate(texts, 1)
    ]  # fmt: skip


@given(TEXTS, st.integers(0, 9_999))
@settings(max_examples=60)
def test_the_order_of_a_finding_changes_nothing(texts: list[list[str]], seed: int) -> None:
    pieces, asked = made(texts), question("where does the walrus sleep, port 8080?", NOW)
    mixed = random.Random(seed).sample(pieces, len(pieces))
    one, other = rank(finding(*pieces), asked), rank(finding(*mixed), asked)
    assert one == other
    assert chosen(judged(finding(*mixed), asked)) == one


@given(TEXTS)
@settings(max_examples=60)
def test_scores_fall_and_no_event_or_passage_comes_twice(texts: list[list[str]]) -> None:
    pieces = [msgspec.structs.replace(one, session="") for one in made(texts)]
    ranked = rank(finding(*pieces), question("walrus bath port 8080", NOW))
    scores = [one.score for one in ranked if not one.is_beside]
    assert scores == sorted(scores, reverse=True)
    assert all(score > 0 for score in scores)
    assert len({one.found.place[:2] for one in ranked}) == len(ranked)
    assert len({tuple(words(one.found.piece.text)) for one in ranked}) == len(ranked)


@given(TEXTS)
@settings(max_examples=60)
def test_everything_found_is_judged_once(texts: list[list[str]]) -> None:
    pieces = made(texts)
    half = len(pieces) // 2
    ranked = judged(finding(*pieces[:half], near=tuple(pieces[half:])), question("walrus bath", NOW))
    assert sorted(one.found.place for one in ranked) == sorted(one.place for one in pieces)


@given(st.text(max_size=300), st.text(max_size=120))
@settings(max_examples=200)
def test_lines_are_passed_over_only_where_they_hold_no_term(text: str, query: str) -> None:
    """Lines are tested by their letters first: no way of writing a word may be lost by that."""
    for asked in (question(query, NOW), question(text, NOW)):
        counted = Counter(asked).count(found(text + "\n" + query, 1))
        held = {term for unit in counted.units for term in unit.counts}
        lines = [line for line in (text + "\n" + query).split("\n") if len(line) <= LONG_LINE]
        assert held == {word for line in lines for word in words(line)} & (set(asked.terms) - asked.day_tokens)


@given(st.text(alphabet="ab1_. -?\u00a0\u0301\u65e5", max_size=120))
def test_whether_a_text_says_enough_is_told_by_all_its_words(text: str) -> None:
    assert _says_enough(text) == (len(words(text)) >= LEAST_WORDS)


SHAPES = (
    *("studies", "retries", "tried", "flies", "boxes", "buses", "classes", "happily", "stopped", "running", "s", "ies"),
    *("ASes_XyZ", "getHTTPResponse", "__init__", "_private", "v1.2.3", "src/a/b.py", "Ties'", "a-b-c", "x9y8"),
)


@pytest.mark.parametrize("word", SHAPES)
def test_a_word_finds_itself_by_its_letters(word: str) -> None:
    for term in words(word):
        asked = msgspec.structs.replace(question("x", NOW), terms=(term,))
        assert Counter(asked).counts(f"the {word} there") == {term: words(f"the {word} there").count(term)}


def hits_of(session: Session) -> Iterator[Hit]:
    for query in (
        "walrus port",
        "what did I say of the bath?",
        "filler line 7",
        "last week",
        "東京",
        '"walrus sleeps"',
    ):
        yield from session.search(query)


def test_the_lines_of_every_hit_hold_what_it_says_matched() -> None:
    long = "\n".join(f"filler line {n}" + (" the walrus sleeps at port 8080" if n == 70 else "") for n in range(120))
    session = session_of(
        user("The bath?\nWalrus: 東京 is far."), assistant(long),
        assistant("word " * 400 + "walrus port." + " tail" * 90),
        user("The walrus sleeps.", time=NOW - 7 * DAY),
    )  # fmt: skip
    hits = list(hits_of(session))
    assert len(hits) > 8
    for hit in hits:
        lines = session.store.event(session.key, str(parse(hit.ref).seq)).text.split("\n")
        first, last = parse(hit.at).lines or (0, 0)
        assert 1 <= first <= last <= len(lines)
        shown = hit.snippet.strip("…").strip()
        assert any(line.strip() and (line.strip() in shown or shown in line) for line in lines[first - 1 : last])
        assert hit.why


def test_what_matched_is_read_off_the_piece() -> None:
    session = session_of(
        assistant("", ToolCall("a", "bash", '{"command": "pytest tests/billing"}')),
        result("a", "charge.py: 2 tests failed", name="bash"),
    )
    hits = {hit.ref: hit.why for hit in session.search("Which billing tests failed in charge.py with walruses")}
    assert hits["event:2"] == "words: tests, failed, charge.py; call: billing; name: charge.py"


def test_an_empty_query_with_a_filter_brings_the_newest() -> None:
    session = session_of(*(user(f"note {n}", time=NOW + n) for n in range(4)), assistant("answer"))
    assert [hit.ref for hit in session.search("", roles=("user",), limit=2)] == ["event:4", "event:3"]


def test_nothing_found_is_nothing_shown() -> None:
    asked = question("walrus port", NOW)
    assert rank(Finding(), asked) == []
    assert snippets([], asked) == []


def test_a_word_that_every_one_of_very_many_events_holds_is_found() -> None:
    events = [msgspec.structs.replace(user("the walrus again"), seq=seq) for seq in (1, 2)]
    found = tuple(Found(Piece(event.seq, 0, event.text), event, "") for event in events)
    finding = Finding(found, 1_000_000, dict.fromkeys(words("walrus"), 1000000), ())
    assert [one.found.event.seq for one in rank(finding, question("walrus", 0.0), 5)]
