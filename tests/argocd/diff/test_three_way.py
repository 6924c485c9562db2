"""The usual comparison, by two or three trees."""

from __future__ import annotations

import json

import pytest

from tests.argocd.diff.applied_changes import apply_changes
from whysync.argocd.diff.changes import ChangeKind, changes_between
from whysync.argocd.diff.diff import diff
from whysync.argocd.diff.options import DiffOptions
from whysync.json_tree import MISSING, Json, Object, copy_object, dig, fields, items
from whysync.kubernetes.merge.errors import DiffError
from whysync.kubernetes.merge.last_applied import LAST_APPLIED, last_applied
from whysync.kubernetes.merge.merge_patch import merge_patch, three_way_merge_patch, trimmed_map
from whysync.kubernetes.merge.structured import DEDUCED, compare
from whysync.kubernetes.schema import type_of


def deployment(**spec: Json) -> Object:
    template: Object = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "app", "image": "web:1", "ports": [{"containerPort": 80}]}]},
    }
    base: Object = {"selector": {"matchLabels": {"app": "web"}}, "template": template}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {**base, **spec},
    }


def thing(spec: Object, **meta: Json) -> Object:
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t", **meta}, "spec": spec}


def with_last_applied(live: Object, applied: Object | str) -> Object:
    meta = dict(fields(live["metadata"]))
    result = applied if isinstance(applied, str) else json.dumps(applied)
    meta["annotations"] = {**fields(meta.get("annotations")), LAST_APPLIED: result}
    return {**live, "metadata": meta}


def test_a_changed_image() -> None:
    live = deployment()
    desired = copy_object(live)
    pod = fields(fields(fields(desired["spec"])["template"])["spec"])
    pod["containers"] = [{"name": "app", "image": "web:2"}]
    (change,) = diff(desired, live).changes
    assert change.pointer == "/spec/template/spec/containers/0/image"
    assert change.path == "spec.template.spec.containers[name=app].image"
    assert (change.desired, change.live, change.kind) == ("web:2", "web:1", ChangeKind.CHANGED)


def test_defaults_of_the_server_are_no_difference() -> None:
    assert not diff(deployment(), deployment(replicas=1, revisionHistoryLimit=10)).modified
    assert not diff(deployment(replicas=1), deployment()).modified
    assert diff(deployment(replicas=2), deployment()).modified


def test_an_ignored_field_shows_its_default_on_both_sides() -> None:
    def without_replicas(obj: Object) -> Object:
        spec = {key: value for key, value in fields(obj["spec"]).items() if key != "replicas"}
        return {**obj, "spec": spec}

    result = diff(deployment(replicas=5), deployment(replicas=2), DiffOptions(normalizer=without_replicas))
    assert not result.modified
    assert result.normalized_live is not None
    assert fields(result.normalized_live["spec"])["replicas"] == 1


def test_a_field_only_live_has_is_nobodys_business() -> None:
    assert not diff(deployment(), deployment(minReadySeconds=5)).modified


def test_a_field_removed_from_git_is_seen_through_what_was_applied_last() -> None:
    live = deployment(minReadySeconds=5)
    assert not diff(deployment(), live).modified
    result = diff(deployment(), with_last_applied(live, live))
    assert result.way == "three-way"
    (change,) = result.changes
    assert (change.pointer, change.desired, change.live) == ("/spec/minReadySeconds", MISSING, 5)
    assert change.kind is ChangeKind.REMOVED


@pytest.mark.parametrize("broken", ["", "{", "[]", "5", "{}", '{"kind": ""}', '{"kind": 5}', "[" * 5000])
def test_an_annotation_that_cannot_be_read_counts_as_absent(broken: str) -> None:
    live = with_last_applied(deployment(minReadySeconds=5), broken)
    assert last_applied(live) is None
    assert diff(deployment(), live).way == "two-way"


def test_a_typo_shows_itself_and_the_noise_it_uncovers() -> None:
    desired, live = deployment(replicass=1), deployment()
    assert [change.path for change in diff(desired, live).changes] == ["spec.replicass"]


def test_claim_templates_count_only_as_far_as_they_were_applied() -> None:
    def stateful_set(claim: Object) -> Object:
        spec: Object = {"serviceName": "db", "selector": {}, "template": {}, "volumeClaimTemplates": [claim]}
        return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"}, "spec": spec}

    claim: Object = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
    stored: Object = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        **claim,
        "spec": {**fields(claim["spec"]), "volumeMode": "Filesystem"},
        "status": {"phase": "Pending"},
    }
    assert not diff(stateful_set(claim), stateful_set(stored)).modified


