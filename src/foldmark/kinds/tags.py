"""The tokens of markup: text, tags, comments, in order, each character looked at once. Knows nothing of what tags mean.

No parser of the standard library fits: html.parser and expat go back over what hostile text left open, and expat
expands entities. What is open at the end (a tag, a quote, a comment) takes the rest, as in a browser.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

# Possessive throughout: one pass. A quote without a partner is an ordinary character, and can be the last of its sort
# only once. The text before a tag is taken with it: one match for two tokens is twice as fast.
_PIECE = re.compile(
    r"""([^<]*+)<(/?+)([A-Za-z_][^\s/>"'<=]*+)((?:[^"'>]++|"[^"]*+"|'[^']*+'|["'])*+)>?""",
)
_ODD = re.compile(r"<[!?A-Za-z_]|</[A-Za-z_]")
_ATTRIBUTE = re.compile(r"""([^\s"'>/=]++)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'>]++)))?+""")

Token = tuple[str, str, str, int, int]
"""Kind (text, open, close, comment, cdata, declaration or instruction), the text or the tag's name, the attributes as
they stand, start and end. A plain tuple: a page has hundreds of thousands."""


READ = 8_000_000
"""Characters of markup that are read, about three seconds of work; the outline of a larger text says so."""


def readable(text: str) -> str:
    """The text, or of a very large one its beginning up to a tag."""
    if len(text) <= READ:
        return text
    return text[: max(text.rfind("<", 0, READ), 0) or READ]


def is_empty(attributes: str) -> bool:
    """Whether a tag closes itself (`<br/>`)."""
    return attributes.endswith("/")


def tokens(text: str, raw_text: frozenset[str] = frozenset()) -> Iterator[Token]:
    """All tokens of a text. The content of elements named in `raw_text` is text whatever it looks like."""
    at, size, pending = 0, len(text), 0
    while True:
        if found := _PIECE.match(text, at):
            before, slash, name, attributes = found.groups()
            start, end = at + len(before), found.end()
            token: Token = ("close" if slash else "open", name, attributes.rstrip(), start, end)
        elif odd := _ODD.search(text, at):
            start = odd.start()
            if text[start + 1] not in "!?":  # a tag behind a bare `<`
                at = start
                continue
            token = _odd(text, start)
            end = token[4]
        else:
            break
        if start > pending:
            yield "text", text[pending:start], "", pending, start
        yield token
        at = pending = end
        if token[0] == "open" and (name := token[1].lower()) in raw_text and not is_empty(token[2]):
            end = _raw_end(text, at, name)
            yield "text", text[at:end], "", at, end
            at = pending = end
    if pending < size:
        yield "text", text[pending:], "", pending, size


def _raw_end(text: str, at: int, name: str) -> int:
    found = re.compile(rf"</{re.escape(name)}(?=[\s/>])", re.IGNORECASE).search(text, at)
    return found.start() if found else len(text)


def _odd(text: str, at: int) -> Token:
    """A comment, CDATA section, declaration or instruction."""
    if text.startswith("<!--", at):
        return "comment", "", "", at, _until(text, "-->", at + 4)
    if text.startswith("<![CDATA[", at):
        end = _until(text, "]]>", at)
        return "cdata", text[at + 9 : end].removesuffix("]]>"), "", at, end
    if text[at + 1] == "!":
        return "declaration", "", "", at, _declaration_end(text, at)
    return "instruction", "", "", at, _until(text, ">", at)


def _until(text: str, mark: str, at: int) -> int:
    end = text.find(mark, at)
    return end + len(mark) if end >= 0 else len(text)


def _declaration_end(text: str, at: int) -> int:
    """The end of `<!DOCTYPE …>`, behind its inner subset (`[…]>`) when there is one."""
    end = _until(text, ">", at)
    if "[" in text[at:end] and (close := text.find("]>", at)) >= 0:
        return close + 2
    return end


def read_attributes(attributes: str) -> dict[str, str]:
    """The attributes of a tag by small-letter name, the first of each, entities resolved."""
    found: dict[str, str] = {}
    for name, *values in _ATTRIBUTE.findall(attributes):
        value = next((value for value in values if value), "")
        found.setdefault(name.lower(), html.unescape(value) if "&" in value else value)
    return found
