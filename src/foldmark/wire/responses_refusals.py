"""The table of what the Responses API refuses. Knows nothing of payloads; the checks stand next door."""

from __future__ import annotations

from foldmark.wire.values import Rule, RuleBook

RULES = (
    Rule("shape", "known", "Items, content blocks and tools are objects; an item has a type or a role.", "2026-11"),
    Rule("no_messages", "known", "One of input, previous_response_id, prompt or conversation is required.", "2026-04"),
    Rule("role", "known", "Roles are assistant, system, developer and user; `tool` is answered with these.", "2026-09"),
    Rule("item_type", "suspected", "An unknown type is answered with the list of types; the list grows.", "2026-11"),
    Rule("orphan_result", "known", "`No tool call found for function call output with call_id …`.", "2026-09"),
    Rule("missing_result", "known", "`No tool output found for function call …`.", "2026-09"),
    Rule("duplicate_result", "suspected", "Two outputs for one call: taken by OpenAI, refused by gateways.", "2026-05"),
    Rule("duplicate_call_id", "suspected", "Two calls with one call_id cannot both be answered.", "2026-05"),
    Rule("output_kind", "suspected", "A custom call wants a custom output, a shell call a shell output.", "2026-09"),
    Rule("output_missing", "known", "`Missing required parameter: 'input[2].output'`; null is refused too.", "2026-03"),
    Rule("call_id", "known", "call_id is text of 1 to 64 characters: `string too long` beyond.", "2026-02"),
    Rule(
        "item_id", "known", "`Expected an ID that begins with 'fc'`; letters, digits, _ and -; at most 64.", "2026-09"
    ),
    Rule("duplicate_item", "known", "`Duplicate item found with id …`.", "2026-06"),
    Rule(
        "reasoning_last",
        "known",
        "`… of type 'reasoning' was provided without its required following item`.",
        "2026-02",
    ),
    Rule("reasoning_run", "suspected", "Two reasoning items in a row: the first has no following item.", "2025-06"),
    Rule(
        "reasoning_gone",
        "suspected",
        "`… provided without its required 'reasoning' item`: an id without it.",
        "2026-04",
    ),
    Rule("not_stored", "known", "`Item … not found. Items are not persisted when store is set to false`.", "2026-09"),
    Rule("summary_missing", "known", "`Input[N] missing required field summary`: an empty list is enough.", "2026-09"),
    Rule("compaction", "known", "A compaction item goes back with the encrypted content it came with.", "2026-09"),
    Rule("tool_name", "known", "Names match [a-zA-Z0-9_-]{1,64}, in definitions and in calls.", "2026-05"),
    Rule("tool_shape", "known", "`Missing required parameter: 'tools[0].name'`: functions are flat here.", "2026-05"),
    Rule("duplicate_tool", "suspected", "Two tools of one name: refused by several compatible servers.", "2025-10"),
    Rule("too_many_tools", "known", "At most 128 tools in a request.", "2025-12"),
    Rule("arguments_type", "known", "Arguments are JSON as text, never an object.", "2025-12"),
    Rule(
        "arguments_json", "suspected", "Servers that parse arguments refuse a session over one cut-off text.", "2026-03"
    ),
    Rule(
        "content_type", "known", "`Invalid value: 'input_text'`: input blocks go in, output blocks came out.", "2026-09"
    ),
    Rule("empty_content", "known", "Content is text or a list; null and a missing one are refused.", "2026-03"),
    Rule("blank_content", "suspected", "Empty text or an empty list is refused by strict servers.", "2026-09"),
    Rule("image_type", "known", "Images are png, jpeg, gif or webp.", "2025-12"),
    Rule("unknown_field", "known", "`Unknown parameter: 'input[1].tool_calls'`: fields of other shapes.", "2026-06"),
    Rule("instructions", "known", "`instructions` is text.", "2025-12"),
    Rule("max_output", "known", "`max_output_tokens`: expected a value >= 16.", "2025-12"),
    Rule("unencodable", "known", "The body must be UTF-8: a lone surrogate cannot be encoded at all.", "2026-11"),
    Rule("nul", "suspected", "U+0000 in text is refused by servers that keep it in a database.", "2026-11"),
)
BOOK = RuleBook("openai-responses", RULES)
