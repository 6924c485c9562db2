"""The questions of sync_run.jsonl about whole Applications: `sync-app`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from tests.argocd.sync.stub import StubClusterOps
from tests.conformance.checks import lacks_fragments, mismatch
from tests.conformance.given import GivenLive
from whysync.argocd.api.application import Application
from whysync.argocd.api.project import AppProject
from whysync.argocd.compare.compare_app_state import compare
from whysync.argocd.compare.comparison import Comparison, Inputs
from whysync.argocd.projects import Cluster
from whysync.argocd.settings import Settings
from whysync.argocd.sync.app_request import AppSync, SyncTarget
from whysync.argocd.sync.sync_app_state import sync_app
from whysync.json_tree import Json, Object, dig, fields, items, text
from whysync.kubernetes.api.decode import decode
from whysync.kubernetes.api.ref import ref_of


def _sync_app(record: Object, expect: Object) -> list[str]:
    sync = _app_sync(record)
    started: Object = {
        "operation": record["operation"],
        "phase": text(record.get("initial_phase"), "Running"),
        "startedAt": "2024-03-13T12:00:00Z",
    }
    sync_pass = sync_app(sync, started)
    state = sync_pass.operation_state
    history: list[Json] = [
        {key: fields(entry).get(key) for key in ("source", "revision")} for entry in sync_pass.history or []
    ]
    answers: dict[str, Callable[[Json], list[str]]] = {
        "phase": lambda expected: mismatch("phase", expected, state.get("phase")),
        "message_contains": lambda expected: lacks_fragments("message", expected, text(state.get("message"))),
        "sync_result_source": lambda expected: mismatch(
            "source", expected, dig(state, "syncResult", "source")
        ),
        "sync_result_managed_namespace_metadata": lambda expected: mismatch(
            "metadata", expected, dig(state, "syncResult", "managedNamespaceMetadata")
        ),
        "history": lambda expected: mismatch("history", expected, history),
    }
    return [failure for name, expected in expect.items() for failure in answers[name](expected)]


def _app_sync(record: Object) -> AppSync:
    body = fields(record["app"])
    app, _ = decode(body, Application)
    project, _ = decode(fields(record["project"]), AppProject)
    assert app is not None
    assert project is not None
    result = [fields(cluster) for cluster in items(record.get("clusters"))]
    declared = [Cluster(server=text(item.get("server")), name=text(item.get("name"))) for item in result]
    clusters = declared or [Cluster(server=app.spec.destination.server)]
    now = datetime.fromisoformat(text(record.get("now"), "2024-03-13T12:30:20Z"))
    settings = Settings.from_config_maps({"data": fields(record.get("settings"))}, None)

    def compared(_target: SyncTarget) -> Comparison:
        inputs = Inputs(
            application=body,
            app=app,
            project=project,
            settings=settings,
            targets=[fields(item) for item in items(record["targets"])],
            live=GivenLive({ref_of(fields(item)).key: fields(item) for item in items(record["lives"])}),
            now=now,
            cluster=clusters[0],
            revisions=(text(record.get("revision")),),
        )
        return compare(inputs)

    return AppSync(
        application=body,
        project=project,
        settings=settings,
        clusters=clusters,
        compare=compared,
        cluster_ops=lambda _user: StubClusterOps(),
        now=now,
    )


CHECKS: Final[dict[str, Callable[[Object, Object], list[str]]]] = {"sync-app": _sync_app}
