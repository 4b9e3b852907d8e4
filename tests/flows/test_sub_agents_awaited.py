"""Sub-agents that are awaited: side by side, cancelled, left behind."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from sub_agents import POLICY, SOON, answers, parent

from foldmark import MemoryStore, NotFound, SQLiteStore, ToolCall, assistant, user
from foldmark.aio import AsyncSession
from foldmark.children import ChildReport, RunLimits, delegate_async, open_child
from foldmark.testing import AsyncScriptedModel, items_json
from making import long_session


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    made: Any = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "a.db")
    yield made
    made.close()


def awaited(store: Any, *ids: str) -> AsyncSession:
    parent(store, *ids)
    return AsyncSession("main", store=store, policy=POLICY)


def test_awaited_sub_agents_run_side_by_side(store: Any) -> None:
    opened = awaited(store, "c1", "c2")

    async def main() -> list[ChildReport]:
        together = asyncio.Barrier(2)

        async def run(child: AsyncSession) -> str:
            await child.record(user("Go."))
            await together.wait()
            await child.request(window=60_000)
            return f"I am {child.name}."

        return await asyncio.gather(*(delegate_async(opened, one, run) for one in ("c1", "c2")))

    reports = asyncio.run(main())
    assert [report.outcome for report in reports] == ["finished", "finished"]
    assert "I am main/2.2." in reports[1].text
    assert len(answers(opened.session)) == 2


def test_an_awaited_run_is_cancelled_when_its_time_is_over(store: Any) -> None:
    opened, closed = awaited(store), list[str]()

    open_child(opened.session, "c1").record(user("Wait."), assistant("I wait."))

    async def run(child: AsyncSession) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            closed.append("closed")
        return "never"

    report = asyncio.run(delegate_async(opened, "c1", run, limits=SOON))
    assert (report.outcome, closed) == ("timeout", ["closed"])
    assert "I wait." in report.text


def test_an_awaited_run_that_will_not_end_is_left_behind(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foldmark.children.running.GRACE_SECONDS", 0.05)
    opened = awaited(store)

    async def main() -> ChildReport:
        go, done = asyncio.Event(), asyncio.Event()

        async def run(child: AsyncSession) -> str:
            while not go.is_set():
                try:
                    await go.wait()
                except asyncio.CancelledError:
                    continue
            done.set()
            return "LATE 816"

        report = await delegate_async(opened, "c1", run, limits=SOON)
        go.set()
        await done.wait()
        return report

    assert asyncio.run(main()).outcome == "timeout"
    assert len(answers(opened.session)) == 1
    assert "LATE" not in answers(opened.session)[0].text


def test_a_cancelled_call_closes_its_run_and_stays_open_to_be_taken_up(store: Any) -> None:
    opened, closed = awaited(store), list[str]()

    async def main() -> ChildReport:
        begun = asyncio.Event()

        async def waits(child: AsyncSession) -> str:
            await child.record(user("Wait."), assistant("I wait."))
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                closed.append("closed")
            return "never"

        task = asyncio.create_task(delegate_async(opened, "c1", waits))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert closed == ["closed"]
        assert answers(opened.session) == []

        async def goes_on(child: AsyncSession) -> str:
            await child.request(window=60_000)
            return f"After {child.session.info.head}."

        return await delegate_async(opened, "c1", goes_on)

    assert "After 2." in asyncio.run(main()).text


def test_awaited_failures_are_told_as_plain_ones(store: Any) -> None:
    opened = awaited(store, "c1", "c2", "c3")

    async def fails(child: AsyncSession) -> str:
        raise ValueError("no route")

    async def cancels_itself(child: AsyncSession) -> str:
        raise asyncio.CancelledError

    async def goes_on(child: AsyncSession) -> str:
        while True:
            await child.record(assistant("more"))

    async def main() -> list[ChildReport]:
        return [
            await delegate_async(opened, "c1", fails),
            await delegate_async(opened, "c2", cancels_itself),
            await delegate_async(opened, "c3", goes_on, limits=RunLimits(rounds=2)),
        ]

    reports = asyncio.run(main())
    assert [report.outcome for report in reports] == ["failed", "failed", "limit"]
    assert reports[0].why == "ValueError: no route"
    with pytest.raises(NotFound):
        asyncio.run(delegate_async(opened, "unknown", fails))


def test_an_awaited_sub_agent_may_start_one_itself(store: Any) -> None:
    async def run(child: AsyncSession) -> str:
        await child.record(user("Split."), assistant("I ask.", ToolCall("n1", "task", "{}")))
        report = await delegate_async(child, "n1", below)
        return f"Below said: {report.outcome}"

    async def below(child: AsyncSession) -> str:
        await child.record(user("LOCK_WAIT 4711"))
        return "done"

    opened = awaited(store)
    assert "Below said: finished" in asyncio.run(delegate_async(opened, "c1", run)).text
    assert opened.session.search("LOCK_WAIT", where="children")[0].ref == "event:1@main/2/2"


def test_an_async_parent_hands_its_async_model_to_its_sub_agents(store: Any) -> None:
    model = AsyncScriptedModel(items_json())
    opened = AsyncSession("main", store=store, policy=POLICY, model=model)
    asyncio.run(opened.record(user("Go."), assistant("I send.", ToolCall("c1", "task", "{}"))))

    async def run(child: AsyncSession) -> str:
        assert child.session.summarizer is opened.session.summarizer
        await child.record(*long_session(40, 20))
        return str((await child.compact(force=True)).outcome)

    report = asyncio.run(delegate_async(opened, "c1", run))
    assert report.outcome == "finished", report.text
    assert model.asks
