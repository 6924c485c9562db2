"""The version before: whether it was well, which commit took its place, and what takes that back."""

from __future__ import annotations

import pytest

from tests.situations import application, case_of, row
from whysync.diagnosis.fix import Set
from whysync.json_tree import Json, Object, fields
from whysync.kubernetes.api.ref import Ref
from whysync.queries.previous_revision import PreviousRevision, previous_revision_of

OLD, NEW = "2026-03-02T08:00:00Z", "2026-03-02T09:00:00Z"
REVISION = "deployment.kubernetes.io/revision"
FIRST, SECOND = "a" * 40, "b" * 40
REF = Ref(group="apps", version="v1", kind="Deployment", namespace="shop", name="web")


def template(image: str) -> Object:
    return {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": image}]},
    }


def deployment(
    image: str,
    *,
    desired: bool = False,
    since: str = NEW,
    available: str = "False",
    progress: str = "ProgressDeadlineExceeded",
    strategy: str = "RollingUpdate",
) -> Object:
    meta: Object = {"name": "web", "namespace": "shop"}
    body: Object = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta}
    if desired:
        meta["annotations"] = {"whysync.dev/role": "desired"}
    else:
        meta |= {"uid": "u-web", "creationTimestamp": OLD}
        condition: Object = {"type": "Available", "status": available, "lastTransitionTime": since}
        rollout: list[Json] = [{"type": "Progressing", "reason": progress}] if progress else []
        body["status"] = {"conditions": [condition, *rollout]}
    return {**body, "spec": {"strategy": {"type": strategy}, "template": template(image)}}


def replica_set(number: int, image: str, *, created: str, ready: int = 0) -> Object:
    owner: Object = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u-web"}
    status: Object = {"replicas": ready, "readyReplicas": ready} if ready else {"replicas": 0}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"web-{number}",
            "namespace": "shop",
            "creationTimestamp": created,
            "annotations": {REVISION: str(number)},
            "ownerReferences": [owner],
        },
        "spec": {"template": template(image)},
        "status": status,
    }


def app(*, automated: bool = True, at: str = NEW, revisions: tuple[str, str] = (FIRST, SECOND)) -> Object:
    history: list[Json] = [
        {"id": 3, "revision": revisions[0], "deployStartedAt": OLD, "deployedAt": OLD},
        {"id": 4, "revision": revisions[1], "deployStartedAt": at, "deployedAt": at},
    ]
    policy: Object = {"automated": {}} if automated else {}
    return application(
        spec={"syncPolicy": policy},
        status={"resources": [row("Deployment", "web", "Synced")], "history": history},
    )


def before(*objects: Object, of: Object | None = None, git: str = "web:2") -> PreviousRevision | None:
    return previous_revision_of(case_of(of or app(), deployment(git, desired=True), *objects), REF)


TWO = (replica_set(1, "web:1", created=OLD), replica_set(2, "web:2", created=NEW))


def test_a_version_whose_pods_are_gone_was_well_until_the_present_one_came() -> None:
    previous = before(deployment("web:2"), *TWO)
    assert previous is not None
    assert previous.description == "the version that ran before"
    assert previous.edits == (Set(pointer="/spec/template/spec/containers/0/image", value="web:1"),)
    assert previous.evidence[0].says == "it was available until the current version was rolled out"


def test_pods_that_are_recreated_have_time_to_stop_before_the_new_version_comes() -> None:
    assert before(deployment("web:2", since="2026-03-02T08:59:40Z", strategy="Recreate"), *TWO) is not None


def test_a_version_that_still_runs_is_described_so() -> None:
    still = replica_set(1, "web:1", created=OLD, ready=2)
    previous = before(deployment("web:2", available="True", since=OLD), still, TWO[1])
    assert previous is not None
    assert previous.description == "the version that still runs"


@pytest.mark.parametrize(
    "objects",
    [
        (deployment("web:2", since="2026-03-02T08:30:00Z"), *TWO),  # it was down before
        (deployment("web:2", available="True"), *TWO),
        # It was rolled out, ran for three days, and then something else happened.
        (deployment("web:2", since="2026-03-05T03:00:00Z", progress="NewReplicaSetAvailable"), *TWO),
        (deployment("web:2", progress=""), *TWO),
        (deployment("web:2", since="2026-03-02T08:59:40Z"), *TWO),
        (deployment("web:2", since="2026-03-02T08:59:00Z", strategy="Recreate"), *TWO),
        (deployment("web:2", since="no instant"), *TWO),
        (deployment("web:2"), TWO[1]),  # nobody knows what was before
        (deployment("web:2"), TWO[0], replica_set(2, "web:2", created="")),
        (deployment("web:2"), TWO[0], replica_set(2, "web:2", created=OLD)),  # the Deployment's first version
        (deployment("web:2"),),
    ],
)
def test_of_one_that_may_never_have_been_well_nothing_is_said(objects: tuple[Object, ...]) -> None:
    assert before(*objects) is None


@pytest.mark.parametrize("of", [app(), app(automated=False)])
def test_the_commit_that_introduced_it(of: Object) -> None:
    previous = before(deployment("web:2"), *TWO, of=of)
    assert previous is not None
    assert previous.evidence[-1].pointer == "/status/history/1/revision"
    assert previous.evidence[-1].says == "the sync that brought it (git log aaaaaaa..bbbbbbb)"


def test_the_version_of_a_chart_is_no_commit() -> None:
    previous = before(deployment("web:2"), *TWO, of=app(revisions=("1.2.3", "1.2.4")))
    assert previous is not None
    assert previous.evidence[-1].says == "the sync that brought it (before: 1.2.3)"


@pytest.mark.parametrize(
    "of",
    [
        app(at="2026-03-02T11:00:00Z"),  # synced later: it did not make the version
        app(at="2026-03-02T08:30:00Z"),
        app(revisions=(SECOND, SECOND)),
        app(revisions=(FIRST, "")),
        application(status={"resources": [row("Deployment", "web", "Synced")]}),
    ],
)
def test_no_commit_is_named_where_it_is_not_plain(of: Object) -> None:
    previous = before(deployment("web:2"), *TWO, of=of)
    assert previous is not None
    assert [citation.pointer for citation in previous.evidence] == ["/status/conditions/0"]


def test_where_the_present_version_could_not_be_made_the_newest_one_is_not_it() -> None:
    """Two versions back is one too many, and nobody knows whether the newest that was made is well."""
    assert before(deployment("web:3"), *TWO, git="web:3") is None


def test_the_newest_that_runs_not_the_newest() -> None:
    """The second version never ran and the third runs partly: the first is the previous version."""
    sets = (
        replica_set(1, "web:1", created=OLD, ready=1),
        replica_set(2, "web:broken", created="2026-03-02T08:30:00Z"),
        replica_set(3, "web:2", created=NEW, ready=1),
    )
    previous = before(deployment("web:2"), *sets)
    assert previous is not None
    assert (previous.manifest.ref.name, previous.description) == ("web-1", "the version that still runs")
    newer = (sets[0], replica_set(2, "web:1.5", created="2026-03-02T08:30:00Z", ready=1), sets[2])
    previous = before(deployment("web:2"), *newer)
    assert previous is not None
    assert previous.manifest.ref.name == "web-2"
    odd: Object = {**newer[1], "metadata": {**fields(newer[1]["metadata"]), "annotations": {REVISION: "²"}}}
    previous = before(deployment("web:2"), newer[0], odd, newer[2])
    assert previous is not None
    assert previous.manifest.ref.name == "web-1", "a number that is none comes last"
