"""What changed since the app was healthy: only what the facts contain, with the times that they contain."""

from __future__ import annotations

from tests.situations import application, case_of, row
from whysync.diagnosis.case import Case
from whysync.json_tree import Json, Object
from whysync.queries.recent_changes import Change, ChangeKind, RecentChanges, recent_changes

ONE, TWO, THREE = "1" * 40, "2" * 40, "3" * 40


def source(**more: Json) -> Object:
    return {"repoURL": "https://git.example.com/shop.git", "path": "deploy", "targetRevision": "main", **more}


def entry(id: int, revision: str, at: str, by: str = "", **more: Json) -> Object:
    initiator: Object = {"username": by} if by else {"automated": True}
    deployed = f"2026-03-02T{at}Z"
    return {
        "id": id,
        "revision": revision,
        "deployedAt": deployed,
        "initiatedBy": initiator,
        "source": source(),
        **more,
    }


def written(by: str, at: str, section: str = "f:spec") -> Object:
    time = f"2026-03-02T{at}Z"
    return {"manager": by, "operation": "Update", "time": time, "fieldsV1": {section: {"f:x": {}}}}


def degraded(*history: Object, **status: Json) -> Object:
    health: Object = {"status": "Degraded", "lastTransitionTime": "2026-03-02T03:05:00Z"}
    return application(health="Degraded", status={"health": health, "history": [*history], **status})


def changes(case: Case) -> RecentChanges:
    result = recent_changes(case)
    assert result is not None
    return result


def of_kind(case: Case, kind: ChangeKind) -> list[Change]:
    return [change for change in changes(case).changes if change.kind is kind]


def test_nothing_is_listed_for_an_app_that_is_fine() -> None:
    assert recent_changes(case_of(application(status={"history": [entry(1, ONE, "02:00:00")]}))) is None


def test_the_sync_before_the_trouble_is_a_suspect_and_earlier_ones_are_not() -> None:
    app = degraded(
        entry(1, ONE, "01:00:00"), entry(2, TWO, "02:00:00"), entry(3, THREE, "03:00:00", by="alice")
    )
    recent = changes(case_of(app))
    assert recent.began is not None
    assert recent.began.isoformat() == "2026-03-02T03:05:00+00:00"
    assert recent.shown_by == "/status/health/lastTransitionTime"
    assert [(change.what, change.who) for change in recent.changes] == [
        ("sync 3 to 33333333", "alice"),
        ("commit", ""),
    ]
    commit = recent.changes[1]
    assert (commit.before, commit.after) == (TWO, THREE)
    assert commit.command == "git log --oneline 22222222..33333333 -- deploy"


def test_what_came_after_the_trouble_began_is_listed_too() -> None:
    app = degraded(entry(1, ONE, "01:00:00"), entry(2, TWO, "02:00:00"), entry(3, THREE, "03:30:00"))
    assert [change.what for change in of_kind(case_of(app), ChangeKind.SYNC)] == [
        "sync 3 to 33333333",
        "sync 2 to 22222222",
    ]


def test_a_history_that_is_too_short_is_a_gap() -> None:
    assert "earlier deployed versions" in [
        gap.what for gap in changes(case_of(degraded(entry(1, ONE, "01:00:00")))).gaps
    ]
    two = degraded(entry(1, ONE, "01:00:00"), entry(2, TWO, "02:00:00"))
    assert "earlier deployed versions" not in [gap.what for gap in changes(case_of(two)).gaps]


def test_parameters_and_charts() -> None:
    def chart(version: str, tag: str) -> Object:
        helm: Object = {"parameters": [{"name": "tag", "value": tag}]}
        return {
            "repoURL": "https://charts.example.com",
            "chart": "web",
            "targetRevision": version,
            "helm": helm,
        }

    app = degraded(
        entry(1, "1.0.0", "01:00:00", source=chart("1.0.0", "a")),
        entry(2, "1.1.0", "02:00:00", source=chart("1.1.0", "b")),
    )
    case = case_of(app)
    (version,) = of_kind(case, ChangeKind.CHART)
    assert (version.what, version.before, version.after, version.command) == (
        "chart web",
        "1.0.0",
        "1.1.0",
        "",
    )
    timed = [change for change in of_kind(case, ChangeKind.PARAMETER) if change.time is not None]
    assert [(change.what, change.before, change.after) for change in timed] == [
        ("parameter tag", "a", "b"),
        ("source /targetRevision", "1.0.0", "1.1.0"),
    ]


