"""HTML pages: title, headings, text and links in the order of the page. Knows nothing of how a page is read.

What the reader did not take for the page's text is named and counted in the first line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from foldmark.events import ToolCall
from foldmark.kinds.base import Kind, clip, plain_preview, plural, profile
from foldmark.kinds.body import Count, compose, count_lines, whole
from foldmark.kinds.cuts import without_controls
from foldmark.kinds.reading import Block, Page, read_page

_PAGE = re.compile(r"^[ \t]*(?:<!doctype\s+html|<html[\s>]|<head[\s>]|<body[\s>])", re.IGNORECASE | re.MULTILINE)
_PIECE = re.compile(r"<(?:div|p|span|a|li|td|tr|table|ul|ol|h[1-6]|section|article|script|img)[\s>]", re.IGNORECASE)
_NUMBERED = re.compile(r"\s{0,8}\d{1,7}(?:→|\t|: ?|\| ?)\s*<")
_FEW = 200
"""Characters of main text below which what stands around it is shown as well."""
_REPEATED = 40


def _recognise(text: str, call: ToolCall | None) -> float:
    if "<" not in text[:4_000] or _NUMBERED.match(text[:200]):
        return 0.0
    if call is not None and profile(call).role in ("reads", "searches", "writes"):
        return 0.0  # who opens a file wants its source
    if (found := _PAGE.search(text, 0, 2_000)) and text.count("\n", 0, found.start()) < 30:
        return 0.87
    if text[:200].lstrip()[:1] == "<" and len(_PIECE.findall(text[:4_000])) >= 4:
        return 0.75
    return 0.0


def main_blocks(page: Page) -> list[Block]:
    """The page's own text; with what stands around it when there is little; long texts that come again left out."""
    blocks = [block for block in page.blocks if not block.around]
    if sum(len(block.text) for block in blocks) < _FEW:
        blocks = page.blocks
    seen: set[str] = set()
    kept = []
    for block in blocks:
        if len(block.text) >= _REPEATED and block.text in seen:
            continue
        seen.add(block.text)
        kept.append(block)
    return kept


class Blocks:
    """The blocks of a page as pieces of a preview; gaps name the lines of the page where there are enough."""

    def __init__(self, text: str, blocks: list[Block]) -> None:
        self.text = text
        self.total = len(blocks)
        self._blocks = blocks
        self._lines = count_lines(text)

    def line(self, number: int) -> str | None:
        return self._blocks[number - 1].text if 1 <= number <= self.total else None

    def gap(self, first: int, last: int) -> str:
        low = self._blocks[first - 1].line
        high = self._blocks[last].line - 1 if last < self.total else self._blocks[last - 1].line
        name = f"block {first:,}" if first == last else f"blocks {first:,}-{last:,}"
        where = f" (from line {low:,} to {max(low, high):,} of {self._lines:,})" if self._lines > self.total else ""
        return f"… {name} of {self.total:,} not shown{where} …"

    def order(self) -> Iterator[tuple[int, str]]:
        """In the order of reading, the last block with the first ones: a page says there how it goes on."""
        pieces = list(enumerate((block.text for block in self._blocks[:600]), 1))
        yield from pieces[:3]
        yield self.total, self._blocks[-1].text
        yield from pieces


def say(page: Page, kept: int, size: int) -> str:
    title = f' "{clip(without_controls(page.title), 160)}"' if page.title else ""
    said = f"HTML page{title}, {plural(kept, 'block')} of text, {plural(page.elements['a'], 'link')}"
    said += f", all in the first {page.read:,} of {size:,} characters" if page.read < size else ""
    left = [f"{plural(number, name)}" for name in ("script", "style") if (number := page.elements[name])]
    left += [f"{plural(page.comments, 'comment')}"] if page.comments else []
    left += [f"{plural(page.hidden, 'hidden element')}"] if page.hidden else []
    around = [plural(number, name, name if name == "navigation" else "") for name, number in page.around.items()]
    left += around
    main = sum(1 for block in page.blocks if not block.around)
    repeated = (main if kept <= main else len(page.blocks)) - kept
    left += [plural(repeated, "repeated block")] if repeated > 0 else []
    return f"{said}; not shown: {', '.join(left)}" if left else said


def outcome(text: str, call: ToolCall | None) -> str:
    page = read_page(text)
    blocks = main_blocks(page)
    heading = next((block.text.lstrip("# ") for block in blocks if block.level), "")
    first = heading or next((block.text for block in blocks), "")
    said = say(page, len(blocks), len(text))
    return f"{said}; {clip(without_controls(first), 160)}" if first else said


def _headings(blocks: list[Block], room: int, count: Count) -> str:
    """The headings of a page in one line, as far as there is room; none when the page has but two."""
    names = [without_controls(block.text.lstrip("# ")) for block in blocks if block.level and len(block.text) <= 100]
    shown: list[str] = []
    for name in names:
        room -= count(name) + 1
        if room < 8:
            break
        shown.append(name)
    more = f" (+{len(names) - len(shown):,} more)" if len(shown) < len(names) else ""
    return f"\nheadings: {'; '.join(shown)}{more}" if len(names) > 2 and shown else ""


def preview(text: str, budget_tokens: int, count: Count) -> str:
    if fits := whole(text, budget_tokens, count):
        return fits
    page = read_page(text)
    blocks = main_blocks(page)
    if not blocks:
        return plain_preview(text, budget_tokens, count)
    top = say(page, len(blocks), len(text))
    if page.base and len(page.base) <= 200:
        top += f"\nbase of the links: {without_controls(page.base)}"
    if page.description and len(page.description) <= 300:
        top += f"\ndescription: {without_controls(page.description)}"
    top += _headings(blocks, budget_tokens // 6, count)
    pieces = Blocks(text, blocks)
    return compose(pieces, pieces.order(), budget_tokens, count, top)


HTML = Kind("html", _recognise, outcome, preview)
