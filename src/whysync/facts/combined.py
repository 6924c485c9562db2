"""Argo CD's API and the cluster together: the one knows what Git wants, the other all that is around it."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from whysync.facts.snapshot import Snapshot
from whysync.kubernetes.api.manifest import Manifest

# What a cluster says of itself that it does not know, and Argo CD does.
_WHAT_GIT_WANTS = "what Git wants now of "


def together(argocd: Snapshot, cluster: Snapshot) -> Snapshot:
    """Both masked by one masker: equal values have equal marks in both.

    An object is taken as the cluster has it, but for Secrets: what Git wants of them is masked by Argo CD,
    and compares only with the live side that Argo CD masked with it.
    """
    secrets = [live_object for live_object in argocd.live if live_object.ref.kind == "Secret"]
    settings = {setting.ref.name for setting in cluster.settings}
    gaps = [gap for gap in cluster.gaps if not (argocd.desired and gap.what.startswith(_WHAT_GIT_WANTS))]
    return replace(
        argocd,
        projects=_first(cluster.projects, argocd.projects),
        settings=cluster.settings if "argocd-cm" in settings else _first(cluster.settings, argocd.settings),
        desired={**cluster.desired, **argocd.desired},
        live=_first(secrets, cluster.live, argocd.live),
        events=_first(cluster.events, argocd.events),
        logs=tuple(
            {(log.cluster, log.namespace, log.pod, log.container, log.previous): log
             for log in (*argocd.logs, *cluster.logs)}.values()
        ),
        gaps=tuple(dict.fromkeys((*argocd.gaps, *gaps))),
    )  # fmt: skip


def _first(*groups: Iterable[Manifest]) -> tuple[Manifest, ...]:
    """Each object once, as the first that has it tells it; in the order of the names."""
    found: dict[tuple[str, ...], Manifest] = {}
    for group in groups:
        for one in group:
            found.setdefault((one.cluster, *one.key), one)
    return tuple(found[key] for key in sorted(found))
