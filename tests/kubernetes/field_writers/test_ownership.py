from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.shared import CONFORMANCE, needs_shared
from whysync.json_tree import Json, Object, fields, items
from whysync.kubernetes.api import pointer as pointers
from whysync.kubernetes.field_writers import (
    ManagedFieldsIndex,
    OwnershipState,
    WriterKind,
    phrase,
    writer_of,
    writers_of,
)


def entry(manager: str, claim: Object, *, time: str | None = None, **more: Json) -> Json:
    return {"manager": manager, "operation": "Update", "time": time, "fieldsV1": claim, **more}


def live(spec: Json, *entries: Json) -> Object:
    return {"kind": "Deployment", "metadata": {"name": "web", "managedFields": [*entries]}, "spec": spec}


def names(body: Object, pointer: str) -> list[str]:
    return [writer.manager for writer in writers_of(body, pointer)]


def test_the_autoscaler_owns_the_replicas() -> None:
    body = live(
        {"replicas": 7, "paused": False},
        entry("argocd-controller", {"f:spec": {"f:paused": {}}}, time="2026-01-01T00:00:00Z"),
        entry(
            "kube-controller-manager",
            {"f:spec": {"f:replicas": {}}},
            time="2026-01-02T00:00:00Z",
            subresource="scale",
        ),
    )
    writer = writer_of(body, "/spec/replicas")
    assert writer is not None
    assert (writer.kind, writer.subresource) == (WriterKind.AUTOSCALER, "scale")
    assert phrase(writer) == "an autoscaler (kube-controller-manager, subresource scale)"


def test_the_most_recent_of_several_owners_comes_first() -> None:
    claim: Object = {"f:spec": {"f:replicas": {}}}
    body = live(
        {"replicas": 7},
        entry("argocd-controller", claim, time="2026-01-01T00:00:00Z"),
        entry("without-time", claim),
        entry("kubectl-edit", claim, time="2026-01-03T00:00:00Z"),
        entry("helm", claim, time="2026-01-02T00:00:00"),  # no zone: read as UTC
    )
    assert names(body, "/spec/replicas") == ["kubectl-edit", "helm", "argocd-controller", "without-time"]


CONTAINERS: Json = [
    {"name": "web", "image": "a"},
    {"name": "proxy", "image": "b", "ports": [{"containerPort": 80}]},
]


def test_items_of_a_list_are_found_by_their_keys() -> None:
    body = live(
        {"containers": CONTAINERS, "finalizers": ["x", "y"], "rows": [["p"], ["q"]]},
        entry(
            "one",
            {
                "f:spec": {
                    "f:containers": {'k:{"name":"proxy"}': {".": {}, "f:image": {}}},
                    "f:rows": {"i:1": {}},
                }
            },
        ),
        entry(
            "two",
            {
                "f:spec": {
                    "f:containers": {'k:{"name":"web"}': {"f:image": {}}},
                    "f:finalizers": {'v:"y"': {}},
                }
            },
        ),
        entry(
            "three",
            {
                "f:spec": {
                    "f:containers": {
                        'k:{"name":"proxy"}': {
                            "f:ports": {'k:{"containerPort":80,"protocol":"TCP"}': {".": {}}}
                        }
                    }
                }
            },
        ),
    )
    assert names(body, "/spec/containers/0/image") == ["two"]
    assert names(body, "/spec/containers/1/image") == ["one"]
    assert names(body, "/spec/containers/1") == ["one", "three"]
    assert names(body, "/spec/containers/1/ports/0") == ["three"]  # the key's default is not in the item
    assert names(body, "/spec/finalizers/1") == ["two"]
    assert names(body, "/spec/finalizers/0") == []
    assert names(body, "/spec/rows/1/0") == ["one"]
    assert names(body, "/spec/rows/0") == []


def test_an_atomic_ancestor_is_owned_whole() -> None:
    body = live({"selector": {"a": "b"}}, entry("one", {"f:spec": {"f:selector": {}}}))
    assert names(body, "/spec/selector/a") == ["one"]


