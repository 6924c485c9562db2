"""A document cut out of a file: the others stay byte for byte, or it is not done."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whysync.fixes.files import without_document
from whysync.json_tree import Json
from whysync.kubernetes.api import yaml

THREE = """\
# the first
a: 1
---
# the second
b: |
  text
   --- no mark
---   # the third
c: 3
"""


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0, "---\n# the second\nb: |\n  text\n   --- no mark\n---   # the third\nc: 3\n"),
        (1, "# the first\na: 1\n---   # the third\nc: 3\n"),
        (2, "# the first\na: 1\n---\n# the second\nb: |\n  text\n   --- no mark\n"),
    ],
)
def test_one_document_is_removed_and_the_others_stay(number: int, expected: str) -> None:
    assert without_document(THREE, number) == expected


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (THREE, 3),
        (THREE, -1),
        ("", 0),
        ("a: [", 0),
        ("a: 1\n---\nb: [\n", 0),
        ("a: 1\n...\n---\nb: 2\n", 5),
    ],
)
def test_what_is_not_there_or_cannot_be_read(text: str, number: int) -> None:
    assert without_document(text, number) is None


def test_empty_documents_do_not_count() -> None:
    assert without_document("---\n# nothing\n---\na: 1\n---\nb: 2\n", 0) == "---\n# nothing\n---\nb: 2\n"


def test_line_ends_of_another_kind() -> None:
    assert without_document("a: 1\r\n---\r\nb: 2\r\n", 0) == "---\r\nb: 2\r\n"


def bodies(text: str) -> list[Json]:
    return [
        document.body
        for document in yaml.documents(text)
        if isinstance(document, yaml.Document) and document.body is not None
    ]


@given(
    st.lists(st.dictionaries(st.sampled_from("abc"), st.text(max_size=8), min_size=1), min_size=1), st.data()
)
def test_nothing_else_is_removed(objects: list[dict[str, Json]], data: st.DataObject) -> None:
    text = "---\n".join(yaml.dump(obj) for obj in objects)
    number = data.draw(st.integers(0, len(objects) - 1))
    remaining = without_document(text, number)
    assert remaining is not None
    expected = bodies(text)
    del expected[number]
    assert bodies(remaining) == expected


@given(st.text(alphabet="ab: -\n#|[]{}'\"", max_size=40), st.integers(0, 3))
def test_any_text_is_handled(text: str, number: int) -> None:
    remaining = without_document(text, number)
    assert remaining is None or len(remaining) < len(text)
