"""What Git has to say to have the version before again, field by field."""

from __future__ import annotations

import pytest

from tests.situations import application, case_of, row
from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Confidence, Finding
from whysync.diagnosis.fix import Edit, Fix, Remove, Set
from whysync.json_tree import Json, Object, fields, items
from whysync.kubernetes.api.ref import Ref
from whysync.queries.previous_revision import PreviousRevision, previous_revision_of, revert_fix, with_revert

REF = Ref(group="apps", version="v1", kind="Deployment", namespace="shop", name="web")
BASE = "/spec/template/spec"
FIRST = f"{BASE}/containers/0"


def template(
    container: Object | None = None, *, notes: Object | None = None, more: Object | None = None
) -> Object:
    meta: Object = {"labels": {"app": "web"}, **({"annotations": notes} if notes else {})}
    containers: list[Json] = [{"name": "web", "image": "web:1", **(container or {})}]
    return {"metadata": meta, "spec": {"containers": containers, **(more or {})}}


def with_defaults(template_body: Object) -> Object:
    """The template as the API server stores it."""
    spec = fields(template_body["spec"])
    containers: list[Json] = [
        {"terminationMessagePath": "/dev/termination-log", **fields(raw)} for raw in items(spec["containers"])
    ]
    return {**template_body, "spec": {"dnsPolicy": "ClusterFirst", **spec, "containers": containers}}


def previous_revision(git: Object, now: Object, then: Object) -> PreviousRevision | None:
    owner: Object = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u-web"}
    labelled: Object = {**then, "metadata": {**fields(then["metadata"])}}
    fields(labelled["metadata"])["labels"] = {"app": "web", "pod-template-hash": "abc"}
    return previous_revision_of(
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
        (  # of two with one name nobody can say which is which
            template(env(("A", "1"), ("A", "2"))),
            template(env(("A", "1"), ("A", "3"))),
            [Set(pointer=f"{FIRST}/env", value=[{"name": "A", "value": "1"}, {"name": "A", "value": "3"}])],
        ),
        (
            template(more={"nodeSelector": {"pool": "new"}}),
            template(more={"nodeSelector": {"pool": "old"}}),
            [Set(pointer=f"{BASE}/nodeSelector/pool", value="old")],
        ),
    ],
)
def test_what_differs_goes_back_and_nothing_else(now: Object, then: Object, edits: list[Edit]) -> None:
    before = previous_revision(now, now, then)
    assert before is not None
    assert (list(before.edits), before.in_git) == (edits, False)
    after = previous_revision(then, now, then)
    assert after is not None
    assert after.in_git, "Git already declares it"


def test_injected_containers_are_ignored() -> None:
    """A sidecar that stands first in the cluster, and that Git does not know."""
    git = template({"image": "web:2"})

    def injected(template_body: Object) -> Object:
        spec = fields(template_body["spec"])
        containers: list[Json] = [{"name": "mesh", "image": "mesh:1"}, *items(spec["containers"])]
        return {**template_body, "spec": {**spec, "containers": containers}}

    before = previous_revision(git, injected(git), injected(template()))
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
    assert previous_revision(git, now, then) is None


def test_the_same_amount_written_otherwise_is_the_same() -> None:
    now, then = (
        template({"resources": {"limits": {"cpu": "1"}}}),
        template({"resources": {"limits": {"cpu": "2"}}}),
    )
    before = previous_revision(template({"resources": {"limits": {"cpu": "1000m"}}}), now, then)
    assert before is not None
    assert before.summary == "resources.limits.cpu 2"


@pytest.mark.parametrize(("fields_changed", "known"), [(12, True), (13, False)])
def test_where_very_much_differs_it_is_another_manifest(fields_changed: int, known: bool) -> None:
    def labelled(value: str) -> Object:
        return template(more={"nodeSelector": {f"k{number}": value for number in range(fields_changed)}})

    assert (previous_revision(labelled("new"), labelled("new"), labelled("old")) is not None) == known


def test_the_words_of_many_changes() -> None:
    now = template({"image": "web:2", "args": ["-x"], "tty": True, "stdin": True})
    before = previous_revision(now, now, template())
    assert before is not None
    assert before.summary == "image web:1", "what differs most tellingly"
    now = template({"args": ["-x"], "tty": True, "stdin": True})
    before = previous_revision(now, now, template())
    assert before is not None
    assert before.summary == "without args, without stdin and 1 more"


# --- StatefulSets: a ControllerRevision, and Pods that bear its name -----------------------------

