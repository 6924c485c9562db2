"""A fix as text that can be applied: merge patches, diffs that `patch` takes, commands, policy, objects."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.situations import application, case_of, config_map, row
from tests.trees import VALUES, objects
from whysync.diagnosis.case import Case
from whysync.diagnosis.fix import Add, Fix, FixKind, Set
from whysync.fixes.case_after_fix import applied
from whysync.fixes.patches import merge_patch, object_of, patch_text
from whysync.json_tree import Json, Object, copy_object
from whysync.kubernetes.api.ref import Ref
from whysync.kubernetes.api.yaml import load

SETTINGS = Ref(version="v1", kind="ConfigMap", namespace="shop", name="settings")


def merged(target: Json, patch: Json) -> Json:
    """RFC 7386, word by word."""
    if not isinstance(patch, dict):
        return patch
    result: Object = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def strictly_equal(left: Json, right: Json) -> bool:
    """Equal as JSON: in Python `True == 1`, in a cluster not; `1` and `1.0` are equal in both."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(strictly_equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(strictly_equal, left, right))
    return left == right and isinstance(left, bool) == isinstance(right, bool)


@given(objects(VALUES), objects(VALUES))
def test_a_merge_patch_makes_the_one_the_other(before: Object, after: Object) -> None:
    """Without nulls: a merge patch has no way to write one."""
    assert strictly_equal(merged(before, merge_patch(before, after)), after)


@given(objects(VALUES))
def test_nothing_to_change_is_an_empty_patch(body: Object) -> None:
    assert merge_patch(body, copy_object(body)) == {}


def test_true_instead_of_one_is_a_change() -> None:
    assert merge_patch({"a": 1}, {"a": True}) == {"a": True}


def out_of_sync() -> Case:
    return case_of(
        application(sync="OutOfSync", status={"resources": [row("ConfigMap", "settings", "OutOfSync")]}),
        config_map(data={"a": "git", "b": "same"}, desired=True),
        config_map(data={"a": "live", "b": "same"}),
    )


def test_a_change_of_the_application_is_a_merge_patch() -> None:
    case = out_of_sync()
    edits = (Add(pointer="/spec/syncPolicy/syncOptions", value="ServerSideApply=true"),)
    text = patch_text(Fix.application(case.application.ref, *edits, title="t"), case)
    head, _, body = text.partition("\n")
    assert head == "# kubectl -n argocd patch application shop --type merge --patch-file THIS_FILE"
    assert load(body) == {"spec": {"syncPolicy": {"syncOptions": ["ServerSideApply=true"]}}}


def test_a_change_of_a_manifest_shows_the_fields_and_names_no_file() -> None:
    """There is no file: the header names the object and where to look for it."""
    assert patch_text(Fix.remove(SETTINGS, "/data/b", title="t"), out_of_sync()) == (
        "# ConfigMap shop/settings, declared in deploy\n data:\n-  b: same\n"
    )


def test_commands_stand_one_a_line() -> None:
    assert patch_text(Fix.run("one", "two", title="t"), out_of_sync()) == "one\ntwo\n"


def test_a_line_of_policy_says_where_it_goes() -> None:
    text = patch_text(Fix.policy("p, role:dev, applications, sync, */*, allow", title="t"), out_of_sync())
    assert "argocd-rbac-cm" in text.splitlines()[0]
    assert text.splitlines()[1] == "p, role:dev, applications, sync, */*, allow"


def test_a_new_object_is_yaml() -> None:
    assert load(patch_text(Fix.new(config_map(), title="t"), out_of_sync())) == config_map()


def test_a_fix_of_what_is_not_at_hand_has_no_text() -> None:
    unknown = Ref(version="v1", kind="ConfigMap", namespace="shop", name="unknown")
    fix = Fix.remove(unknown, "/data/a", title="t")
    assert object_of(fix, out_of_sync()) is None
    assert patch_text(fix, out_of_sync()) == ""


def test_a_fix_that_is_applied_takes_the_symptom_away() -> None:
    case = out_of_sync()
    (symptom,) = [symptom.id for symptom in case.symptoms]
    after = applied(Fix.change(SETTINGS, Set(pointer="/data/a", value="live"), title="t"), case)
    assert symptom not in after.symptom_ids
    assert symptom in case.symptom_ids, "the Case itself is never changed"


def test_commands_change_no_case() -> None:
    case = out_of_sync()
    assert applied(Fix.run("argocd app sync shop", title="t"), case).symptom_ids == case.symptom_ids


@pytest.mark.parametrize("kind", list(FixKind))
def test_every_kind_of_fix_has_an_answer(kind: FixKind) -> None:
    fix = Fix(title="t", kind=kind, target=SETTINGS, edits=(Set(pointer="/data/a", value="x"),))
    assert isinstance(patch_text(fix, out_of_sync()), str)
    applied(fix, out_of_sync())
