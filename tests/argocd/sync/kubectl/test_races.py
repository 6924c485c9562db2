"""Others are faster, or the server fails in between: what kubectl makes of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.argocd.sync.kubectl.shop import (
    ARGOCD,
    FORCE,
    SERVER_SIDE,
    Shop,
    a_binding,
    a_config,
    a_deployment,
    a_role,
    outcome_of,
)
from whysync.argocd.sync.cluster_ops import Mode
from whysync.argocd.sync.kubectl.cluster_ops import KubectlClusterOps
from whysync.json_tree import Object, fields
from whysync.kubernetes.apiserver.protocol import Answer
from whysync.kubernetes.apiserver.protocol import Request as ApiRequest


def status(code: int, reason: str, message: str = "no") -> Answer:
    return Answer(code=code, body={"kind": "Status", "reason": reason, "message": message, "code": code})


CONFLICT = status(409, "Conflict", "somebody was faster")
BROKEN = status(500, "InternalError", "etcd is away")
DENIED = status(403, "Forbidden", "not you")
THERE = status(409, "AlreadyExists", "already exists")
GONE = status(404, "NotFound", "not found")


class Troubled:
    """The shop's cluster, but the n-th request of a verb gets another answer, or something happens before."""

    def __init__(
        self,
        shop: Shop,
        answers: dict[tuple[str, int], Answer] | None = None,
        *,
        before: dict[tuple[str, int], Callable[[], object]] | None = None,
    ) -> None:
        self.api_server = shop.api_server
        self.kinds = shop.api_server.kinds
        self.now = shop.api_server.now
        self._answers = answers or {}
        self._before = before or {}
        self._seen: dict[str, int] = {}

    def send(self, request: ApiRequest) -> Answer:
        count = self._seen[request.verb] = self._seen.get(request.verb, 0) + 1
        self._before.get((request.verb, count), bool)()
        result = self._answers.get((request.verb, count))
        return self.api_server.send(request) if result is None else result


def applied(shop: Shop, obj: Object, mode: Mode, answers: dict[tuple[str, int], Answer]) -> str:
    return outcome_of(lambda: KubectlClusterOps(Troubled(shop, answers)).apply(obj, mode))


def test_a_conflict_is_settled_by_another_try() -> None:
    shop = Shop()
    shop.apply(a_config(a="1"))
    result = applied(shop, a_config(a="2"), ARGOCD, {("strategic-patch", 1): CONFLICT})
    assert result == "configmap/settings configured"
    assert shop.live(a_config())["data"] == {"a": "2"}


def test_after_a_conflict_there_may_be_nothing_left_to_do() -> None:
    shop = Shop()
    shop.apply(a_config(a="1"))
    cluster = Troubled(
        shop,
        {("strategic-patch", 1): CONFLICT},
        before={("strategic-patch", 1): lambda: shop.apply(a_config(a="2"))},
    )
    assert KubectlClusterOps(cluster).apply(a_config(a="2"), ARGOCD) == "configmap/settings unchanged"


def test_after_a_conflict_it_cannot_be_read_again() -> None:
    shop = Shop()
    shop.apply(a_config(a="1"))
    answers = {("strategic-patch", 1): CONFLICT, ("get", 2): BROKEN}
    assert applied(shop, a_config(a="2"), ARGOCD, answers) == "refused: etcd is away"


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ({("delete", 1): DENIED}, "refused: not you"),
        ({("get", 2): BROKEN}, "refused: etcd is away"),
        (
            {("create", 1): DENIED, ("create", 2): BROKEN},
            "refused: An error occurred force-replacing the existing object with the newly provided one:\n\n"
            "not you.\n\nAdditionally, an error occurred attempting to restore the original object:\n\n"
            "etcd is away",
        ),
        ({("create", 1): DENIED}, "refused: not you"),
    ],
)
def test_force_that_fails_half_way(answers: dict[tuple[str, int], Answer], expected: str) -> None:
    shop = Shop()
    shop.apply(a_deployment())
    assert applied(shop, a_deployment(selects="other"), FORCE, answers) == expected


