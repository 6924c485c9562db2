"""Whatever the style: the text after an edit reads as the edited object, and its comments are still there."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fixes.written.pens import written
from tests.trees import objects, trees
from whysync.diagnosis.fix import Add, Edit, Remove, Set
from whysync.fixes.edit import edited
from whysync.fixes.yaml_edit import rewritten
from whysync.json_tree import Json, Object, same
from whysync.kubernetes.api import pointer
from whysync.kubernetes.api.yaml import load

PARTS = st.lists(st.sampled_from(["a", "b", "spec", "name", "x/y", "0", "1", "new"]), min_size=1, max_size=4)
SLOW = settings(suppress_health_check=[HealthCheck.too_slow])
LINES = st.sampled_from(
    ["one", "it's", "a: b", "# no comment", "", "two\nlines\n", "\n", "no\nend", " x", "é\u2028"]
)


@st.composite
def edits(draw: st.DrawFn) -> Edit:
    at = pointer.join(draw(PARTS))
    match draw(st.sampled_from(["set", "set text", "remove", "add"])):
        case "set":
            return Set(pointer=at, value=draw(trees()))
        case "set text":
            return Set(pointer=at, value=draw(LINES))
        case "remove":
            return Remove(pointer=at)
        case _:
            return Add(pointer=at, value=draw(trees()))


@SLOW
@given(st.data())
def test_the_edited_text_reads_as_the_edited_object(data: st.DataObject) -> None:
    body = data.draw(objects().filter(bool))
    text, _ = data.draw(written(body))
    assert same(load(text), body)
    after = edited(body, data.draw(st.lists(edits(), min_size=1, max_size=3)))
    result = rewritten(text, 0, after)
    assert same(load(result), after)
    assert rewritten(result, 0, after) == result, "a second rewrite changes nothing"


@SLOW
@given(st.data())
def test_any_object_can_become_any_other(data: st.DataObject) -> None:
    before, after = data.draw(objects().filter(bool)), data.draw(objects().filter(bool))
    text, _ = data.draw(written(before))
    assert same(load(rewritten(text, 0, after)), after)


@SLOW
@given(st.data())
def test_what_is_added_costs_no_comment(data: st.DataObject) -> None:
    body = data.draw(objects().filter(bool))
    text, comments = data.draw(written(body))
    after: Object = {**body, "fresh": data.draw(trees())}
    result = rewritten(text, 0, after)
    assert [comment for comment in comments if comment not in result] == []


@SLOW
@given(st.data())
def test_a_scalar_in_the_place_of_a_scalar_changes_nothing_else(data: st.DataObject) -> None:
    body = data.draw(objects().filter(bool))
    text, comments = data.draw(written(body))
    leaves = sorted(at for at, value in _leaves(body, "") if not isinstance(value, dict | list))
    if not leaves:
        return
    at = data.draw(st.sampled_from(leaves))
    new = data.draw(st.one_of(st.integers(), st.booleans(), st.none(), LINES))
    result = rewritten(text, 0, edited(body, [Set(pointer=at, value=new)]))
    assert [comment for comment in comments if comment not in result] == []
    lines = {line for line in result.splitlines() if line in text.splitlines()}
    changed = [line for line in text.splitlines() if line not in lines]
    assert len(changed) <= 1, "only the line of that field changes"


@SLOW
@given(st.data())
def test_what_is_removed_takes_only_its_own_comments(data: st.DataObject) -> None:
    body = data.draw(objects().filter(lambda body: len(body) > 1))
    text, comments = data.draw(written(body))
    key = data.draw(st.sampled_from(sorted(body)))
    result = rewritten(text, 0, edited(body, [Remove(pointer=pointer.join([key]))]))
    lines = text.split("\n")
    others = [n for other in body if other != key and (n := _line_of(lines, other)) is not None]
    for comment in comments:
        at = next(n for n, line in enumerate(lines) if comment in line)
        if at in others:  # on the line of a key that stays
            assert comment in result


@SLOW
@given(st.data())
def test_other_documents_stay_as_they_are(data: st.DataObject) -> None:
    bodies = [data.draw(objects().filter(bool)) for _ in range(3)]
    texts = [data.draw(written(body))[0] for body in bodies]
    if any(text.startswith(("{", "[")) or "\r" in text for text in texts):
        return
    stream = "\n---\n".join(text.rstrip("\n") for text in texts) + "\n"
    index = data.draw(st.integers(0, 2))
    result = rewritten(stream, index, edited(bodies[index], [data.draw(edits())]))
    for number, text in enumerate(texts):
        if number != index:
            assert text.rstrip("\n") in result


def _leaves(value: Json, at: str) -> list[tuple[str, Json]]:
    if isinstance(value, dict) and value:
        return [leaf for key, item in value.items() for leaf in _leaves(item, pointer.child(at, key))]
    if isinstance(value, list) and value:
        return [leaf for n, item in enumerate(value) for leaf in _leaves(item, pointer.child(at, n))]
    return [(at, value)]


def _line_of(lines: list[str], key: str) -> int | None:
    return next((n for n, line in enumerate(lines) if line.startswith((f"{key}:", f"'{key}':"))), None)
