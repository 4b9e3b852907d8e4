"""What a new user hands over: a tool for its schema, a function for an embedder, an async session for a plain one.
It works where only one thing can be meant; else a sentence says what to write."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import pytest

from foldmark import MemoryStore, Policy, Session, SQLiteStore, assistant, user
from foldmark.aio import AsyncSession
from foldmark.children import RunLimits, children_of, conclude, delegate, delegate_async, open_child, report_of
from foldmark.embedding import Embedder
from foldmark.errors import EmbedderFailed, NotFound, PolicyError
from foldmark.events import ToolCall, result
from foldmark.profiles import Profile
from foldmark.tools import artifact_tools, compact_tool, recall_tools
from foldmark.wire import VARIANTS, WIRES
from making import long_session
from toy_embedder import toy

DAY = 86_400.0
MARCH = datetime(2026, 3, 1, tzinfo=UTC).timestamp()
RENAMED = Policy.coding(recall={"search_tool": "find_earlier", "load_tool": "open_earlier", "overview_tokens": 60})
OWN = {"session_search": "find_earlier", "session_load": "open_earlier"}


def talk(**options: Any) -> Session:
    made = Session("main", clock=lambda: MARCH + 10 * DAY, **options)
    made.record(
        user("The staging port is 8443.", time=MARCH + 9),
        assistant("Noted.", ToolCall("toolu_1", "read_file", '{"path": "src/pay/ledger.py"}')),
        result("toolu_1", "balance = 1", name="read_file"),
        user("The port moved to 9443.", time=MARCH + 9 * DAY + 9),
        assistant("Noted, too."),
    )
    return made


# -- tools are named where the model has them


def compacted(policy: Policy) -> Session:
    made = Session("s", policy=policy, clock=lambda: 1_000.0)
    made.record(*long_session(30))
    assert made.compact(force=True, window=64_000).outcome == "applied"
    return made


@pytest.mark.parametrize("policy", [Policy.coding(), Policy.chat(), RENAMED], ids=["coding", "chat", "renamed"])
def test_a_request_names_no_tool_that_is_not_among_its_tools(policy: Policy) -> None:
    made = compacted(policy)
    words = ("session_search", "session_load", "find_earlier", "open_earlier")
    text = json.dumps(made.request(window=64_000).payload())
    assert not [word for word in words if word in text]
    assert "Everything covered can be opened by its ref, such as event:" in text


def test_the_text_of_a_checkpoint_is_the_same_whichever_tools_are_offered() -> None:
    made = compacted(Policy.coding())
    bare = made.request(window=64_000).messages[0].text
    assert made.request(window=64_000, tools=recall_tools(made)).messages[0].text == bare


def test_renamed_tools_are_named_by_their_names_and_no_other() -> None:
    made = compacted(RENAMED)
    assert [tool.name for tool in recall_tools(made)] == list(OWN.values())
    text = made.request(window=64_000, tools=recall_tools(made)).messages[0].text
    assert "find_earlier finds them by words, open_earlier opens a ref" in text
    assert "session_" not in text
    overview = made.overview()
    assert "find_earlier finds them by words, open_earlier opens a ref" in overview
    assert "session_" not in overview
    assert all("session_" not in tool.description for tool in recall_tools(made))


def test_an_overview_names_the_tools_that_the_session_has_and_those_of_its_policy_where_it_has_none() -> None:
    made = talk()
    assert "session_search finds them by words, session_load opens" in made.overview()
    made.describe(tools=recall_tools(made)[:1])
    assert "session_search" in made.overview()
    assert "session_load" not in made.overview()
    made.describe(tools=[{"name": "bash", "description": "", "parameters": {}}])
    assert "session_" not in made.overview()
    assert "look_back finds them" in made.overview(search="look_back")


def test_another_process_names_the_tools_that_were_offered_in_the_first() -> None:
    made = compacted(RENAMED)
    text = made.request(window=64_000, tools=recall_tools(made)).messages[0].text
    again = Session("s", store=made.store, policy=RENAMED, clock=lambda: 1_000.0)
    assert again.request(window=64_000).messages[0].text == text


# -- names of tools


@pytest.mark.parametrize(
    ("make", "names", "says"),
    [
        (recall_tools, {"search": "find"}, "there is no such tool here; name session_search, session_load"),
        (recall_tools, {"session_search": ""}, "takes the name of a tool"),
        (recall_tools, {"session_search": 3}, "takes the name of a tool"),
        (recall_tools, {"session_search": "session_load"}, "cannot have one name, 'session_load'"),
        (recall_tools, "find", "takes a mapping"),
        (recall_tools, OWN, r"Policy\.coding\(recall=\{'search_tool': 'find_earlier', 'load_tool': 'open_earlier'\}\)"),
        (recall_tools, {"session_load": "peek"}, r"Policy\.coding\(recall=\{'load_tool': 'peek'\}\)"),
        (artifact_tools, {"lines": "x"}, "there is no such tool here; name artifact_stat"),
        (artifact_tools, {"artifact_grep": "artifact_stat"}, "cannot have one name"),
        (artifact_tools, {"artifact_grep": "look_in"}, r"Profile\(names=\('look_in',\), role='recalls'"),
    ],
)
def test_names_that_cannot_be_meant_are_refused_with_what_to_write(
    make: Callable[..., Any], names: Any, says: str
) -> None:
    for session in (talk(), AsyncSession("main")):
        with pytest.raises(PolicyError, match=says):
            make(session, names=names)


def test_the_line_that_a_refusal_shows_is_the_one_that_helps() -> None:
    with pytest.raises(PolicyError) as error:
        recall_tools(talk(), names=OWN)
    line = str(error.value).partition("policy: ")[2].partition(";")[0]
    policy = eval(line, {"Policy": Policy, "Profile": Profile})
    assert [tool.name for tool in recall_tools(talk(policy=policy), names=OWN)] == list(OWN.values())
    with pytest.raises(PolicyError) as error:
        artifact_tools(talk(), names={"artifact_grep": "look_in"})
    line = str(error.value).partition("policy: ")[2].partition(";")[0]
    policy = eval(line, {"Policy": Policy, "Profile": Profile})
    assert "look_in" in [tool.name for tool in artifact_tools(talk(policy=policy), names={"artifact_grep": "look_in"})]


@pytest.mark.parametrize("make", [recall_tools, artifact_tools])
def test_a_reach_that_is_none_is_refused_where_the_tools_are_made(make: Callable[..., Any]) -> None:
    with pytest.raises(PolicyError, match="A reach is one of session, children, user"):
        make(talk(), reach="covered")


# -- tools for a request


@pytest.mark.parametrize("wire", [*WIRES, *VARIANTS], ids=lambda wire: wire.NAME)
def test_tools_are_taken_as_they_are_by_every_wire(wire: Any) -> None:
    made = talk()
    tools = [*recall_tools(made), compact_tool(made), {"name": "bash", "description": "", "parameters": {}}]
    schemas = [getattr(tool, "schema", tool) for tool in tools]
    assert (
        made.request(window=64_000, tools=tools, wire=wire).payload()
        == talk().request(window=64_000, tools=schemas, wire=wire).payload()
    )
    assert list(made.tools) == schemas


def test_tools_are_taken_by_follow_and_by_an_awaited_request_too() -> None:
    made = AsyncSession("a")

    async def go() -> None:
        await made.record(user("Hello."))
        await made.request(window=64_000, tools=recall_tools(made))

    asyncio.run(go())
    assert [tool["name"] for tool in made.tools] == ["session_search", "session_load"]
    plain = Session("b")
    plain.follow([{"role": "user", "content": "Hello."}], tools=recall_tools(plain))
    assert [tool["name"] for tool in plain.tools] == ["session_search", "session_load"]


@pytest.mark.parametrize("tools", [["bash"], "bash", {"name": "bash"}, [print], [None], 7, [[]]])
def test_what_is_no_tool_is_told_with_what_is(tools: Any) -> None:
    with pytest.raises(PolicyError, match="tools"):
        talk().request(window=64_000, tools=tools)


# -- embedders


def test_a_function_in_place_of_an_embedder_is_told_how_to_wrap_it() -> None:
    def embed(texts: Any) -> list[list[float]]:
        return [[1.0, 0.0] for _ in texts]

    for given in (embed, "a-model", object()):
        with pytest.raises(PolicyError, match=r"takes a foldmark.embedding.Embedder: .*Embedder\(id='…', call="):
            Session("s", embedder=given)  # type: ignore[arg-type]
        with pytest.raises(PolicyError, match="Embedder"):
            AsyncSession("s", embedder=given)
    assert Session("s", embedder=toy()).alike["embedder"] is not None


def test_an_async_embedder_is_refused_by_name_and_one_that_hides_it_fails_in_a_sentence() -> None:
    async def embed(texts: Any) -> list[list[float]]:
        return [[1.0, 0.0] for _ in texts]

    for which in ("call", "ask"):
        options: dict[str, Any] = {"call": lambda texts: [[1.0, 0.0]], which: embed}
        with pytest.raises(PolicyError, match=f"{which} of the embedder 'm' is async; it takes a plain function"):
            Embedder(id="m", dimension=2, **options)

    def hidden(texts: Any) -> Any:
        return embed(texts)

    with pytest.raises(EmbedderFailed, match="gave something to await"):
        Embedder(id="m", dimension=2, call=hidden).of_query("x")


# -- sub-agents


def with_a_call(name: str = "main", **options: Any) -> Session:
    made = Session(name, **options)
    made.record(user("Go."), assistant("", ToolCall("call_1", "task", "{}")))
    return made


def test_delegate_and_delegate_async_say_which_of_them_is_meant() -> None:
    with pytest.raises(PolicyError, match="await delegate_async"):
        delegate(AsyncSession.around(with_a_call()), "call_1", lambda child: "done")  # type: ignore[arg-type]

    async def run(child: AsyncSession) -> str:
        return "done"

    with pytest.raises(PolicyError, match=r"AsyncSession.around\(session\)"):
        asyncio.run(delegate_async(with_a_call(), "call_1", run))  # type: ignore[arg-type]
    for wrong in ("main", None):
        with pytest.raises(PolicyError, match="belongs to a Session"):
            delegate(wrong, "call_1", lambda child: "done")  # type: ignore[arg-type]
        with pytest.raises(PolicyError, match="belongs to a Session"):
            asyncio.run(delegate_async(wrong, "call_1", run))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", RunLimits.__struct_fields__)
def test_a_limit_among_the_options_points_to_the_limits(name: str) -> None:
    said = rf"write limits=RunLimits\({name}=…\)"
    with pytest.raises(PolicyError, match=said):
        delegate(with_a_call(), "call_1", lambda child: "done", **{name: 300})
    with pytest.raises(PolicyError, match=said):
        open_child(with_a_call(), "call_1", **{name: 300})
    with pytest.raises(PolicyError, match=said):
        asyncio.run(
            delegate_async(AsyncSession.around(with_a_call()), "call_1", lambda child: None, **{name: 300})  # type: ignore[arg-type, return-value]
        )


def test_limits_as_a_mapping_are_told_what_they_take() -> None:
    with pytest.raises(PolicyError, match=r"it takes RunLimits\(rounds="):
        delegate(with_a_call(), "call_1", lambda child: "done", limits={"rounds": 3})  # type: ignore[arg-type]


def test_what_only_looks_at_sub_agents_takes_an_awaited_session_too() -> None:
    made = AsyncSession.around(with_a_call())
    open_child(made, "call_1").record(assistant("Half of it."))
    assert [child.session for child in children_of(made)] == ["main/2"]
    assert report_of(made, "call_1").outcome == "interrupted"
    assert conclude(made, "call_1").ref == "event:3"


def test_a_sub_agents_row_says_how_far_it_is() -> None:
    seen: list[int] = []

    def run(child: Session) -> str:
        seen.append(child.info.head)
        child.record(user("Look."), assistant("I looked."))
        seen.append(child.info.head)
        raise RuntimeError("dies")

    made = with_a_call()
    child = open_child(made, "call_1")
    child.record(user("Begun before."))
    delegate(made, "call_1", run)
    assert seen == [1, 3]


# -- the row of a session


@pytest.mark.parametrize("place", ["memory", "sqlite"])
def test_the_row_of_a_session_is_what_the_store_holds_now(place: str, tmp_path: Any) -> None:
    store = MemoryStore() if place == "memory" else SQLiteStore(tmp_path / "a.db")
    made = Session("s", store=store, clock=lambda: 5.0)
    assert (made.info.head, made.info.title) == (0, "")
    made.record(user("Fix the ledger."))
    assert made.info == store.info(made.key)
    assert (made.info.head, made.info.title, made.info.updated) == (1, "Fix the ledger.", 5.0)
    Session("s", store=store).record(assistant("Done."))
    assert made.info.head == 2, "also what another one recorded"
    made.remember({"wire": "anthropic"})
    assert made.info.meta["wire"] == "anthropic"
    awaited = AsyncSession.around(made)
    assert awaited.info == made.info
    assert awaited.key == made.key
    store.close()


# -- search and load


@pytest.mark.parametrize(
    ("since", "seqs"),
    [
        ("2026-03", {1, 4}),
        (date(2026, 3, 10), {4}),
        (datetime(2026, 3, 10), {4}),
        (datetime(2026, 3, 10, tzinfo=UTC), {4}),
        (MARCH + DAY, {4}),
        (int(MARCH) + 1, {1, 4}),
        ("yesterday", {4}),
        ("3d", {4}),
        ("last week", {4}),
        ("2025", {1, 4}),
        (None, {1, 4}),
        ("", {1, 4}),
    ],
)
def test_a_search_takes_moments_as_people_have_them(since: Any, seqs: set[int]) -> None:
    made = talk()
    brought = made.search("port", since=since)
    assert {int(hit.ref.removeprefix("event:")) for hit in brought} == seqs
    if not isinstance(since, (date, float, int)):
        search = recall_tools(made)[0]({"query": "port", "since": since})
        assert {seq for seq in (1, 4) if f"[event:{seq}#" in search} == seqs
    awaited = asyncio.run(AsyncSession.around(made).search("port", since=since))
    assert awaited == brought


def test_until_is_the_end_of_what_is_named() -> None:
    made = talk()
    refs = [hit.ref for hit in made.search("port", until=date(2026, 3, 1))]
    assert refs == ["event:1"] == [hit.ref for hit in made.search("port", until="2026-03-01")]
    assert made.search("port", until=datetime(2026, 3, 1)) == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"limit": 0}, "limit is 0; it takes a whole number of hits, 1 or more"),
        ({"limit": -1}, "limit is -1"),
        ({"limit": 2.5}, "limit is 2.5"),
        ({"limit": "5"}, "limit is '5'"),
        ({"limit": True}, "limit is True"),
        ({"since": "a while ago"}, "since takes a date or time such as 2026-03-01"),
        ({"until": []}, "until takes a date or time"),
    ],
)
def test_a_search_that_cannot_be_meant_is_refused_by_name(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(PolicyError, match=says):
        talk().search("port", **arguments)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"by": "turns"}, "by is 'turns'; it takes one of events, rounds"),
        ({"limit": 0}, "limit is 0; it takes a whole number of characters"),
        ({"before": -1}, "before is -1; it takes a whole number of events or rounds, 0 or more"),
        ({"after": "1"}, "after is '1'"),
        ({"reach": "everything"}, "A reach is one of session, children, user, not 'everything'"),
    ],
)
def test_a_load_that_cannot_be_meant_is_refused_by_name(arguments: dict[str, Any], says: str) -> None:
    for ref in ("event:1", "event:1-3", "call:toolu_1"):
        with pytest.raises(PolicyError, match=says):
            talk().load(ref, **arguments)


def test_a_number_is_an_event() -> None:
    made = talk()
    assert made.load(1) == made.load("event:1")
    assert made.open(1).ref == made.open("event:1").ref
    assert asyncio.run(AsyncSession.around(made).load(1)).events[0].seq == 1
    for wrong in (None, 1.5, ["event:1"]):
        with pytest.raises(NotFound, match="event:12"):
            made.load(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "ref",
    ["[event:1]", "Event:1", "event:1#L1-1, 2026-12-01 10:24, user", "[event:1, 2026-03-01 00:00, user; words: port]"],
)
def test_a_model_may_paste_what_it_read(ref: str) -> None:
    load = recall_tools(talk())[1]
    assert "8443" in load({"ref": ref})
    assert "8443" in load({"ref": ref, "lines": "1-1"})


def test_a_models_call_id_is_opened_as_a_call_and_several_refs_are_asked_for_one_by_one() -> None:
    load = recall_tools(talk())[1]
    assert "balance = 1" in load({"ref": "toolu_1"})
    assert "balance = 1" in load({"call_id": "toolu_1"})
    assert load({"ref": "event:1, event:3"}) == ("Nothing was opened: One ref at a time: event:1 first, then event:3.")


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ("*.py", True), ("ledger.*", True), ("src/*.py", True), ("src/*/ledger.py", True), ("*/ledger.py", True),
        ("PAY/*.PY", True), ("ledg?r.py", True), ("ledger.py", True), ("*.ts", False), ("*.p", False),
        ("edger.*", False), ("*dger.py", True), ("lib/*.py", False), ("[l]edger.*", False),
    ],
)  # fmt: skip
def test_a_file_may_be_a_pattern(files: str, found: bool) -> None:
    made = talk()
    assert bool(made.search("", files=(files,))) == found
    assert ("read_file" in recall_tools(made)[0]({"file": files})) == found


@pytest.mark.parametrize(
    ("text", "pattern", "found"),
    [
        ("see `src/app.py:12:5`, please", "src/*.py", True),
        ("in C:\\work\\app.py.", "work/*.py", True),
        ("(app/[id]/page.tsx)", "app/[id]/*.tsx", True),
        ("[src/app.py]", "*.py", True),
        ("app.python", "*.py", False),
        ("copy .env.local there", ".env*", True),
        ("**src/app.py**", "*.py", True),
    ],
)
def test_a_pattern_is_held_against_whole_paths(text: str, pattern: str, found: bool) -> None:
    made = Session("s")
    made.record(user(text))
    assert bool(made.search("", files=(pattern,))) == found


def test_a_pattern_of_many_stars_ends() -> None:
    made = Session("s")
    made.record(user("a" * 1_100 + " " + "/".join("a" * 600)))
    assert made.search("", files=("*a" * 200 + "b",)) == []


def test_the_newest_come_without_a_query_where_something_else_says_what() -> None:
    search = recall_tools(talk())[0]
    assert search.schema["parameters"]["required"] == []
    assert "read_file" in search({"tool": "read_*"})
    assert "write in query" in search({})


# -- results


@pytest.mark.parametrize("value", [{"rows": 3}, ["a"], 7, True])
def test_a_result_that_is_no_text_is_told_how_to_become_one(value: Any) -> None:
    made = talk()
    with pytest.raises(PolicyError, match=r"json.dumps\(value\)") as error:
        made.record(assistant("", ToolCall("c", "query")), result("c", value))
    assert type(value).__name__ in str(error.value)
    assert made.info.head == 5, "nothing was recorded"


def test_a_result_that_is_none_is_told_of_the_empty_text() -> None:
    with pytest.raises(PolicyError, match="'' is an empty one"):
        talk().record(result("c", None))  # type: ignore[arg-type]


# -- one of a thing


def test_one_line_is_one_line() -> None:
    made = Session("s", policy=Policy.coding(admission={"limit_tokens": 200, "inline_bytes": 400}))
    made.record(user("Go."), assistant("", ToolCall("c", "bash")), result("c", "word " * 4_000, name="bash"))
    assert made.store.log(made.key)[-1].artifacts[0].lines == 1
    text = recall_tools(made)[1]({"ref": "event:3"})
    assert "the whole, 1 line: " in text
    with pytest.raises(NotFound, match=r"1 line, 20,000 bytes\.|has 1 line\."):
        made.load("artifact:3#L7-9")