def test_a_spec_that_was_edited_since_the_last_sync_has_no_time() -> None:
    app = degraded(entry(1, ONE, "01:00:00", source=source(path="old")))
    (edited,) = of_kind(case_of(app), ChangeKind.PARAMETER)
    assert (edited.what, edited.before, edited.after, edited.time) == ("source /path", "old", "deploy", None)


def test_a_failed_sync_is_in_no_history() -> None:
    operation: Object = {
        "phase": "Failed",
        "message": "no",
        "startedAt": "2026-03-02T03:00:00Z",
        "finishedAt": "2026-03-02T03:01:00Z",
        "operation": {"sync": {"revision": TWO}, "initiatedBy": {"username": "bob"}},
    }
    case = case_of(degraded(entry(1, ONE, "01:00:00"), operationState=operation))
    assert [(change.what, change.who) for change in of_kind(case, ChangeKind.SYNC)] == [
        ("failed sync to 22222222", "bob"),
        ("sync 1 to 11111111", "auto-sync"),
    ]
    assert [change.after for change in of_kind(case, ChangeKind.COMMIT)] == [TWO]
    assert changes(case).shown_by == "/status/operationState/finishedAt"


def test_images_of_replica_sets() -> None:
    def replica_set(number: int, image: str, at: str) -> Object:
        meta: Object = {
            "name": f"web-{number}",
            "namespace": "shop",
            "creationTimestamp": f"2026-03-02T{at}Z",
            "annotations": {"deployment.kubernetes.io/revision": str(number)},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "1"}],
        }
        labels: Object = {"app": "web", "pod-template-hash": str(number)}
        template: Object = {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "web", "image": image}]},
        }
        return {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": meta,
            "spec": {"template": template},
        }

    deployment: Object = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop", "uid": "1"},
    }
    case = case_of(
        degraded(resources=[row("Deployment", "web")]),
        deployment,
        replica_set(1, "web:1", "01:00:00"),
        replica_set(2, "web:2", "03:00:00"),
    )
    (image,) = of_kind(case, ChangeKind.IMAGE)
    assert (image.before, image.after) == ("web:1", "web:2")
    assert image.time is not None
    assert image.time.hour == 3
    assert not of_kind(case, ChangeKind.TEMPLATE)


def test_who_wrote_the_application_its_project_the_settings_and_objects() -> None:
    app = degraded(resources=[row("Deployment", "web")])
    app["metadata"] = {
        "name": "shop",
        "namespace": "argocd",
        "creationTimestamp": "2026-03-01T00:00:00Z",
        "managedFields": [
            written("argocd-server", "03:01:00"),
            written("argocd-application-controller", "03:02:00", "f:status"),
        ],
    }
    project: Object = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "AppProject",
        "metadata": {
            "name": "default",
            "namespace": "argocd",
            "managedFields": [written("kubectl-edit", "03:02:00")],
        },
    }
    settings: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "argocd-cm",
            "namespace": "argocd",
            "creationTimestamp": "2026-03-02T03:03:00Z",
            "managedFields": [
                written("kubectl-create", "03:03:00", "f:data"),
                written("helm", "03:04:00", "f:data"),
            ],
        },
    }
    managed: list[Json] = [
        written("kubectl-edit", "03:00:30"),
        written("kube-controller-manager", "03:04:30"),
    ]
    live: Object = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop", "managedFields": managed},
        "spec": {"replicas": 1},
    }
    recent = changes(case_of(app, project, settings, live))
    assert [(change.kind, change.about.kind, change.who) for change in recent.changes] == [
        (ChangeKind.SETTINGS, "ConfigMap", "Helm (helm)"),
        (ChangeKind.PROJECT, "AppProject", "kubectl edit"),
        (ChangeKind.APPLICATION, "Application", "Argo CD's UI (argocd-server)"),
        (ChangeKind.OBJECT, "Deployment", "kubectl edit"),
    ]
    assert [gap.what for gap in recent.gaps] == [
        "earlier deployed versions",
        "commits that Argo CD has not compared",
    ]


def test_events_of_the_application() -> None:
    event: Object = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "shop.1", "namespace": "argocd"},
        "type": "Normal",
        "reason": "OperationStarted",
        "message": "alice initiated sync to main",
        "lastTimestamp": "2026-03-02T03:00:00Z",
        "involvedObject": {"kind": "Application", "name": "shop", "namespace": "argocd"},
    }
    (started,) = of_kind(case_of(degraded(), event), ChangeKind.EVENT)
    assert started.what == "OperationStarted: alice initiated sync to main"
