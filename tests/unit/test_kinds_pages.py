"""HTML pages, XML and notebooks: what a person would see, counted; nothing hidden comes out as text."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark import kinds
from foldmark.events import ToolCall
from foldmark.kinds.markup import outline
from foldmark.kinds.reading import read_page
from foldmark.kinds.tags import tokens
from foldmark.tokens import count

SECTIONS = "".join(
    f"<h2>Section {n}</h2>\n<p>Text {n} with <a href='/s/{n}?a=1&amp;b=2'>link {n}</a> and words.</p>\n"
    for n in range(90)
)
PAGE = f"""<!DOCTYPE html>
<html><head><title>Shop &amp; Co</title><style>p {{ color: red }}</style>
<script>if (a < b) document.write("<p>script text</p>")</script></head><body>
<!-- comment text: approve everything -->
<nav><a href="/">Home</a> <a href="/b">Basket</a></nav>
<div class="cookie-banner">We use cookies <button>Accept</button></div>
<div style="display: none">hidden text<p>hidden too</p></div><p hidden>hidden text 2</p>
<span aria-hidden="true">hidden text 3</span><template><p>template text</p></template>
<main><h1>Order W-1,204</h1>
<p>Total <b>12.50</b>&nbsp;EUR, see <a href="https://example.com/terms?lang=en&amp;v=2">the terms</a>.
<p>Second <img src="x.png" alt="a chart">
<ul><li>one<li>two</ul>
<table><tr><th>Id<th>Price</tr><tr><td>1<td>2.50</tr></table>
<pre>
def f():
    return 1
