"""Flux: the sources that artifacts come from."""

from __future__ import annotations

from whysync.argocd.health.shipped.family_flux import STATUS_UNKNOWN, SUSPENDED_BY_SPEC, counted
from whysync.argocd.health.shipped.vocabulary import Check, healthy, in_order, is_, when

_ARTIFACT = counted(also_true=("ArtifactInStorage",), tells_outdated=True)
_SOURCE = in_order(SUSPENDED_BY_SPEC, _ARTIFACT, STATUS_UNKNOWN)

GROUP = "source.toolkit.fluxcd.io"
CHECKS: dict[str, Check] = {
    "Bucket": _SOURCE,
    "GitRepository": _SOURCE,
    "HelmChart": _SOURCE,
    "HelmRepository": in_order(
        SUSPENDED_BY_SPEC,
        when(
            is_(".spec.type", "oci"),
            then=healthy("Helm repositories of type 'oci' do not contain any information in the status."),
        ),
        _ARTIFACT,
        STATUS_UNKNOWN,
    ),
    "OCIRepository": _SOURCE,
}
