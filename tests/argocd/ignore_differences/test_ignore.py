from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conformance.ignore import same_rules
from whysync.argocd.api.application import IgnoreDifference
from whysync.argocd.ignore_differences import (
    BadRule,
    Mismatch,
    MistakeKind,
    Normalizer,
    application_rules,
    atom_for,
    explain_miss,
    trusted_changes,
    with_known_types,
    without_trusted_changes,
)
from whysync.argocd.settings import IgnoreRule, KnownTypeField, ResourceOverride
from whysync.argocd.sync.sync_app_state import normalize_target
from whysync.json_tree import MISSING, Json, Object, copy_object, dig
from whysync.kubernetes.api.ref import ref_of
from whysync.kubernetes.merge.structured import DEDUCED

DEPLOYMENT: Object = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop", "annotations": {"example.com/owner": "a"}},
    "spec": {
        "replicas": 3,
        "template": {
            "spec": {"containers": [{"name": "web", "image": "x"}, {"name": "proxy", "image": "y"}]}
        },
    },
}


def rule(**parts: str | tuple[str, ...]) -> IgnoreDifference:
    return IgnoreDifference(**{"group": "apps", "kind": "Deployment", **parts})  # pyright: ignore[reportArgumentType] values are named per test


def system(key: str, **parts: tuple[str, ...]) -> dict[str, ResourceOverride]:
    return {key: ResourceOverride(ignore_differences=IgnoreRule(**parts))}


def test_a_rule_removes_fields_and_reports_them() -> None:
    before = copy_object(DEPLOYMENT)
    normalizer = Normalizer.build(
        [
            rule(json_pointers=("/spec/replicas", "/spec/paused")),
            rule(kind="StatefulSet", json_pointers=("/spec",)),
            rule(
                jq_path_expressions=(
                    '.spec.template.spec.containers[] | select(.name == "proxy")',
                    ".status[]",
                )
            ),
        ]
    )
    normalized, applied = normalizer.apply(DEPLOYMENT)
    assert dig(normalized, "spec", "replicas") is MISSING
    assert dig(normalized, "spec", "template", "spec", "containers") == [{"name": "web", "image": "x"}]
    assert [item.mismatch for item in applied] == [None, Mismatch.KIND, None]
    assert [item.removed for item in applied] == [True, False, True]
    assert [removal.removed for removal in applied[0].removals] == [True, False]
    assert applied[2].removals[1].problem == "JQ patch returned error: cannot iterate over: null"
    assert normalizer.normalize(DEPLOYMENT) == normalized
    assert before == DEPLOYMENT


def test_rules_of_settings_match_by_glob_and_add_up() -> None:
    overrides = system("*/*", json_pointers=("/status",)) | system(
        "{apps,batch}/D*", json_pointers=("/spec",)
    )
    normalized = Normalizer.build([rule(json_pointers=("/metadata",))], overrides).normalize(
        {**DEPLOYMENT, "status": {}}
    )
    assert normalized == {"apiVersion": "apps/v1", "kind": "Deployment"}


def test_without_its_kind_an_object_stays_as_it_was() -> None:
    assert Normalizer.build([rule(json_pointers=("/spec", "/kind"))]).normalize(DEPLOYMENT) == DEPLOYMENT


def test_an_expression_that_does_not_compile_names_its_rule() -> None:
    with pytest.raises(BadRule) as problem:
        Normalizer.build([rule(), rule(jq_path_expressions=(".spec[",))])
    assert problem.value.rule.origin == "spec.ignoreDifferences[1]"
    assert problem.value.expression == ".spec["


def test_no_rules_and_an_empty_list_are_the_same() -> None:
    assert same_rules(None, [])
    assert not same_rules([rule()], None)
    assert not same_rules([rule()], [rule(name="x")])


LIVE: Object = {
    **DEPLOYMENT,
    "metadata": {
        "name": "web",
        "namespace": "shop",
        "managedFields": [
            {
                "manager": "scaler",
                "operation": "Update",
                "fieldsV1": {
                    "f:spec": {
                        "f:replicas": {},
                        "f:template": {
                            "f:spec": {"f:containers": {'k:{"name":"proxy"}': {".": {}, "f:image": {}}}}
                        },
                    }
                },
            }
        ],
    },
}


def desired(**spec: Json) -> Object:
    return {**DEPLOYMENT, "spec": spec}


def test_what_a_trusted_manager_changed_is_taken_out_of_both_sides() -> None:
    git = desired(replicas=1, template={"spec": {"containers": [{"name": "proxy", "image": "z"}]}})
    live, target = without_trusted_changes(LIVE, git, ("scaler",), atom_for(LIVE))
    assert dig(live, "spec", "replicas") is MISSING
    assert dig(target, "spec", "replicas") is MISSING
    assert dig(target, "spec", "template", "spec", "containers") == [{"name": "proxy"}]
    containers = dig(live, "spec", "template", "spec", "containers")
    assert containers == [{"name": "web", "image": "x"}, {"name": "proxy"}]


