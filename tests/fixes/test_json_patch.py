"""Edits as RFC 6902 operations: carried out by the book, they give the edited object."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from tests.fixes.test_files import the_case
from tests.fixes.written.test_properties import edits
from tests.trees import objects
from whysync.diagnosis.fix import Edit, Fix, Set
from whysync.facts.masking.masks import Masks
from whysync.fixes.edit import edited
from whysync.fixes.formats import as_commands, as_patch
from whysync.fixes.patches import json_patch
from whysync.json_tree import Json, Object, copy, copy_object, dig, fields, same
from whysync.kubernetes.api.pointer import split
from whysync.kubernetes.api.yaml import load


def _below(node: Json, token: str) -> Json:
    return node[int(token)] if isinstance(node, list) else fields(node)[token]


def patched(body: Object, operations: list[Json]) -> Object:
    """Apply the used subset of RFC 6902; a path that does not exist is an error."""
    result = copy_object(body)
    for raw in operations:
        operation = fields(raw)
        *above, last = split(str(operation["path"]))
        node: Json = result
        for token in above:
            node = _below(node, token)
        value = copy(operation.get("value"))
        match operation["op"], node:
            case "remove", dict():
                del node[last]
            case "remove", list():
                del node[int(last)]
            case "replace", dict():
                assert last in node
                node[last] = value
            case "replace", list():
                node[int(last)] = value
            case "add", dict():
                node[last] = value
            case "add", list() if last == "-":
                node.append(value)
            case "add", list():
                assert int(last) <= len(node)
                node.insert(int(last), value)
            case _:
                raise AssertionError(operation)
    return result


@given(objects(), st.lists(edits(), max_size=3))
@example({"a": []}, [Set(pointer="/a/1", value=None)])
def test_the_operations_do_what_the_edits_do(body: Object, edit_list: list[Edit]) -> None:
    assert same(patched(body, json_patch(body, edit_list)), edited(body, edit_list))


def test_true_for_one_is_a_change() -> None:
    assert json_patch({"a": 1}, [Set(pointer="/a", value=True)]) == [
        {"op": "replace", "path": "/a", "value": True}
    ]


def test_a_list_with_masked_values_is_not_sent_whole() -> None:
    """A merge patch would write the mask over the secret."""
    mark = Masks().mark(b"secret")
    sources: list[Json] = [
        {"repoURL": "u", "path": "old", "helm": {"parameters": [{"name": "password", "value": mark}]}}
    ]
    case = the_case()
    fields(case.application.body["spec"])["sources"] = sources
    fix = Fix.application(case.application.ref, Set(pointer="/spec/sources/0/path", value="new"), title="t")
    patch = as_patch(fix, case)
    assert mark not in patch
    assert "--type json" in patch.splitlines()[0]
    assert load(patch) == [{"op": "replace", "path": "/spec/sources/0/path", "value": "new"}]
    assert mark not in as_commands(fix, case)[0]
    assert dig(case.application.body, "spec", "sources", 0, "path") == "old"