def test_owning_a_map_is_not_owning_its_fields() -> None:
    body = live(
        {"labels": {"a": "1", "b": "2"}}, entry("one", {"f:spec": {"f:labels": {".": {}, "f:a": {}}}})
    )
    result = ManagedFieldsIndex(body).ownership("/spec/labels/b")
    assert result.standing is OwnershipState.NOBODY
    assert result.writers == ()
    assert [writer.manager for writer in result.around] == ["one"]


def test_what_is_not_there_and_what_has_no_record_are_different_answers() -> None:
    body = live({"a": 1}, entry("one", {"f:spec": {"f:a": {}}}))
    assert ManagedFieldsIndex(body).ownership("/spec/b").standing is OwnershipState.ABSENT
    assert ManagedFieldsIndex(live({"a": 1})).ownership("/spec/a").standing is OwnershipState.NO_RECORD
    assert writer_of(live({"a": 1}), "/spec/a") is None


def test_true_is_not_one() -> None:
    body = live({"set": [True, 1]}, entry("one", {"f:spec": {"f:set": {"v:1": {}}}}))
    assert names(body, "/spec/set/0") == []
    assert names(body, "/spec/set/1") == ["one"]


@pytest.mark.parametrize(
    "claim",
    [
        {"f:spec": {"f:list": {"k:{": {}, "v:": {}, "i:": {}, "k:[]": {}}}},
        {"f:spec": {"f:list": {"k:" + '{"a":' * 5000: {}}}},
        {"f:spec": "text"},
        {"f:spec": None},
        {},
    ],
)
def test_a_broken_record_claims_nothing_it_cannot_name(claim: Object) -> None:
    body = live({"list": [{"a": 1}]}, entry("one", claim))
    ManagedFieldsIndex(body).ownership("/spec/list/0/a")
    ManagedFieldsIndex(body).ownership("/spec/list/" + "9" * 5000)


scalars = st.none() | st.booleans() | st.integers() | st.text()
trees: st.SearchStrategy[Json] = st.recursive(
    scalars,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=3), below, max_size=3),
)


@given(tree=trees, claim=st.dictionaries(st.text(max_size=3), trees), pointer=st.lists(st.text(max_size=3)))
def test_any_record_gets_an_answer(tree: Json, claim: Object, pointer: list[str]) -> None:
    ManagedFieldsIndex(live(tree, entry("one", claim))).ownership(pointers.join(pointer))


def claimed_leaves(body: Json, claim: Object, path: tuple[str | int, ...] = ()) -> list[str]:
    """Where the claims of one entry lead, found the other way round: from the claim to the object."""
    leaves: list[str] = []
    for name, below in claim.items():
        if name == ".":
            leaves.append(pointers.join(path))
        elif name.startswith("f:"):
            leaves += claimed_leaves(fields(body).get(name[2:]), fields(below), (*path, name[2:]))
        elif name.startswith("k:"):
            expected = json.loads(name[2:])
            for index, item in enumerate(items(body)):
                if all(fields(item).get(key) == value for key, value in expected.items()):
                    leaves += claimed_leaves(item, fields(below), (*path, index))
        else:
            index = items(body).index(json.loads(name[2:]))
            leaves += claimed_leaves(None, fields(below), (*path, index))
    return leaves if claim else [pointers.join(path)]


def recorded_objects() -> list[Object]:
    result: list[Object] = []
    for file in ("apiserver_ssa.jsonl", "apiserver_patch.jsonl"):
        for line in (CONFORMANCE / file).read_text().splitlines():
            for step in json.loads(line)["steps"]:
                body = fields(fields(step.get("response")).get("object"))
                if items(fields(body.get("metadata")).get("managedFields")):
                    result.append(body)
    return result


@needs_shared
def test_every_recorded_claim_is_found_again() -> None:
    claims = 0
    for body in recorded_objects():
        ledger = ManagedFieldsIndex(body)
        for raw in items(fields(body["metadata"])["managedFields"]):
            manager = fields(raw)["manager"]
            for pointer in claimed_leaves(body, fields(fields(raw).get("fieldsV1"))):
                claims += 1
                assert manager in [writer.manager for writer in ledger.writers(pointer)], pointer
    assert claims > 5000