@pytest.mark.parametrize(
    ("git", "managers"),
    [
        (desired(replicas=1), ("another",)),  # not the owner
        (desired(paused=True), ("scaler",)),  # only one side has it
        (desired(replicas=1, nonsense=True), ("scaler",)),  # does not fit the schema: no comparison at all
    ],
)
def test_otherwise_nothing_is_taken_out(git: Object, managers: tuple[str, ...]) -> None:
    assert not trusted_changes(LIVE, git, managers, atom_for(LIVE))
    assert without_trusted_changes(LIVE, git, managers, atom_for(LIVE)) == (LIVE, git)


def test_without_a_schema_lists_are_whole() -> None:
    git = desired(replicas=1, template={"spec": {"containers": [{"name": "proxy", "image": "z"}]}})
    result = trusted_changes(LIVE, git, ("scaler",), DEDUCED)
    assert list(result.paths()) == [("f:spec", "f:replicas")]


def test_managers_of_settings_need_the_exact_key() -> None:
    service: Object = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}}
    managers = ("scaler",)
    for key, obj, trusted in (
        ("apps/Deployment", DEPLOYMENT, managers),
        ("apps/*", DEPLOYMENT, ()),
        ("*/*", service, managers),
        ("Service", service, ()),  # looked up as `/Service`
    ):
        normalizer = Normalizer.build([], system(key, managed_fields_managers=managers))
        assert normalizer.trusted_managers(ref_of(obj)) == trusted, key


def test_a_known_type_is_written_as_go_writes_it() -> None:
    known = {
        ("argoproj.io", "Rollout"): (KnownTypeField(field="spec.template.spec", type="core/v1/PodSpec"),)
    }
    rollout: Object = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Rollout",
        "spec": {
            "template": {
                "spec": {
                    "containers": [
                        {"name": "a", "tty": False, "unknown": 1, "resources": {"limits": {"cpu": "1000m"}}}
                    ]
                }
            }
        },
    }
    normalized = with_known_types(rollout, known)
    assert dig(normalized, "spec", "template", "spec") == {
        "containers": [{"name": "a", "resources": {"limits": {"cpu": "1"}}}]
    }
    assert dig(rollout, "spec", "template", "spec", "containers", 0, "tty") is False


def test_a_value_that_is_not_of_its_type_stays() -> None:
    known = {("x.io", "Y"): (KnownTypeField(field="spec.size", type="core/Quantity"),)}
    for before, after in (("1024Mi", "1Gi"), ("much", "much"), (True, True)):
        obj: Object = {"apiVersion": "x.io/v1", "kind": "Y", "spec": {"size": before}}
        assert dig(with_known_types(obj, known), "spec", "size") == after


def test_depth_is_no_reason_to_fail() -> None:
    deep: Object = {}
    for _ in range(20_000):
        deep = {"a": deep}
    known = {("x.io", "Y"): (KnownTypeField(field="spec", type="core/v1/PodSpec"),)}
    obj: Object = {"apiVersion": "x.io/v1", "kind": "Y", "spec": deep}
    assert with_known_types(obj, known) is obj
    ignored = IgnoreDifference(
        group="x.io", kind="Y", json_pointers=("/spec/a/a",), jq_path_expressions=(".spec | first(.b)",)
    )
    normalized, applied = Normalizer.build([ignored]).apply(obj)
    assert normalized["spec"] == {"a": {}}
    assert applied[0].removed


def test_respected_fields_keep_their_live_value() -> None:
    names: Object = {"apiVersion": "x.io/v1", "kind": "Y"}
    target: Object = {**names, "spec": {"a": 1, "b": 1, "c": 1}}
    live: Object = {**names, "spec": {"a": 2, "b": 2, "d": 2}, "status": {"x": 1}}
    ignored = IgnoreDifference(group="x.io", kind="Y", json_pointers=("/spec/a", "/spec/c"))
    normalizer = Normalizer.build([ignored])
    applied = normalize_target(
        target,
        live,
        normalized_target=normalizer.normalize(target),
        normalized_live=normalizer.normalize(live),
    )
    # `c` is ignored and live lacks it: then it is not applied at all
    assert applied == {**names, "spec": {"a": 2, "b": 1}}


REPLICAS = "/spec/replicas"
OWNER = "/metadata/annotations/example.com~1owner"