def test_replace_with_force_that_fails_half_way() -> None:
    shop = Shop()
    for answers, expected in (
        ({("get", 1): BROKEN}, "refused: etcd is away"),
        ({("create", 1): DENIED}, "refused: not you"),
    ):
        shop.apply(a_config(a="1"))
        ground = KubectlClusterOps(Troubled(shop, answers))
        assert outcome_of(lambda ground=ground: ground.replace(a_config(a="2"), FORCE)) == expected
        assert not shop.has(a_config()), "it is not restored"


def test_replace_with_force_times_out_on_a_finalizer() -> None:
    shop = Shop()
    with_finalizer = a_config(a="1")
    with_finalizer["metadata"] = {
        **fields(with_finalizer["metadata"]),
        "finalizers": ["example.com/hold"],
    }
    shop.apply(with_finalizer)
    refusal = outcome_of(lambda: shop.cluster_ops.replace(a_config(a="2"), FORCE))
    assert refusal == "refused: context deadline exceeded"
    assert shop.has(with_finalizer)


def test_a_migration_is_tried_again_and_what_follows_may_fail() -> None:
    shop = Shop()
    shop.apply(a_config(a="1"))
    result = applied(shop, a_config(a="1"), SERVER_SIDE, {("json-patch", 1): CONFLICT})
    assert result == "configmap/settings serverside-applied"
    shop.apply(a_config(a="1"))
    result = applied(shop, a_config(a="1"), SERVER_SIDE, {("ssa", 2): BROKEN})
    assert result == (
        "configmap/settings serverside-applied. Warning: failed to re-apply configuration after performing "
        "Server-Side Apply migration. This is non-fatal and will be retried next time you apply. Error: etcd "
        "is away"
    )


def test_a_migration_that_cannot_read_again() -> None:
    shop = Shop()
    shop.apply(a_config(a="1"))
    answers = {("json-patch", 1): CONFLICT, ("get", 1): BROKEN}
    result = applied(shop, a_config(a="1"), SERVER_SIDE, answers)
    assert result.endswith("will be retried next time you apply. Error: etcd is away")


@pytest.mark.parametrize("verb", ["create", "update"])
def test_roles_that_others_write_at_the_same_time(verb: str) -> None:
    shop = Shop()
    if verb == "update":
        shop.apply(a_role("get"))
    raced = THERE if verb == "create" else GONE
    result = applied(shop, a_role("get", "list"), ARGOCD, {(verb, 1): raced})
    assert f"reconciliation required {verb}" in result
    result = applied(shop, a_role("watch"), ARGOCD, {("update", count): CONFLICT for count in range(1, 9)})
    assert result == "refused: error running kubectl auth reconcile: somebody was faster"


def test_a_binding_that_cannot_be_deleted_for_the_new_one() -> None:
    shop = Shop()
    shop.apply(a_binding("reader", "one"))
    result = applied(shop, a_binding("writer", "one"), ARGOCD, {("delete", 1): DENIED})
    assert result.endswith("runtime error: invalid memory address or nil pointer dereference")
    result = applied(shop, a_binding("writer", "one"), ARGOCD, {("delete", 1): GONE, ("create", 1): THERE})
    assert "reconciliation required recreate" in result


def test_what_has_no_name_or_no_namespace() -> None:
    shop = Shop()
    unnamed = a_config(a="1")
    unnamed["metadata"] = {"namespace": "shop"}
    lost = a_role("get")
    lost["metadata"] = {"name": "reader"}
    path_problem = "an empty namespace may not be set when a resource name is provided"
    assert shop.apply(unnamed).endswith('": resource name may not be empty')
    assert shop.apply(unnamed, SERVER_SIDE) == "refused: resource name may not be empty"
    assert shop.apply(lost) == f"refused: error running kubectl auth reconcile: {path_problem}"
    assert outcome_of(lambda: shop.cluster_ops.replace(lost, ARGOCD)).endswith(path_problem)
    assert outcome_of(lambda: shop.cluster_ops.replace(lost, FORCE)).endswith(path_problem)
