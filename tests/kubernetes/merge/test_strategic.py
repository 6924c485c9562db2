"""Strategic merge patches."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings

from tests.argocd.diff.trees import pairs_of_built_ins
from tests.shared import CONFORMANCE, needs_shared
from whysync.argocd.diff.remarshal import remarshal, scheme_type
from whysync.json_tree import Json, Object, copy_object, dig, fields, items, text
from whysync.kubernetes.merge.last_applied import LAST_APPLIED, last_applied
from whysync.kubernetes.merge.strategic import BadPatch, apply_patch, three_way_patch
from whysync.kubernetes.schema import Type, type_named, type_of
from whysync.kubernetes.schema.defaults import with_defaults

POD = type_named("core/v1.PodSpec")
META = type_named("meta/v1.ObjectMeta")


def containers(*entries: Object) -> Object:
    return {"containers": list(entries)}


def two_way_patch(before: Object, after: Object, kind: Type) -> Object:
    return three_way_patch(before, after, before, kind)


def test_keyed_lists_merge_by_key() -> None:
    before = containers({"name": "a", "image": "1"}, {"name": "b", "image": "1"})
    after = containers({"name": "b", "image": "2"}, {"name": "a", "image": "1"})
    patch = two_way_patch(before, after, POD)
    assert patch == {
        "containers": [{"name": "b", "image": "2"}],
        "$setElementOrder/containers": [{"name": "b"}, {"name": "a"}],
    }
    assert apply_patch(before, patch, POD) == after


def test_removed_items_are_deleted_by_key() -> None:
    before, after = containers({"name": "a"}, {"name": "b"}), containers({"name": "a"})
    patch = two_way_patch(before, after, POD)
    assert patch["containers"] == [{"name": "b", "$patch": "delete"}]
    assert apply_patch(before, patch, POD) == after


def test_lists_of_scalars_that_merge() -> None:
    before: Object = {"finalizers": ["a", "b"]}
    after: Object = {"finalizers": ["c", "a"]}
    patch = two_way_patch(before, after, META)
    assert patch == {
        "finalizers": ["c"],
        "$deleteFromPrimitiveList/finalizers": ["b"],
        "$setElementOrder/finalizers": ["c", "a"],
    }
    assert apply_patch(before, patch, META) == after


def test_other_lists_are_replaced() -> None:
    kind = type_named("core/v1.Container")
    assert two_way_patch({"args": ["a", "b"]}, {"args": ["b"]}, kind) == {"args": ["b"]}


def test_a_union_keeps_one_of_its_fields() -> None:
    before: Object = {"volumes": [{"name": "v", "emptyDir": {}}]}
    after: Object = {"volumes": [{"name": "v", "configMap": {"name": "c"}}]}
    patch = three_way_patch(before, after, before, POD)
    assert dig(patch, "volumes", 0, "$retainKeys") == ["configMap", "name"]
    assert apply_patch(before, patch, POD) == after


def test_three_ways_keep_what_others_added() -> None:
    last = containers({"name": "a", "image": "1", "args": ["x"]})
    desired = containers({"name": "a", "image": "2"})
    live = containers({"name": "a", "image": "1", "args": ["x"], "tty": True}, {"name": "injected"})
    patch = three_way_patch(last, desired, live, POD)
    assert apply_patch(live, patch, POD) == containers(
        {"name": "a", "image": "2", "tty": True}, {"name": "injected"}
    )


def test_a_port_that_speaks_two_protocols_is_not_told_apart() -> None:
    """The merge key is the port alone: kubectl and Argo CD stumble over this, and so must we."""
    kind = type_named("core/v1.ServiceSpec")
    tcp: Object = {"port": 53, "protocol": "TCP", "name": "t"}
    udp: Object = {"port": 53, "protocol": "UDP", "name": "u"}
    live: Object = {"ports": [tcp, udp]}
    desired: Object = {"ports": [tcp, {**udp, "name": "v"}]}
    patched = apply_patch(live, three_way_patch(desired, desired, live, kind), kind)
    assert patched != desired


def test_orders_in_a_patch() -> None:
    before = containers({"name": "a", "image": "1"}, {"name": "b"})
    assert apply_patch(before, {"containers": [{"$patch": "replace"}, {"name": "c"}]}, POD) == containers(
        {"name": "c"}
    )
    assert apply_patch(
        {"securityContext": {"runAsUser": 1}}, {"securityContext": {"$patch": "delete"}}, POD
    ) == {"securityContext": {}}
    replaced: Object = {"securityContext": {"$patch": "replace", "fsGroup": 2}}
    assert apply_patch({"securityContext": {"runAsUser": 1}}, replaced, POD) == {
        "securityContext": {"fsGroup": 2}
    }


def test_nothing_passed_in_is_changed() -> None:
    before = containers({"name": "a", "env": [{"name": "X", "value": "1"}]})
    patch: Object = {"containers": [{"name": "a", "env": [{"name": "X", "value": None}]}], "nodeName": None}
    copies = copy_object(before), copy_object(patch)
    apply_patch(before, patch, POD)
    assert (before, patch) == copies


@pytest.mark.parametrize(
    ("patch", "problem"),
    [
        ({"containers": [{"image": "n"}]}, "map: map[image:n] does not contain declared merge key: name"),
        ({"securityContext": {"$patch": "bogus"}}, "unknown patch type: bogus in map: map[$patch:bogus]"),
        ({"containers": ["a"]}, "list element types are not identical"),
        ({"containers": [["a"]]}, "lists of lists are not supported"),
        ({"foo": {"a": 2}}, 'unable to find api field in struct PodSpec for the json field "foo"'),
        ({"$setElementOrder/containers": 5}, "invalid patch format of setElementOrder list"),
        ({"$setElementOrder": []}, "fail to find unknown prefix"),
    ],
)
def test_patches_that_cannot_be_applied(patch: Object, problem: str) -> None:
    before: Object = {**containers({"name": "a"}), "securityContext": {"fsGroup": 1}, "foo": {"a": 1}}
    with pytest.raises(BadPatch) as caught:
        apply_patch(before, patch, POD)
    assert problem in str(caught.value)


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
@given(pairs_of_built_ins())
def test_a_two_way_patch_leads_to_its_target(trees: tuple[Object, Object, Object]) -> None:
    before, after, _ = map(remarshal, trees)
    kind = scheme_type(before)
    assert kind is not None
    assert apply_patch(before, two_way_patch(before, after, kind), kind) == after


def records() -> Iterator[Object]:
    for line in (CONFORMANCE / "apiserver_patch.jsonl").read_text().splitlines():
        yield json.loads(line)


def objects_before(record: Object) -> Iterator[tuple[Object, Object, Object]]:
    """Steps with the object as it was before: request, response, object."""
    live: Object | None = None
    for step in items(record.get("steps")):
        request, response = fields(fields(step).get("request")), fields(fields(step).get("response"))
        if live is not None:
            yield request, response, live
        live = fields(response.get("object")) or live


def kind_of(obj: Object) -> Type | None:
    return type_of(text(obj.get("apiVersion")), text(obj.get("kind")), in_scheme=True)


@needs_shared
def test_patches_equal_those_of_kubectl() -> None:
    """Patches equal those of kubectl's client-side apply, except for the text of the annotation."""
    checked = 0
    for record in records():
        for request, response, live in objects_before(record):
            sent = dig(response, "sent", "body")
            body = fields(request.get("body"))
            kind = kind_of(body)
            if request.get("verb") != "apply" or not isinstance(sent, dict) or kind is None:
                continue
            if dig(response, "sent", "method") != "PATCH":
                continue
            meta: Object = {"namespace": "ns1", "annotations": {}, **fields(body.get("metadata"))}
            annotations: Object = {**fields(meta["annotations"]), LAST_APPLIED: "{}"}
            desired: Object = {**body, "metadata": {**meta, "annotations": annotations}}
            patch = three_way_patch(last_applied(live) or {}, desired, live, kind)
            assert without_annotation(patch) == without_annotation(sent), record["id"]
            checked += 1
    assert checked > 20