@pytest.mark.parametrize(
    ("parts", "differing", "kind", "expected", "suggestion"),
    [
        ({}, REPLICAS, MistakeKind.NAMES_NO_FIELD, "names no field at all", ""),
        ({"group": "", "json_pointers": (REPLICAS,)}, REPLICAS, MistakeKind.GROUP, "core group only", "apps"),
        (
            {"group": "apps/v1", "json_pointers": (REPLICAS,)},
            REPLICAS,
            MistakeKind.GROUP,
            "the version",
            "apps",
        ),
        (
            {"kind": "deployments", "json_pointers": (REPLICAS,)},
            REPLICAS,
            MistakeKind.KIND,
            "is not",
            "Deployment",
        ),
        ({"name": "web-*", "json_pointers": (REPLICAS,)}, REPLICAS, MistakeKind.NAME, "no glob", ""),
        (
            {"namespace": "other", "json_pointers": (REPLICAS,)},
            REPLICAS,
            MistakeKind.NAMESPACE,
            "is not `shop`",
            "",
        ),
        ({"json_pointers": ("spec/replicas",)}, REPLICAS, MistakeKind.POINTER, "starts with `/`", REPLICAS),
        ({"json_pointers": (".spec.replicas",)}, REPLICAS, MistakeKind.POINTER, "jq expression", REPLICAS),
        (
            {"json_pointers": ("/spec/template/spec/containers[0]/image",)},
            "/spec/template/spec/containers/0/image",
            MistakeKind.POINTER,
            "no brackets",
            "/spec/template/spec/containers/0/image",
        ),
        (
            {"json_pointers": ("/spec/template/spec/containers/*/image",)},
            "/spec/template/spec/containers/0/image",
            MistakeKind.POINTER,
            "no wildcards",
            "",
        ),
        (
            {"json_pointers": ("/spec/template/spec/containers/1/image",)},
            "/spec/template/spec/containers/0/image",
            MistakeKind.POINTER,
            "another position",
            "",
        ),
        (
            {"json_pointers": ("/metadata/annotations/example.com/owner",)},
            OWNER,
            MistakeKind.POINTER,
            "`~1`",
            OWNER,
        ),
        ({"json_pointers": ("/Spec/Replicas",)}, REPLICAS, MistakeKind.POINTER, "case", REPLICAS),
        ({"json_pointers": ("/spec/paused",)}, REPLICAS, MistakeKind.ELSEWHERE, "nothing is at", ""),
        (
            {"jq_path_expressions": (".spec[",)},
            REPLICAS,
            MistakeKind.EXPRESSION,
            "jq error: syntax error",
            "",
        ),
        (
            {"jq_path_expressions": (".status[].x",)},
            REPLICAS,
            MistakeKind.EXPRESSION,
            "cannot iterate over: null",
            ".status[]?.x",
        ),
        ({"jq_path_expressions": (".spec.template",)}, REPLICAS, MistakeKind.ELSEWHERE, "another field", ""),
        ({"managed_fields_managers": ("nobody",)}, REPLICAS, MistakeKind.MANAGER, "owned by `nobody`", ""),
    ],
)
def test_why_a_rule_misses(
    parts: dict[str, str | tuple[str, ...]], differing: str, kind: MistakeKind, expected: str, suggestion: str
) -> None:
    (ignore_rule,) = application_rules([rule(**parts)])
    miss = explain_miss(ignore_rule, DEPLOYMENT, [differing])
    assert miss is not None
    assert (miss.kind, miss.suggestion) == (kind, suggestion)
    assert expected in miss.text
    assert miss.near or kind in (MistakeKind.NAMESPACE, MistakeKind.NAME)


@pytest.mark.parametrize(
    "parts",
    [
        {"json_pointers": ("/nothing", REPLICAS)},
        {"json_pointers": ("/spec",)},
        {"jq_path_expressions": (".spec.replicas",)},
        {"group": "*", "kind": "{Deployment,StatefulSet}", "json_pointers": (REPLICAS,)},
    ],
)
def test_a_rule_that_works_is_no_miss(parts: dict[str, str | tuple[str, ...]]) -> None:
    (ignore_rule,) = application_rules([rule(**parts)])
    assert explain_miss(ignore_rule, DEPLOYMENT, [REPLICAS]) is None


def test_core_kinds_have_an_empty_group() -> None:
    (ignore_rule,) = application_rules(
        [rule(group="core", kind="Service", json_pointers=("/spec/clusterIP",))]
    )
    miss = explain_miss(ignore_rule, {"apiVersion": "v1", "kind": "Service"}, ["/spec/clusterIP"])
    assert miss is not None
    assert miss.text == "group `core` should be empty: this kind is of the core group"


trees: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=2),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from("abc"), below, max_size=3),
    max_leaves=8,
)
parts = st.sampled_from(["a", "b", "c", "0", "1", "-1", "~1", "", "[0]", "*"])


@given(tree=trees, pointer=st.lists(parts, max_size=4).map("/".join), more=st.text(max_size=4))
def test_normalising_twice_is_normalising_once_and_anything_gets_an_answer(
    tree: Json, pointer: str, more: str
) -> None:
    obj: Object = {"apiVersion": "x.io/v1", "kind": "Y", "spec": tree}
    full_pointer = f"/spec/{pointer}"
    normalizer = Normalizer.build(
        [IgnoreDifference(group="x.io", kind="Y", json_pointers=(full_pointer, more))]
    )
    once = normalizer.normalize(obj)
    if not any(digit in pointer for digit in ("0", "1")):  # positions shift once an item is gone
        assert normalizer.normalize(once) == once
    explain_miss(normalizer.rules[0], obj, ["/spec/a", "/spec/b/0"])
