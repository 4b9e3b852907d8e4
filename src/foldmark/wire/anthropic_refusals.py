"""The table of what the Messages API refuses. Knows nothing of payloads; the checks stand next door."""

from __future__ import annotations

from foldmark.wire.values import Rule, RuleBook

RULES = (
    Rule("shape", "known", "Messages, content blocks and calls are objects.", "2025-12"),
    Rule("no_messages", "known", "At least one message is required.", "2025-12"),
    Rule("role", "known", "Roles in `messages` are user and assistant.", "2025-12"),
    Rule(
        "system_placement", "known", "System text is a top-level field; a message of role system is refused.", "2026-03"
    ),
    Rule(
        "first_user",
        "known",
        "The first message must be the user's, but for one that opens with a compaction.",
        "2026-11",
    ),
    Rule(
        "role_order",
        "suspected",
        "Neighbours of one role are merged by the API; older gateways refuse them.",
        "2025-10",
    ),
    Rule(
        "orphan_result", "known", "A tool_result must answer a tool_use of the message directly before it.", "2026-09"
    ),
    Rule("missing_result", "known", "Every tool_use needs its tool_result in the next message.", "2026-09"),
    Rule("duplicate_result", "known", "A tool_use has a single result; several are refused.", "2026-02"),
    Rule(
        "result_order", "known", "tool_result blocks stand in front of every other block of their message.", "2026-02"
    ),
    Rule("error_content", "known", "`all content must be type text if is_error is true`.", "2025-10"),
    Rule(
        "server_result",
        "known",
        "A server_tool_use has its result in its message (found without a corresponding result block), or in the next "
        "step when the client is called beside it and answers with nothing but results.",
        "2026-09",
    ),
    Rule(
        "server_orphan",
        "suspected",
        "Documented: a result of a server's tool stands behind the server_tool_use that it names.",
        "2026-11",
    ),
    Rule("duplicate_call_id", "known", "tool_use ids must be unique in the whole request.", "2026-05"),
    Rule("call_id", "known", "Ids of tool_use and tool_result match [a-zA-Z0-9_-]+.", "2026-05"),
    Rule("tool_name", "known", "Tool names match [a-zA-Z0-9_-]{1,128}, in definitions and in calls.", "2026-03"),
    Rule("duplicate_tool", "known", "Tool names must be unique.", "2025-12"),
    Rule("tools_missing", "suspected", "Gateways refuse tool blocks when the request defines no tool.", "2026-03"),
    Rule("tool_choice", "known", "`tool_choice` may only be given while providing tools.", "2025-12"),
    Rule("schema_type", "known", "`input_schema.type: Field required`: it is object.", "2025-12"),
    Rule("schema_union", "known", "`input_schema` takes no oneOf, allOf or anyOf at the top.", "2026-02"),
    Rule("schema_key", "known", "Names of properties match [a-zA-Z0-9_.-]{1,64}.", "2026-02"),
    Rule("input_type", "known", "The input of a tool_use is an object.", "2025-12"),
    Rule(
        "block_type", "known", "Blocks of other APIs: `Input tag … does not match any of the expected tags`.", "2026-03"
    ),
    Rule("block_role", "known", "tool_use and thinking belong to the assistant, tool_result to the user.", "2025-12"),
    Rule("unknown_field", "known", "A message has role and content: `Extra inputs are not permitted`.", "2026-03"),
    Rule("signature", "known", "A thinking block needs the signature it came with.", "2026-09"),
    Rule(
        "thinking_first", "known", "With thinking enabled, a step with tools begins with its thinking block.", "2026-06"
    ),
    Rule("thinking_order", "suspected", "Thinking behind other blocks: only with interleaved thinking.", "2026-02"),
    Rule("thinking_last", "known", "The final block of an assistant message cannot be thinking.", "2026-02"),
    Rule(
        "thinking_budget", "known", "max_tokens is greater than the thinking budget, which is at least 1024.", "2026-02"
    ),
    Rule("thinking_choice", "known", "Thinking may not be enabled when tool_choice forces a tool.", "2026-02"),
    Rule("compaction_first", "known", "A signed compaction block is sent first and unchanged.", "2026-11"),
    Rule("too_many_marks", "known", "A maximum of 4 blocks with cache_control may be provided.", "2026-06"),
    Rule("mark_place", "known", "Thinking blocks take no cache_control.", "2026-02"),
    Rule("mark_order", "known", "A mark of one hour must not come after one of five minutes.", "2026-02"),
    Rule("empty_content", "known", "All messages but a final assistant one must have non-empty content.", "2026-09"),
    Rule("blank_text", "known", "Text blocks must hold more than white space.", "2026-09"),
    Rule("trailing_space", "known", "A final assistant message cannot end with white space.", "2025-12"),
    Rule("prefill", "suspected", "Newer models refuse a request that ends with the assistant's message.", "2026-06"),
    Rule("system_type", "known", "`system` is text or a list of text blocks.", "2025-12"),
    Rule("image_type", "known", "Images are png, jpeg, gif or webp.", "2025-12"),
    Rule("image_size", "known", "`image exceeds 5 MB maximum`, measured on its base64 text.", "2026-03"),
    Rule("too_many_images", "suspected", "`too many images and documents`: 20 at Bedrock, 100, or 600.", "2026-06"),
    Rule("unencodable", "known", "The body must be UTF-8: a lone surrogate cannot be encoded at all.", "2026-11"),
    Rule("nul", "suspected", "U+0000 in text is refused by servers that keep it in a database.", "2026-11"),
)
BOOK = RuleBook("anthropic", RULES)
