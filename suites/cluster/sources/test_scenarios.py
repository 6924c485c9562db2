"""Every lab scenario on a real API server: with a kubeconfig the same is found as from its bundle.

What a kubeconfig cannot give is given to both or to none: rendered manifests come from files, logs from the
scenario (no kubelet runs here), Git's heads from nowhere. Times that a server sets itself are not compared.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from suites.cluster.sources.loading import Unloadable, harmless, loaded
from suites.cluster.sources.real_cluster import RealCluster
from whysync.app import cases, diagnose
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.facts.kubernetes_api import KubeAccess, read_kubernetes
from whysync.facts.masking import mask_snapshot
from whysync.facts.selection import Selection
from whysync.facts.simulated import snapshot_of
from whysync.facts.snapshot import Snapshot
from whysync.json_tree import Object, copy_object, dig
from whysync.kubernetes.api import yaml
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.apiserver.protocol import Cluster
from whysync.lab.library import built_in, names
from whysync.lab.player import play

# It tells by when the Application was made, and a server writes that itself.
BY_ITS_AGE = ("app-in-unserved-namespace",)


@pytest.mark.parametrize("scenario", names())
def test_the_same_is_found_live(cluster: RealCluster, real: Cluster, tmp_path: Path, scenario: str) -> None:
    played = play(built_in(scenario))
    end = without_danger(snapshot_of(played.simulation))
    set_namespaces(end, played.api_server)
    objects = [copy_object(item.body) for item in every(end)]
    folder = tmp_path / "desired"
    write_desired(end, folder)
    end = copied(end)  # under their new names
    bundle = replace(mask_snapshot(copied(end)), heads=(), facts=(), gaps=())
    try:
        with loaded(real, objects):
            access = KubeAccess(kubeconfig=str(cluster.kubeconfig(tmp_path)), namespace="argocd")
            selection = Selection(
                names=tuple(app.ref.place for app in end.applications),
                local=str(folder) if end.desired else "",
                logs=False,
            )
            live = read_kubernetes(access, selection)
    except Unloadable as problem:
        pytest.fail(f"a real server does not take it: {problem}")
    live = replace(
        live, collected_at=end.collected_at, argocd_version=end.argocd_version, logs=bundle.logs, gaps=()
    )
    deleted_when(live, end)
    if scenario in BY_ITS_AGE:
        assert not any(found_in(live).values())
    else:
        expected, actual = found_in(bundle), found_in(live)
        assert actual.keys() == expected.keys()
        for app in expected:  # one list at a time: pytest cuts the difference of long ones
            assert [finding for finding in actual[app] if finding not in expected[app]] == []
            assert [finding for finding in expected[app] if finding not in actual[app]] == []
            assert actual[app] == expected[app]


def deleted_when(live: Snapshot, end: Snapshot) -> None:
    """When a deletion began, a server says itself: it was as long ago as in the scenario."""
    began = {
        live_object.key: live_object.meta["deletionTimestamp"]
        for live_object in end.live
        if "deletionTimestamp" in live_object.meta
    }
    for live_object in live.live:
        if "deletionTimestamp" in live_object.meta and live_object.key in began:
            live_object.meta["deletionTimestamp"] = began[live_object.key]


def found_in(snapshot: Snapshot) -> dict[str, list[tuple[str, ...]]]:
    report = diagnose(cases(SnapshotIndex(snapshot)))
    return {
        app.case.app.qualified_name: sorted(
            (
                finding.rule,
                str(finding.about),
                finding.field or "",
                finding.writer.manager if finding.writer else "",
                finding.confidence.value,
                finding.verdict,
            )
            for finding in app.findings
        )
        for app in report.apps
    }


def every(snapshot: Snapshot) -> list[Manifest]:
    return [
        *snapshot.live,
        *snapshot.events,
        *snapshot.settings,
        *snapshot.projects,
        *snapshot.applications,
    ]


def without_danger(snapshot: Snapshot) -> Snapshot:
    return replace(
        snapshot,
        live=tuple(live_object.with_body(harmless(live_object.body)) for live_object in snapshot.live),
    )


def set_namespaces(snapshot: Snapshot, model: Cluster) -> None:
    """Objects without one get the destination's, as they do on their way to the server."""
    namespaced = {(kind.group, kind.kind) for kind in model.kinds() if kind.namespaced}
    for app in snapshot.applications:
        place = dig(app.body, "spec", "destination", "namespace")
        for desired_object in snapshot.desired.get(app.ref.place, ()):
            if (
                (desired_object.ref.group, desired_object.ref.kind) in namespaced
                and not desired_object.ref.namespace
                and isinstance(place, str)
            ):
                desired_object.meta["namespace"] = place


def copied(snapshot: Snapshot) -> Snapshot:
    def fresh(manifests: tuple[Manifest, ...]) -> tuple[Manifest, ...]:
        return tuple(manifest.with_body(copy_object(manifest.body)) for manifest in manifests)

    return replace(
        snapshot,
        applications=fresh(snapshot.applications),
        projects=fresh(snapshot.projects),
        settings=fresh(snapshot.settings),
        desired={name: fresh(value) for name, value in snapshot.desired.items()},
        live=fresh(snapshot.live),
        events=fresh(snapshot.events),
    )


def write_desired(snapshot: Snapshot, folder: Path) -> None:
    for app, manifests in snapshot.desired.items():
        place = folder / app.replace("/", "_", 1)
        place.mkdir(parents=True)
        bodies: list[Object] = [manifest.body for manifest in manifests]
        (place / "all.yaml").write_text("---\n".join(map(yaml.dump, bodies)))