SET = Ref(group="apps", version="v1", kind="StatefulSet", namespace="shop", name="db")


def pod(name: str, revision: str, *, ready: str = "True", phase: str = "Running", **more: Json) -> Object:
    conditions: list[Json] = [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": ready}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "shop",
            "labels": {"controller-revision-hash": revision},
            "ownerReferences": [OWNER],
        },
        "spec": {"containers": [{"name": "web", "image": "web:1"}]},
        "status": {"phase": phase, "conditions": conditions, **more},
    }


OWNER: Object = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "u-db"}
WAITS: list[Json] = [
    {"name": "web", "ready": False, "restartCount": 9, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
]
NEW = pod("db-1", "db-new", ready="False", containerStatuses=WAITS)


def stateful(*pods: Object, current: str = "db-old", new: str = "db-new", **spec: Json) -> Case:
    now = template({"image": "web:2"})
    typed: Object = {"apiVersion": "apps/v1", "kind": "StatefulSet"}
    meta: Object = {"name": "db", "namespace": "shop"}
    revision: Object = {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {**meta, "name": "db-old", "ownerReferences": [OWNER]},
        "data": {"spec": {"template": {"$patch": "replace", **template()}}},
    }
    other: Object = {
        **revision,
        "metadata": {**meta, "name": "db-older", "ownerReferences": [OWNER]},
        "data": {"spec": {"template": template({"image": "web:0"})}},
    }
    return case_of(
        application(status={"resources": [row("StatefulSet", "db")]}),
        {
            **typed,
            "metadata": {**meta, "annotations": {"whysync.dev/role": "desired"}},
            "spec": {"template": now},
        },
        {
            **typed,
            "metadata": {**meta, "uid": "u-db"},
            "spec": {"template": now, **spec},
            "status": {"currentRevision": current, "updateRevision": new},
        },
        other,
        revision,
        *pods,
    )


def test_a_stateful_set_goes_back_to_the_revision_whose_pods_are_ready() -> None:
    before = previous_revision_of(stateful(NEW, pod("db-0", "db-old")), SET)
    assert before is not None
    assert before.edits == (Set(pointer=f"{FIRST}/image", value="web:1"),)
    assert (before.manifest.ref.name, before.description) == ("db-old", "the version that still runs")
    assert before.evidence[0].ref.name == "db-0"


@pytest.mark.parametrize(
    "case",
    [
        stateful(NEW),
        stateful(NEW, pod("db-0", "db-old", ready="False")),
        stateful(NEW, pod("db-0", "db-older")),
        stateful(pod("db-0", "db-new")),
        stateful(NEW, pod("db-0", "db-old"), current="db-new"),
        stateful(NEW, pod("db-0", "db-old"), current=""),
        stateful(NEW, pod("db-0", "db-gone"), current="db-gone"),
    ],
)
def test_a_revision_that_nobody_sees_run_is_no_way_back(case: Case) -> None:
    assert previous_revision_of(case, SET) is None
    unchanged = finding_of(SET)
    assert with_revert(case, unchanged) is unchanged


def finding_of(ref: Ref, *fixes: Fix) -> Finding:
    return Finding(
        about=ref, explains=(), confidence=Confidence.HIGH, verdict="it crashes", evidence=(), fixes=fixes
    )


OTHER = Fix.run("kubectl logs db-1", title="Look")


def test_the_pod_that_stands_in_the_way_has_to_be_deleted_and_no_other() -> None:
    """A StatefulSet does not replace a Pod that is not ready."""
    case = stateful(NEW, pod("db-0", "db-old"), pod("db-2", "db-new"), pod("db-3", "db-old", ready="False"))
    back, other = with_revert(case, finding_of(SET, OTHER)).fixes
    assert other == OTHER
    (deletes,) = back.afterwards
    assert deletes.startswith("kubectl -n shop delete pod db-1 ")
    assert with_revert(case, finding_of(SET, OTHER), first=False).fixes == (OTHER, back)


def test_pods_that_are_replaced_at_once_are_left_alone() -> None:
    case = stateful(NEW, pod("db-0", "db-old"), podManagementPolicy="Parallel")
    assert with_revert(case, finding_of(SET)).fixes[0].afterwards == ()


def test_only_a_changed_image_may_have_changed_data() -> None:
    case = stateful(NEW, pod("db-0", "db-old"))
    assert "database" in with_revert(case, finding_of(SET)).fixes[0].risk
    now = template({"args": ["-x"]})
    before = previous_revision(now, now, template())
    assert before is not None
    assert revert_fix(REF, before).risk == ""
