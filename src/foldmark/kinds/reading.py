"""Reads an HTML page as a person sees it: blocks of text with their links, without what is hidden or around them.
Knows nothing of previews.

Scripts, styles, comments and hidden elements are never text of the page: they are counted. Navigation, footers and
cookie notices are kept apart.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from foldmark.kinds.base import remembered
from foldmark.kinds.tags import is_empty, read_attributes, readable, tokens


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_RAW = _names("script style textarea title xmp iframe noembed noframes")
_VOID = _names("area base br col embed hr img input link meta param source track wbr")
_SILENT = _names("script style template svg iframe object canvas math noembed noframes datalist")
_CHROME = {"nav": "navigation", "footer": "footer", "aside": "aside", "header": "header"}
_ROLES = {"navigation": "navigation", "contentinfo": "footer", "complementary": "aside", "search": "search"}
_BLOCKS = _names(
    "address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption "
    "figure footer form h1 h2 h3 h4 h5 h6 header hr html legend li main menu nav ol p pre section summary "
    "table tbody td tfoot th thead tr ul br"
)
_CLOSES = {
    "li": {"li"}, "dt": {"dt", "dd"}, "dd": {"dt", "dd"}, "tr": {"tr", "td", "th"}, "td": {"td", "th"},
    "th": {"td", "th"}, "option": {"option"}, "tbody": {"tr", "td", "th", "thead", "tbody"}, "p": {"p"},
}  # fmt: skip
"""Elements that an opening tag ends when they are the innermost open one."""
_PARAGRAPH_ENDS = _names("div ul ol table p h1 h2 h3 h4 h5 h6 section article form pre blockquote dl")
_ENDING = _PARAGRAPH_ENDS | _CLOSES.keys()
_CELLS = _names("td th")
_SHAPES = _names("path use circle rect line polygon")
_SAYING = _names("h1 h2 h3 h4 h5 h6 li td th a img input textarea select option button meta base")
_HIDING = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|opacity\s*:\s*0(?:\.0+)?\s*(?:;|$)|font-size\s*:\s*0(?:px|em|%)?\s*(?:;|$)",
    re.IGNORECASE,
)
_NOTICE = re.compile(r"cookie|consent|gdpr", re.IGNORECASE)
_TELLING = re.compile(r"hidden|style|role|cookie|consent|gdpr", re.IGNORECASE)


class Block(NamedTuple):
    """A piece of text, the line of the page it begins on, the part around the page it belongs to ("" its main
    text), and the level of a heading."""

    text: str
    line: int
    around: str = ""
    level: int = 0


@dataclass
class Page:
    title: str = ""
    description: str = ""
    base: str = ""
    blocks: list[Block] = field(default_factory=list)
    elements: Counter[str] = field(default_factory=Counter)
    hidden: int = 0
    comments: int = 0
    around: Counter[str] = field(default_factory=Counter)
    read: int = 0


class Open(NamedTuple):
    name: str
    is_hidden: bool
    around: str


class Reader:
    """Takes the tokens of one page and makes its blocks."""

    def __init__(self) -> None:
        self.page = Page()
        self._stack: list[Open] = [Open("", False, "")]
        self._opened: Counter[str] = Counter()
        self._inline: list[str] = []
        self._prefix = ""
        self._line = self._block_line = 1
        self._link: tuple[str, int] | None = None
        self._is_pre = 0
        self._level = 0
        self._is_outside = True  # before the first tag and behind </html>: lines of whoever fetched the page

    def read(self, text: str) -> Page:
        last = 0
        self.page.read = len(text)
        for kind, value, attributes, start, _ in tokens(text, _RAW):
            self._line += text.count("\n", last, start)
            last = start
            if kind == "text":
                self._text(value)
            elif kind == "open":
                self._open(value.lower(), attributes)
            elif kind == "close":
                self._close(value.lower())
            elif kind == "comment":
                self.page.comments += 1
        self._flush()
        return self.page

    def _text(self, value: str) -> None:
        top = self._stack[-1]
        if top.name == "title" and not self.page.title:
            self.page.title = " ".join(html.unescape(value[:2_000]).split())
        elif not top.is_hidden and top.name != "title":
            if not self._inline:
                self._block_line = self._line + (0 if self._is_pre or self._is_outside else _blank_lines(value))
            self._inline.append(html.unescape(value) if "&" in value else value)

    def _open(self, name: str, attributes: str) -> None:
        if self._is_outside:
            self._flush()
            self._is_outside = False
        self.page.elements[name] += 1
        if name in _ENDING:
            self._end_implied(name)
        if name in _BLOCKS and name not in _CELLS and self._inline:
            self._flush()
        top = self._stack[-1]
        is_telling = name in _WITH_ATTRIBUTES or (attributes and _TELLING.search(attributes))
        known = read_attributes(attributes) if is_telling else {}
        is_hidden = top.is_hidden or name in _SILENT
        if known and not is_hidden and _is_hiding(name, known):
            is_hidden = True
            self.page.hidden += 1
        if name in _SAYING and not is_hidden:
            self._say(name, known)
        if name in _VOID or (name in _SHAPES and is_empty(attributes)):
            return
        around = top.around
        if not around and (known or name in _CHROME) and (around := self._around(name, known)) and not is_hidden:
            self._flush()
            self.page.around[around] += 1
        self._stack.append(Open(name, is_hidden, around))
        self._opened[name] += 1
        self._is_pre += name == "pre"

    def _around(self, name: str, known: dict[str, str]) -> str:
        if name in ("body", "html", "main"):
            return ""
        if _NOTICE.search(known.get("id", "") + " " + known.get("class", "")) or _NOTICE.search(
            known.get("aria-label", "")
        ):
            return "cookie notice"
        if role := _ROLES.get(known.get("role", "")):
            return role
        # The header and footer of an article are its title and its date.
        is_inside = name in ("header", "footer", "aside") and (self._opened["main"] or self._opened["article"])
        return "" if is_inside else _CHROME.get(name, "")

    def _say(self, name: str, known: dict[str, str]) -> None:
        """What a tag itself adds to the text."""
        match name:
            case "h1" | "h2" | "h3" | "h4" | "h5" | "h6":
                self._level = int(name[1])
                self._prefix = "#" * self._level + " "
            case "li":
                self._prefix = "- "
            case "td" | "th" if "".join(self._inline).strip():
                self._inline.append(" | ")
            case "a" if (url := known.get("href", "").strip()) and not url.startswith(("#", "javascript:")):
                self._link = (url, len(self._inline))
            case "img" if known.get("alt", "").strip():
                self._inline.append(f" [image: {known['alt'].strip()}] ")
            case "input" if known.get("type", "text") not in ("hidden",):
                self._inline.append(f" [{_field(known)}] ")
            case "textarea" | "select":
                self._inline.append(f" [{name} {known.get('name', '')}".rstrip() + "] ")
            case "option":
                self._inline.append(" / ")
            case "button":
                self._inline.append(" [button] ")
            case "meta" if known.get("name", "").lower() == "description":
                self.page.description = self.page.description or " ".join(known.get("content", "").split())
            case "base":
                self.page.base = self.page.base or known.get("href", "")

    def _end_implied(self, name: str) -> None:
        ends = _CLOSES.get(name, set()) | ({"p"} if name in _PARAGRAPH_ENDS else set())
        while self._stack[-1].name in ends:
            self._pop()

    def _close(self, name: str) -> None:
        if not self._opened[name]:
            return
        while self._stack[-1].name != name:
            self._pop()
        self._pop()
        if name == "html":
            self._flush()
            self._is_outside = True

    def _pop(self) -> None:
        name, is_hidden, _ = self._stack[-1]
        if name == "a" and not is_hidden:
            self._end_link()
        if name in _BLOCKS and name not in _CELLS and (self._inline or self._prefix):
            self._flush()
        self._stack.pop()
        self._opened[name] -= 1
        self._is_pre -= name == "pre"

    def _end_link(self) -> None:
        if self._link is None:
            return
        url, start = self._link
        self._link = None
        label = "".join(self._inline[start:]).strip()
        if label and label != url:
            said = f"<{url}>" if len(url) <= _LONG_URL else f"<URL of {len(url):,} characters>"
            self._inline.append(f" {said}")

    def _flush(self) -> None:
        text = "".join(self._inline)
        self._inline.clear()
        self._link = (self._link[0], 0) if self._link else None
        if self._is_pre or self._is_outside:
            lines = [(line.rstrip(), at) for at, line in enumerate(text.split("\n")) if line.strip()]
        else:
            joined = " ".join(text.split())
            lines = [(joined, 0)] if joined else []
        for line, at in lines:
            block = Block(self._prefix + line, self._block_line + at, self._stack[-1].around, self._level)
            self.page.blocks.append(block)
            self._prefix, self._level = "", 0
        if lines or not self._prefix.startswith("-"):
            self._prefix, self._level = "", 0


_LONG_URL = 300
_WITH_ATTRIBUTES = _names("a img input textarea select meta base")


def _blank_lines(value: str) -> int:
    return value[: len(value) - len(value.lstrip())].count("\n")


def _is_hiding(name: str, known: dict[str, str]) -> bool:
    if not known:
        return False
    if "hidden" in known or known.get("aria-hidden") == "true" or (name == "input" and known.get("type") == "hidden"):
        return True
    return bool(_HIDING.search(known.get("style", "")))


def _field(known: dict[str, str]) -> str:
    kind = known.get("type", "text").lower()
    if kind in ("submit", "button", "reset"):
        return f"button: {known.get('value', kind)}"
    shown = [kind, known.get("name", ""), known.get("placeholder", "")]
    return "input " + " ".join(part for part in shown if part)


@remembered
def read_page(text: str) -> Page:
    """The page of a text; of a very large one, of its beginning."""
    return Reader().read(readable(text))
