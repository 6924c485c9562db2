"""Combine facts of Argo CD's API (the desired state) and of the cluster (everything else)."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from whysync.facts.snapshot import GapKind, Snapshot
from whysync.kubernetes.api.manifest import Manifest


def combine(argocd: Snapshot, cluster: Snapshot) -> Snapshot:
    """Combine two Snapshots that were masked by one masker, so that equal values have equal masks.

    Objects are taken from the cluster, except for Secrets: Argo CD masks their desired and live state
    together, so both have to come from there. Applications that Argo CD does not show to the account, such as
    those in a namespace that it does not watch, are taken from the cluster as well.
    """
    secrets = [live_object for live_object in argocd.live if live_object.ref.kind == "Secret"]
    settings = {setting.ref.name for setting in cluster.settings}
    gaps = [gap for gap in cluster.gaps if not (argocd.desired and gap.kind is GapKind.NOT_RENDERED)]
    return replace(
        argocd,
        applications=_first(argocd.applications, _of_the_same_argocd(argocd, cluster)),
        projects=_first(cluster.projects, argocd.projects),
        settings=cluster.settings if "argocd-cm" in settings else _first(cluster.settings, argocd.settings),
        desired={**cluster.desired, **argocd.desired},
        live=_first(secrets, cluster.live, argocd.live),
        events=_first(cluster.events, argocd.events),
        logs=tuple(
            {(log.cluster, log.namespace, log.pod, log.container, log.previous): log
             for log in (*argocd.logs, *cluster.logs)}.values()
        ),
        heads=tuple(dict.fromkeys((*argocd.heads, *cluster.heads))),
        renderings=tuple(
            replace(rendering, is_desired=rendering.is_desired and rendering.app not in argocd.desired)
            for rendering in (*argocd.renderings, *cluster.renderings)
        ),
        gaps=tuple(dict.fromkeys((*argocd.gaps, *gaps))),
        not_shown={**argocd.not_shown, **cluster.not_shown},
    )  # fmt: skip


def _of_the_same_argocd(argocd: Snapshot, cluster: Snapshot) -> tuple[Manifest, ...]:
    """The Applications of the cluster, unless it belongs to another Argo CD: then none is in both."""
    shown = {application.key: application.uid for application in argocd.applications}
    same = any(shown.get(application.key) == application.uid for application in cluster.applications)
    return cluster.applications if same or not shown else ()


def _first(*groups: Iterable[Manifest]) -> tuple[Manifest, ...]:
    """Each object once, from the first Snapshot that has it, sorted by name."""
    by_key: dict[tuple[str, ...], Manifest] = {}
    for group in groups:
        for manifest in group:
            by_key.setdefault((manifest.cluster, *manifest.key), manifest)
    return tuple(by_key[key] for key in sorted(by_key))
