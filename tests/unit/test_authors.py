"""Who wrote a record is one text, read back into its names."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from foldmark.authors import bare_author, editor_of, names_in, with_adopted, with_editor

names = st.text(
    st.characters(blacklist_characters=",", blacklist_categories=("Cc", "Cs")), min_size=1, max_size=20
).map(lambda text: text.strip() or "x")


@given(names, names, names)
def test_names_are_read_back_in_whatever_order_they_were_added(model: str, adopted: str, editor: str) -> None:
    author = f"code and {model}"
    assert names_in(author) == (model, "", "")
    both = with_editor(with_adopted(author, adopted), editor)
    assert both == with_adopted(with_editor(author, editor), adopted)
    assert names_in(both) == (model, adopted, editor)
    assert editor_of(with_editor(both, "Bob")) == "Bob"
    assert bare_author(both) == author
    assert bare_author(both, keep_editor=True) == with_editor(author, editor)


def test_code_alone_has_no_names() -> None:
    assert names_in("code") == ("", "", "")
    assert bare_author("code", keep_editor=True) == "code"
    assert with_editor("code", "Ann") == "code, edited by Ann"
    assert names_in("code, edited by Ann") == ("", "", "Ann")
