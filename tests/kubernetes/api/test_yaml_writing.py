"""What is written reads back as the same value; and where a field stands."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from whysync.json_tree import Json
from whysync.kubernetes.api.yaml import documents, dump, load, position

TEXTS = st.one_of(
    st.text(max_size=40),
    st.text(alphabet="yesno~0123456789.xe-+_:# \n'\"|>{}[]&*!%@`,?<=\t\\", max_size=12),
)
VALUES: st.SearchStrategy[Json] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(min_value=-(2**63), max_value=2**63 - 1),
        # A whole float that fits int64 is read as a whole number, which beyond 2^53 may differ from it.
        st.floats(allow_nan=False, allow_infinity=False).filter(lambda n: not 2.0**53 <= abs(n) <= 2.0**63),
        TEXTS,
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=12,
)


@settings(deadline=None)
@given(VALUES)
@example({"a": "x\n\n", "b": ["- x", "x: y", "#", ""], "<<": {}, "=": "=", "": [[], [[1, {"k": []}]]]})
@example({"a": {"b": " lead\nline", "c": "tab\there\n", "e": "\u2028\x85\x00"}})
@example("---")
@example(["...", "---", {"---": "..."}])
@example(["x\n--- a/f\n---\n...\nend", {"b": "q\n---\nz\n"}])
def test_what_is_written_reads_back(value: Json) -> None:
    written = dump({"v": value})
    result = list(documents(written))
    assert len(result) == 1, written
    assert load(written) == {"v": value}, written
    assert dump(load(written)) == dump(load(dump(load(written))))


def test_half_a_character_is_replaced() -> None:
    assert load(dump({"a": "x\ud800"})) == {"a": "x\ufffd"}


def test_clean_block_style() -> None:
    value: Json = {
        "apiVersion": "v1",
        "metadata": {"name": "x", "labels": {"on": "yes", "n": "1"}, "annotations": {}},
        "spec": {
            "args": ["--a=b", "c d"],
            "ports": [{"port": 80, "name": "http"}, {"port": 443}],
            "script": "set -e\necho hi\n",
            "nested": [["a"], []],
            "time": "12:30",
            "note": "a: b",
        },
    }
    assert dump(value) == (
        "apiVersion: v1\n"
        "metadata:\n"
        "  name: x\n"
        "  labels:\n"
        "    'on': 'yes'\n"
        "    'n': '1'\n"
        "  annotations: {}\n"
        "spec:\n"
        "  args:\n"
        "  - '--a=b'\n"
        "  - c d\n"
        "  ports:\n"
        "  - port: 80\n"
        "    name: http\n"
        "  - port: 443\n"
        "  script: |\n"
        "    set -e\n"
        "    echo hi\n"
        "  nested:\n"
        "  - - a\n"
        "  - []\n"
        "  time: 12:30\n"
        "  note: 'a: b'\n"
    )


def test_numbers_that_json_lacks_are_refused() -> None:
    with pytest.raises(ValueError, match="no such number"):
        dump({"a": float("nan")})


TEXT = """\
# first
apiVersion: v1
spec:
  replicas: 3
  containers:
  - name: a
    image: b
  - {name: c,
     image: d}
---
---
spec: {replicas: 5}
"x/y": {on: 1}
"""


@pytest.mark.parametrize(
    ("pointer", "document", "line"),
    [
        ("", 0, 2),
        ("/spec", 0, 3),
        ("/spec/replicas", 0, 4),
        ("/spec/containers", 0, 5),
        ("/spec/containers/0", 0, 6),
        ("/spec/containers/0/image", 0, 7),
        ("/spec/containers/1/image", 0, 9),
        ("/spec/containers/2", 0, None),
        ("/nothing", 0, None),
        ("/spec/replicas", 1, 12),
        ("/x~1y/true", 1, 13),
        ("/spec", 2, None),
    ],
)
def test_position(pointer: str, document: int, line: int | None) -> None:
    assert position(TEXT, pointer, document=document) == line
    assert position(TEXT.replace("\n", "\r\n").encode(), pointer, document=document) == line


@settings(deadline=None)
@given(VALUES)
def test_position_never_fails(value: Json) -> None:
    text = dump({"v": value, "w": {"x": 1}})
    assert position(text, "/v") == 1
    assert position(text, "/w/x") == text.count("\n")


def test_position_in_what_is_no_yaml() -> None:
    assert position("a: [", "/b") is None
    assert position(b"\xff\xfe\xff", "/b") is None


def test_a_diff_stays_readable() -> None:
    """Its `---` stands behind blanks, where it begins no document."""
    assert dump({"runbook": "--- a/x\n+++ b/x\n---\n"}) == "runbook: |\n  --- a/x\n  +++ b/x\n  ---\n"