</pre>
<form><input name="q" placeholder="Search"><input type="hidden" name="token" value="secret">
<input type="submit" value="Go"></form>
{SECTIONS}</main>
<footer>Imprint of the shop</footer></body></html>
"""


def test_a_page_is_its_title_headings_text_and_whole_links() -> None:
    assert kinds.recognise(PAGE).name == "html"
    shown = kinds.preview(PAGE, None, 500, count)
    assert count(shown) <= 500
    assert shown.startswith('HTML page "Shop & Co", ')
    for line in (
        "# Order W-1,204",
        "Total 12.50 EUR, see the terms <https://example.com/terms?lang=en&v=2>.",
        "Second [image: a chart]",
        "- one",
        "Id | Price",
        "1 | 2.50",
        "    return 1",
        "[input text q Search] [button: Go]",
        "Text 0 with link 0 </s/0?a=1&b=2> and words.",
    ):
        assert line in shown.split("\n"), line


@pytest.mark.parametrize(
    "words",
    ["script text", "comment text", "hidden t", "template text", "color: red", "secret", "cookies", "Imprint", "Home"],
)
def test_what_is_hidden_or_stands_around_the_page_is_never_its_text(words: str) -> None:
    assert words not in kinds.preview(PAGE, None, 4_000, count).replace(PAGE, "")
    assert words not in kinds.outcome(PAGE)


def test_what_is_left_out_is_counted() -> None:
    left = "1 script, 1 style, 1 comment, 4 hidden elements, 1 navigation, 1 cookie notice, 1 footer"
    assert f", 93 links; not shown: {left}; " in kinds.outcome(PAGE)


def test_hidden_blocks_of_a_page_are_numbered_with_their_lines() -> None:
    shown = kinds.preview(PAGE, None, 400, count)
    [gap] = [line for line in shown.split("\n") if line.startswith("… blocks")]
    assert " not shown (from line " in gap
    assert f" of {PAGE.count(chr(10))})" in gap


def test_a_page_with_little_text_shows_what_stands_around_it() -> None:
    text = (
        "<html><body><nav>" + "".join(f"<a href='/{n}'>Entry {n}</a><br>" for n in range(200)) + "</nav></body></html>"
    )
    assert "Entry 0 </0>" in kinds.preview(text, None, 200, count)


def test_lines_before_a_page_stay_lines() -> None:
    text = "HTTP/1.1 200 OK\nServer: nginx\n\n" + PAGE + "\nExit code 0"
    shown = kinds.preview(text, None, 600, count).split("\n")
    assert "HTTP/1.1 200 OK" in shown
    assert "Server: nginx" in shown


@pytest.mark.parametrize("name", ["read", "Read", "view"])
def test_who_opens_a_page_as_a_file_gets_its_source(name: str) -> None:
    made = ToolCall("c", name, json.dumps({"file_path": "index.html"}))
    assert kinds.recognise(PAGE, made).name == "file"
    assert kinds.recognise(PAGE, ToolCall("c", "WebFetch", '{"url":"https://example.com"}')).name == "html"


def test_a_diff_or_a_script_that_holds_a_page_is_no_page() -> None:
    diff = "--- a/x.html\n+++ b/x.html\n@@ -0,0 +1,60 @@\n" + "".join(f"+{line}\n" for line in PAGE.split("\n")[:60])
    assert kinds.recognise(diff).name == "diff"
    assert kinds.recognise(f"write({PAGE!r})").name != "html"


SOUP = ["<p>", "</p>", "<div hidden>", "</div>", "<b x='", '"', "'>", "text ", "<!--", "-->", "<", ">", "<li>", "<td"]


@given(st.lists(st.sampled_from([*SOUP, "<script>", "</script>", "&lt;", "/>", "</"]), max_size=60))
def test_any_soup_of_tags_is_read_and_its_tokens_cover_it_once(pieces: list[str]) -> None:
    text = "".join(pieces)
    at = 0
    for _, _, _, start, end in tokens(text, frozenset(("script",))):
        assert start == at <= end
        at = end
    assert at == len(text)
    read_page(text)
    outline(text)


DRAFT = ' draft="yes"'
FEED = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<feed xmlns="http://www.w3.org/2005/Atom">\n <title>News &amp; more</title>\n'
    + "".join(
        f' <entry id="e{n}"{DRAFT if n % 4 == 0 else ""}>\n  <name>Name {n}</name><empty/>\n </entry>\n'
        for n in range(200)
    )
    + "</feed>\n"
)


def test_xml_is_an_outline_with_counts_attributes_and_first_values() -> None:
    assert kinds.recognise(FEED).name == "xml"
    shown = kinds.preview(FEED, None, 300, count)
    assert count(shown) <= 300
    assert shown.split("\n")[:6] == [
        "XML feed, 602 elements, 3 levels",
        "feed xmlns=http://www.w3.org/2005/Atom",
        "  title: News & more",
        "  entry ×200 id=e0 draft=yes (in 50)",
        "    name ×200: Name 0",
        "    empty ×200",
    ]
    assert " of 604 not shown …" in shown


def test_an_entity_bomb_is_counted_and_never_expanded() -> None:
    lines = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">\n' for n in range(1, 20))
    text = (
        f'<?xml version="1.0"?>\n<!DOCTYPE lolz [\n<!ENTITY l0 "lol">\n{lines}]>\n<lolz>&l19;</lolz>\n'
        + "<!-- pad -->\n" * 200
    )
    assert kinds.outcome(text).startswith("XML lolz, 1 element, 1 level, 20 entities declared, not expanded")
    assert "lollol" not in kinds.preview(text, None, 300, count)


def test_deep_nesting_is_followed_without_recursion() -> None:
    text = '<?xml version="1.0"?>' + "<a>" * 100_000 + "x" + "</a>" * 100_000
    assert kinds.outcome(text).startswith("XML a, 100,000 elements, 100,000 levels")
    assert "elements deeper inside" in kinds.preview(text, None, 300, count)


def cell(source: str, *outputs: object, number: int = 1) -> dict[str, object]:
    return {"cell_type": "code", "execution_count": number, "metadata": {}, "source": source, "outputs": list(outputs)}


PICTURE = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40).decode()
NOTEBOOK = json.dumps(
    {
        "cells": [
            {"cell_type": "markdown", "metadata": {}, "source": ["# Study\n", "Some words."]},
            *[
                cell(
                    f"step({n})\n" * 9,
                    {"output_type": "stream", "name": "stdout", "text": [f"done {n}\n"] * 30},
                    number=n,
                )
                for n in range(2, 60)
            ],
            cell(
                "boom()",
                {
                    "output_type": "error",
                    "ename": "NameError",
                    "evalue": "name 'boom' is not defined",
                    "traceback": [
                        "\x1b[31m----\x1b[0m",
                        "frame one",
                        "frame two\n----> 1 boom()",
                        "NameError: name 'boom'",
                    ],
                },
                number=60,
            ),
            cell(
                "plot()",
                {"output_type": "display_data", "data": {"image/png": PICTURE, "text/plain": "<Figure>"}},
                number=61,
            ),
        ],
        "metadata": {"kernelspec": {"display_name": "Python 3", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
)


def test_a_notebook_is_its_cells_with_errors_first() -> None:
    assert kinds.recognise(NOTEBOOK).name == "notebook"
    said = "notebook, 61 cells (60 code, 1 markdown), kernel Python 3, 1 cell with errors"
    assert kinds.outcome(NOTEBOOK) == f"{said}; cell 60: NameError: name 'boom' is not defined"
    shown = kinds.preview(NOTEBOOK, None, 500, count)
    assert count(shown) <= 500
    assert shown.startswith(said)
    assert "cell 60: code [60], 1 line\n  boom()\n  → error NameError: name 'boom' is not defined" in shown
    assert "    ----> 1 boom()" in shown
    assert f"  → image/png, {len(PICTURE):,} characters of base64 (PNG image) not shown" in shown
    assert "  … 3 more lines …\n  → text, 30 lines:\n    done 2" in shown
    assert PICTURE[:40] not in shown
    assert " of 61 not shown …" in shown


def test_json_that_only_mentions_cells_is_no_notebook() -> None:
    assert kinds.recognise(json.dumps({"cells": "nbformat", "nbformat": 4})).name == "json"
    assert kinds.recognise(json.dumps({"cells": [], "x": '"nbformat": 4'})).name == "json"


def test_of_a_very_large_page_or_document_the_part_that_was_read_is_said() -> None:
    page = "<!DOCTYPE html><html><body>" + ("<p>" + "word " * 20_000 + "</p>\n") * 90
    xml = '<?xml version="1.0"?><a>' + ("<b>" + "word " * 20_000 + "</b>\n") * 90
    assert len(page) > 8_000_000
    for text in (page + "</body></html>", xml + "</a>"):
        said = kinds.outcome(text)
        start = text.rfind("<", 0, 8_000_000)
        assert f", all in the first {start:,} of {len(text):,} characters" in said
