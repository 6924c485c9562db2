"""What has to follow a change before it counts."""

from __future__ import annotations

import pytest

from tests.situations import application, case_of
from whysync.diagnosis.case import Case
from whysync.diagnosis.fix import Fix, FixKind, Set
from whysync.fixes.follow_up import following, is_in_git, noteworthy_commands
from whysync.fixes.formats import as_commands
from whysync.json_tree import Object

LOOK, SYNC = "argocd app get shop --refresh", "argocd app sync shop"
OPTIONS = Fix(title="t", kind=FixKind.APPLICATION)
IN_GIT = Fix(title="t", kind=FixKind.MANIFEST)
ROLE: Object = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "Role",
    "metadata": {"name": "needs", "namespace": "shop"},
}


def the_case(phase: str, *, automated: bool = True, age: int = 1) -> Case:
    operation: Object = {"phase": phase, "startedAt": f"2026-03-02T09:{30 - age:02}:00Z", "operation": {}}
    if phase not in ("Running", "Terminating"):
        operation["finishedAt"] = "2026-03-02T09:30:00Z"
    status: Object = {
        "sync": {"status": "OutOfSync"},
        "health": {"status": "Healthy"},
        "operationState": operation,
        "reconciledAt": "2026-03-02T09:30:00Z",
    }
    policy: Object = {"automated": {}} if automated else {}
    return case_of(application(spec={"syncPolicy": policy}, status=status))


def test_a_commit_that_failed_is_not_tried_again_by_itself() -> None:
    """So a change of the Application, which is no commit, needs a sync by hand."""
    case = the_case("Failed")
    assert following(OPTIONS, case) == noteworthy_commands(OPTIONS, case) == (LOOK, SYNC)
    assert following(IN_GIT, case) == (LOOK,), "a new commit is"
    assert noteworthy_commands(IN_GIT, case) == ()


def test_without_auto_sync_a_commit_is_synced_by_hand() -> None:
    assert following(IN_GIT, the_case("Succeeded", automated=False)) == (LOOK, SYNC)
    assert noteworthy_commands(IN_GIT, the_case("Succeeded", automated=False)) == ()


def test_what_has_no_effect_alone_says_what_else_is_to_be_done_once_it_is_synced() -> None:
    fix = Fix(title="t", kind=FixKind.MANIFEST, afterwards=("kubectl -n shop delete pod db-2",))
    wait = "argocd app wait shop --sync --timeout 600"
    assert following(fix, the_case("Succeeded")) == (LOOK, wait, *fix.afterwards)
    assert following(fix, the_case("Succeeded", automated=False)) == (LOOK, SYNC, wait, *fix.afterwards)
    assert noteworthy_commands(fix, the_case("Succeeded"))[1:] == (LOOK, wait, *fix.afterwards)


def test_a_kind_that_is_no_longer_excluded_is_synced_by_hand_without_self_heal() -> None:
    """The commit was already synced."""
    edits = (Set(pointer="/data/resource.exclusions", value=""),)
    fix = Fix(title="t", kind=FixKind.SETTINGS, edits=edits)
    case = the_case("Succeeded")
    assert following(fix, case) == noteworthy_commands(fix, case) == (LOOK, SYNC)


def test_after_a_good_sync_a_look_is_enough() -> None:
    assert following(OPTIONS, the_case("Succeeded")) == (LOOK,)


@pytest.mark.parametrize("age", [1, 20])
def test_a_sync_of_the_old_commit_is_terminated(age: int) -> None:
    steps = noteworthy_commands(IN_GIT, the_case("Running", age=age))
    assert steps[1].startswith("argocd app terminate-op shop ")
    assert (steps[0], *steps[2:]) == ("# commit it and push", LOOK)


@pytest.mark.parametrize(
    ("age", "first"), [(1, "argocd app wait shop --operation"), (20, "argocd app terminate-op shop ")]
)
def test_a_young_sync_is_waited_for_if_git_stays_as_it_is(age: int, first: str) -> None:
    assert following(OPTIONS, the_case("Running", age=age))[0].startswith(first)


def test_commands_have_their_own_order() -> None:
    assert following(Fix.run(SYNC, title="t"), the_case("Failed")) == ()


def test_permissions_that_the_app_cannot_grant_itself_are_applied_separately() -> None:
    both: Object = {"apiVersion": "v1", "kind": "List", "items": [ROLE]}
    for body in (ROLE, both):
        fix = Fix.new(body, title="t")
        assert not is_in_git(fix)
        comment, *steps = as_commands(fix, the_case("Failed"))
        assert comment.startswith("# save it as role-needs.yaml")
        assert steps == ["kubectl apply -f role-needs.yaml", LOOK, SYNC]


@pytest.mark.parametrize(
    ("scope", "namespace", "question"),
    [
        ("Cluster", "", "kubectl auth can-i list pods --as=system:serviceaccount:argocd:deployer -A"),
        ("", "shop", "kubectl -n shop auth can-i list pods --as=system:serviceaccount:argocd:deployer"),
    ],
)
def test_a_granted_permission_is_asked_for(scope: str, namespace: str, question: str) -> None:
    metadata: Object = {"name": "needs", "namespace": namespace} if namespace else {"name": "needs"}
    grant: Object = {
        "kind": "List",
        "items": [
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": f"{scope}Role",
                "metadata": metadata,
                "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}],
            },
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": f"{scope}RoleBinding",
                "metadata": metadata,
                "subjects": [{"kind": "ServiceAccount", "namespace": "argocd", "name": "deployer"}],
            },
        ],
    }
    steps = following(Fix.new(grant, title="t"), the_case("Failed"))
    assert steps == (f"{question}   # must print yes", LOOK, SYNC)
    in_source = following(Fix.new(grant, title="t", in_source=True), the_case("Failed"))
    assert in_source == (LOOK, "argocd app wait shop --sync --timeout 600", f"{question}   # must print yes")