def test_a_custom_resource_is_compared_by_its_lists_as_a_whole() -> None:
    desired = thing({"items": [{"name": "a"}, {"name": "b"}]})
    defaulted = thing({"items": [{"name": "a", "weight": 1}, {"name": "b", "weight": 1}], "mode": "auto"})
    assert not diff(desired, defaulted).modified
    reordered = thing({"items": [{"name": "b"}, {"name": "a"}]})
    assert diff(desired, reordered).modified


@pytest.mark.parametrize(
    ("desired", "live", "modified"),
    [
        ({"a": None}, {}, False),
        ({"a": None}, {"a": 1}, False),
        ({"a": {}}, {}, True),
        ({"a": []}, {}, True),
        ({"a": {"b": None}}, {"a": {}}, False),
        ({"a": 1}, {"a": 1.0}, False),
        ({"a": "1"}, {"a": 1}, True),
        ({"cpu": "1000m"}, {"cpu": "1"}, True),
    ],
)
def test_empty_and_odd_values_of_custom_resources(desired: Object, live: Object, modified: bool) -> None:
    assert diff(thing(desired), thing(live)).modified is modified


def test_namespace_and_empty_annotations_of_git_do_not_count() -> None:
    assert not diff(thing({"a": 1}, namespace="x", annotations={}), thing({"a": 1}, namespace="y")).modified


def test_server_metadata_left_in_git_stays_a_difference() -> None:
    result = diff(thing({"a": 1}, resourceVersion="1"), thing({"a": 1}, resourceVersion="2"))
    assert [change.pointer for change in result.changes] == ["/metadata/resourceVersion"]


def test_one_side_only() -> None:
    created = diff(thing({}), None)
    assert (created.modified, created.normalized_live, created.predicted_live) == (True, None, thing({}))
    extra = diff(None, thing({}))
    assert (extra.modified, extra.normalized_live, extra.predicted_live) == (False, thing({}), None)
    assert created.changes == extra.changes == ()
    with pytest.raises(DiffError, match="both live and config are null objects"):
        diff(None, None)


def test_an_unknown_map_that_differs_cannot_be_compared() -> None:
    with pytest.raises(
        DiffError, match='unable to find api field in struct DeploymentSpec for the json field "foo"'
    ):
        diff(deployment(foo={"a": 1}), deployment(foo={"a": 2}))


def test_nothing_passed_in_is_changed() -> None:
    desired = deployment(replicas=2, strategy={"type": "Recreate"})
    live = with_last_applied(deployment(), deployment(paused=True))
    before = copy_object(desired), copy_object(live)
    result = diff(desired, live)
    assert result.modified
    assert result.predicted_live != result.normalized_live
    assert (desired, live) == before


def test_a_reordered_keyed_list_is_one_change() -> None:
    kind = type_of("v1", "Pod")
    first: Object = {"spec": {"containers": [{"name": "a"}, {"name": "b"}]}}
    other: Object = {"spec": {"containers": [{"name": "b"}, {"name": "a"}]}}
    (change,) = changes_between(first, other, kind)
    assert change.pointer == "/spec/containers"
    assert apply_changes(first, (change,)) == other


def test_items_added_and_removed_at_the_same_place() -> None:
    kind = type_of("v1", "Pod")
    first: Object = {"spec": {"containers": [{"name": "a"}, {"name": "b"}]}}
    other: Object = {"spec": {"containers": [{"name": "a"}, {"name": "c"}]}}
    changes = changes_between(first, other, kind)
    assert {(change.path, change.kind) for change in changes} == {
        ("spec.containers[name=b]", ChangeKind.REMOVED),
        ("spec.containers[name=c]", ChangeKind.ADDED),
    }
    assert apply_changes(first, changes) == other


def test_keys_with_dots_are_quoted_in_paths() -> None:
    (change,) = diff(thing({}, labels={"a.b/c": "1"}), thing({}, labels={"a.b/c": "2"})).changes
    assert change.pointer == "/metadata/labels/a.b~1c"
    assert change.path == 'metadata.labels["a.b/c"]'


def test_merge_patches() -> None:
    assert merge_patch({"a": {"b": 1, "c": 2}}, {"a": {"b": None, "d": {"e": None}}}) == {
        "a": {"c": 2, "d": {}}
    }
    assert three_way_merge_patch({"a": 1, "b": {"c": 1}}, {"b": {}}, {"a": 1, "b": {"c": 1, "d": 1}}) == {
        "a": None,
        "b": {"c": None},
    }
    assert trimmed_map({"a": [{"b": 1}]}, {"a": [{"b": 2, "c": 3}, {"d": 4}], "e": 5}) == {
        "a": [{"b": 2}, {"d": 4}]
    }