def without_annotation(patch: Object) -> Json:
    tree = copy_object(patch)
    annotations = fields(fields(tree.get("metadata")).get("annotations"))
    annotations.pop(LAST_APPLIED, None)
    if not annotations:
        fields(tree.get("metadata")).pop("annotations", None)
    if not tree.get("metadata"):
        tree.pop("metadata", None)
    return tree


@needs_shared
def test_patches_are_applied_as_by_an_api_server() -> None:
    checked = 0
    for record in records():
        for request, response, live in objects_before(record):
            kind = kind_of(live)
            if request.get("verb") != "strategic-patch" or response.get("code") != 200 or kind is None:
                continue
            if record["id"] in {
                "apiserver_patch/strategic-secret-stringdata",
                "apiserver_patch/strategic-kind-change",
            }:
                continue  # the server does more than patching
            patched = apply_patch(live, fields(request.get("body")), kind)
            stored = with_defaults(remarshal(patched), kind)
            spec = without_empty(stored.get("spec"))
            fields(spec).pop("nope", None)
            assert spec == without_empty(fields(response.get("object")).get("spec")), record["id"]
            checked += 1
    assert checked > 30


def without_empty(value: Json) -> Json:
    """Go writes some empty structs that nobody set."""
    if isinstance(value, dict):
        return {key: without_empty(item) for key, item in value.items() if item != {}}
    return [without_empty(item) for item in value] if isinstance(value, list) else value
