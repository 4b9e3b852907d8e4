"""Tools that an agent itself may call: to compact its context, to search what happened, to open what a ref names.

    tools = [compact_tool(session), *recall_tools(session)]
    by_name = {tool.name: tool for tool in tools}
    request = session.request(system=SYSTEM, tools=[*TOOLS, *(tool.schema for tool in tools)])
    ...
    if call.name in by_name:
        session.record(result(call.id, by_name[call.name](call.arguments), name=call.name))

`schema` is neutral: every wire writes it in its provider's form. What a tool answers is text for the model, also when
its arguments make no sense. Knows nothing of frameworks.
"""

from foldmark.tools.artifacts import ARTIFACT_TOOLS, artifact_tools
from foldmark.tools.compacting import COMPACT_DESCRIPTION as COMPACT_DESCRIPTION
from foldmark.tools.compacting import FOCUS_CHARACTERS as FOCUS_CHARACTERS
from foldmark.tools.compacting import compact_tool, said
from foldmark.tools.recall import recall_tools
from foldmark.tools.tool import Tool

__all__ = ["ARTIFACT_TOOLS", "Tool", "artifact_tools", "compact_tool", "recall_tools", "said"]