def deep(levels: int) -> Json:
    tree: Json = "leaf"
    for _ in range(levels):
        tree = {"a": tree}
    return tree


def test_nesting_without_end_is_an_answer_not_a_crash() -> None:
    with pytest.raises(DiffError, match="nested too deeply"):
        diff(thing({"x": deep(100_000)}), thing({"x": deep(99_999)}))


@pytest.mark.parametrize("levels", [100, 300, 450, 600, 900])
def test_nesting_is_compared_or_refused(levels: int) -> None:
    for desired, live in ((deep(levels), deep(levels - 1)), (deep(levels), deep(levels))):
        try:
            result = diff(thing({"x": desired}), thing({"x": live}))
            assert bool(result.changes) == result.modified
            assert result.normalized_live is not None
        except DiffError as problem:
            refused = str(problem)
            assert refused == "the object is nested too deeply to be compared"  # either is right


@pytest.mark.parametrize("odd", [None, "text", 5, [], ["a"], {"a": None}])
@pytest.mark.parametrize("field", ["metadata", "spec", "kind", "apiVersion", "data"])
def test_odd_shapes_are_compared_or_refused(odd: Json, field: str) -> None:
    for base in (deployment(), thing({"a": 1})):
        for desired, live in (({**base, field: odd}, base), (base, {**base, field: odd})):
            try:
                result = diff(desired, live)
            except DiffError:
                continue
            assert result.modified in {True, False}
            assert result.changes is not None


def test_keys_that_look_like_numbers_have_one_order() -> None:
    keys = ["1", "01", "9" * 5000, "x"]
    live: Object = {"data": dict.fromkeys(keys, "a")}
    expected: Object = {"data": dict.fromkeys(reversed(keys), "b")}
    result = [change.pointer.rpartition("/")[2] for change in changes_between(live, expected)]
    assert result == ["9" * 5000, "x", "01", "1"]


@pytest.mark.parametrize("applied", [None, 1, True])
@pytest.mark.parametrize(("desired", "live_value"), [(1, True), ([1], [True]), ({"b": [0]}, {"b": [False]})])
def test_true_is_not_one_anywhere(desired: Json, live_value: Json, applied: Json) -> None:
    live = thing({"a": live_value})
    if applied is not None:
        fields(live["metadata"])["annotations"] = {LAST_APPLIED: json.dumps(thing({"a": applied}))}
    result = diff(thing({"a": desired}), live)
    assert result.modified
    assert result.changes
    assert compare({"a": desired}, {"a": live_value}, DEDUCED).modified


def test_whole_numbers_are_equal_however_written() -> None:
    assert not diff(thing({"a": [1, {"b": 2.0}]}), thing({"a": [1.0, {"b": 2}]})).modified


IDENTITY: dict[str, Json] = {
    "a": {"mountPath": "/identity", "name": "a"},
    "b": {"mountPath": "/identity", "name": "b"},
    "o": {"mountPath": "/other", "name": "o"},
}


def mounting(names: str) -> Object:
    container: Object = {"name": "app", "image": "web:1", "volumeMounts": [IDENTITY[name] for name in names]}
    template: Object = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}
    return deployment(template=template)


@pytest.mark.parametrize(
    ("desired", "live", "applied", "predicted"),
    [
        ("ab", "a", "ab", "a"),
        ("ab", "b", "ab", "a"),
        ("ab", "a", None, "a"),
        ("ab", "b", None, "a"),
        ("ab", "a", "a", "a"),
        ("ab", "a", "b", "a"),
        ("ba", "a", "a", "b"),
        ("oab", "oa", "oab", "oa"),
        ("oab", "ob", "oab", "oa"),
        ("aob", "ob", None, "ao"),
        ("aob", "ao", None, "ao"),
        ("aob", "bo", None, "ao"),
    ],
)
def test_of_two_entries_with_the_same_key_the_first_one_wins(
    desired: str, live: str, applied: str | None, predicted: str
) -> None:
    """Recorded answers of gitops-engine: an app is Synced although one of its volume mounts is missing."""
    current = mounting(live)
    if applied is not None:
        current = with_last_applied(current, mounting(applied))
    result = diff(mounting(desired), current)
    assert result.modified == (live != predicted)
    (container,) = items(dig(result.sides.predicted, "spec", "template", "spec", "containers"))
    assert dig(container, "volumeMounts") == [IDENTITY[name] for name in predicted]
