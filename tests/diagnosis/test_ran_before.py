"""What Git has to say to have the version before again, field by field."""

from __future__ import annotations

import pytest

from tests.situations import application, case_of, row
from whysync.contracts.ref import Ref
from whysync.contracts.tree import Json, Object, fields, items
from whysync.diagnosis.fix import Edit, Remove, Set
from whysync.diagnosis.ran_before import Before, ran_before

REF = Ref(group="apps", version="v1", kind="Deployment", namespace="shop", name="web")
BASE = "/spec/template/spec"
FIRST = f"{BASE}/containers/0"


def template(
    container: Object | None = None, *, notes: Object | None = None, more: Object | None = None
) -> Object:
    meta: Object = {"labels": {"app": "web"}, **({"annotations": notes} if notes else {})}
    containers: list[Json] = [{"name": "web", "image": "web:1", **(container or {})}]
    return {"metadata": meta, "spec": {"containers": containers, **(more or {})}}


def with_defaults(one: Object) -> Object:
    """As the API server keeps it."""
    spec = fields(one["spec"])
    containers: list[Json] = [
        {"terminationMessagePath": "/dev/termination-log", **fields(raw)} for raw in items(spec["containers"])
    ]
    return {**one, "spec": {"dnsPolicy": "ClusterFirst", **spec, "containers": containers}}


def found(git: Object, now: Object, then: Object) -> Before | None:
    owner: Object = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u-web"}
    labelled: Object = {**then, "metadata": {**fields(then["metadata"])}}
    fields(labelled["metadata"])["labels"] = {"app": "web", "pod-template-hash": "abc"}
    return ran_before(
        case_of(
            application(status={"resources": [row("Deployment", "web")]}),
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {
                    "name": "web",
                    "namespace": "shop",
                    "annotations": {"whysync.dev/role": "desired"},
                },
                "spec": {"template": git},
            },
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": "web", "namespace": "shop", "uid": "u-web"},
                "spec": {"template": with_defaults(now)},
            },
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "metadata": {
                    "name": "web-abc",
                    "namespace": "shop",
                    "annotations": {"deployment.kubernetes.io/revision": "1"},
                    "ownerReferences": [owner],
                },
                "spec": {"template": with_defaults(labelled)},
                "status": {"replicas": 2, "readyReplicas": 2},
            },
        ),
        REF,
    )


def env(*values: tuple[str, str]) -> Object:
    return {"env": [{"name": name, "value": value} for name, value in values]}


@pytest.mark.parametrize(
    ("now", "then", "edits"),
    [
        (template({"image": "web:2"}), template(), [Set(pointer=f"{FIRST}/image", value="web:1")]),
        (template({"args": ["-x"]}), template(), [Remove(pointer=f"{FIRST}/args")]),
        (template(), template({"args": ["-x"]}), [Set(pointer=f"{FIRST}/args", value=["-x"])]),
        (
            template(env(("A", "1"), ("B", "2"))),
            template(env(("A", "1"), ("B", "3"))),
            [Set(pointer=f"{FIRST}/env/1/value", value="3")],
        ),
        (
            template(env(("A", "1"), ("B", "2"))),
            template(env(("A", "1"))),
            [Set(pointer=f"{FIRST}/env", value=[{"name": "A", "value": "1"}])],
        ),
        (
            template(more={"nodeSelector": {"pool": "new"}}),
            template(more={"nodeSelector": {"pool": "old"}}),
            [Set(pointer=f"{BASE}/nodeSelector/pool", value="old")],
        ),
    ],
)
def test_what_differs_goes_back_and_nothing_else(now: Object, then: Object, edits: list[Edit]) -> None:
    before = found(now, now, then)
    assert before is not None
    assert (list(before.edits), before.done) == (edits, False)
    after = found(then, now, then)
    assert after is not None
    assert after.done, "Git says so by now"


def test_of_what_was_put_in_beside_git_nothing_is_said() -> None:
    """A sidecar that stands first in the cluster, and that Git does not know."""
    git = template({"image": "web:2"})

    def injected(one: Object) -> Object:
        spec = fields(one["spec"])
        containers: list[Json] = [{"name": "mesh", "image": "mesh:1"}, *items(spec["containers"])]
        return {**one, "spec": {**spec, "containers": containers}}

    before = found(git, injected(git), injected(template()))
    assert before is not None
    assert before.edits == (Set(pointer=f"{FIRST}/image", value="web:1"),)


RESTARTED = template(notes={"kubectl.kubernetes.io/restartedAt": "2026-03-02T08:00:00Z"})
SUMMED = template(notes={"checksum/config": "b"})
HIDDEN = template(env(("A", "<masked 1>")))


@pytest.mark.parametrize(
    ("git", "now", "then"),
    [
        (template(), template(), template()),
        (template(), RESTARTED, template()),
        # a third version by now
        (template({"image": "web:3"}), template({"image": "web:2"}), template()),
        # the ConfigMap behind the checksum would have to go back too
        (SUMMED, SUMMED, template(notes={"checksum/config": "a"})),
        # what it was nobody may see
        (HIDDEN, HIDDEN, template(env(("A", "<masked 2>")))),
    ],
)
def test_where_the_way_back_is_not_known_there_is_none(git: Object, now: Object, then: Object) -> None:
    assert found(git, now, then) is None


def test_the_same_amount_written_otherwise_is_the_same() -> None:
    now, then = (
        template({"resources": {"limits": {"cpu": "1"}}}),
        template({"resources": {"limits": {"cpu": "2"}}}),
    )
    before = found(template({"resources": {"limits": {"cpu": "1000m"}}}), now, then)
    assert before is not None
    assert before.words == "resources.limits.cpu 2"
