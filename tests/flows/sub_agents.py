"""Sessions with sub-agents, as the tests of them need them. Knows nothing of what is tested."""

from __future__ import annotations

from typing import Any

from foldmark import Policy, Session, ToolCall, Usage, assistant, user
from foldmark.children import RunLimits, delegate
from foldmark.events import Event, result
from foldmark.tools import recall_tools

POLICY = Policy.coding(run="manual", budget={"landing_tokens": 3_000})
SOON = RunLimits(timeout_seconds=0.05)


def parent(store: Any, *ids: str, tool: str = "task", **options: Any) -> Session:
    made = Session("main", store=store, **{"policy": POLICY, **options})
    made.record(user("Fix the lock."))
    made.record(assistant("I send them.", *(ToolCall(one, tool, '{"prompt": "find it"}') for one in ids or ("c1",))))
    return made


def works(child: Session) -> str:
    """A run that changes a file, sees a test fail, and answers."""
    child.record(user("Find the lock."))
    child.request(window=60_000)
    child.record(
        assistant("I test.", ToolCall("x1", "bash", '{"command": "pytest -q"}'), usage=Usage(input=500, output=20)),
        result("x1", "FAILED tests/test_lock.py::test_wait - assert 3 == 4\n1 failed, 4 passed in 0.1s", name="bash"),
        assistant("I write.", ToolCall("x2", "write_file", '{"path": "src/lock.py", "content": "LOCK_WAIT = 4711"}')),
        result("x2", "ok", name="write_file"),
        assistant("The lock waits too long."),
    )
    return "The lock waits too long."


def answers(session: Session) -> list[Event]:
    return [event for event in session.store.log(session.key) if event.role == "tool"]


def nested(child: Session) -> str:
    child.record(user("Split it."), assistant("I ask one below.", ToolCall("n1", "task", "{}")))
    report = delegate(child, "n1", works)
    return f"Below said: {report.outcome}"


def two_scopes(store: Any, first: str = "a1", second: str = "b1") -> tuple[Session, Session]:
    made = Session("main", store=store, policy=POLICY)
    for key, call in (("app/a", first), ("app/b", second)):
        made.record(user(f"Task of {key}.", scope=key), assistant("I send.", ToolCall(call, "task", "{}"), scope=key))
        scoped = Session("main", store=store, policy=POLICY, scope=key, sees="exact")
        delegate(scoped, call, lambda child, key=key: str(child.record(user(f"SECRET of {key}")).seq))
    return tuple(  # type: ignore[return-value]
        Session("main", store=store, policy=POLICY, scope=key, sees="exact") for key in ("app/a", "app/b")
    )


def asks(session: Session, name: str, **arguments: Any) -> str:
    tool = next(tool for tool in recall_tools(session) if tool.name == name)
    answer: str = tool(arguments)
    return answer
