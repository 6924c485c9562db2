"""The mark by which Argo CD knows its objects, put on plain YAML as its repo-server would.

Mirrors `util/argo.SetAppInstance`, Argo CD 3.6.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from whysync.argocd.api.application import Application
from whysync.json_tree import Object, dig, fields, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import ref_of

_ANNOTATION = "argocd.argoproj.io/tracking-id"
_LABEL = "app.kubernetes.io/instance"
_LONGEST_LABEL = 63


class Tracking(msgspec.Struct, frozen=True, kw_only=True):
    home: str
    method: str = "annotation"
    label: str = _LABEL

    @staticmethod
    def told_by(settings: Iterable[Manifest], home: str) -> Tracking:
        for setting in settings:
            if setting.ref.kind == "ConfigMap" and setting.ref.name == "argocd-cm":
                data = fields(dig(setting.body, "data"))
                method = text(data.get("application.resourceTrackingMethod"))
                return Tracking(
                    home=home,
                    method=method if method in ("label", "annotation+label") else "annotation",
                    label=text(data.get("application.instanceLabelKey")) or _LABEL,
                )
        return Tracking(home=home)

    def mark(self, body: Object, app: Application) -> None:
        """The tree is changed: it was just read. CRDs bear no mark."""
        ref = ref_of(body)
        if ref.kind == "CustomResourceDefinition":
            return
        instance = app.name if app.namespace in ("", self.home) else f"{app.namespace}_{app.name}"
        meta = body.setdefault("metadata", {})
        if not isinstance(meta, dict):
            return
        if self.method != "annotation":
            cut = instance if self.method == "label" else instance[:_LONGEST_LABEL].rstrip("-_.")
            _set(meta, "labels", self.label, cut)
        if self.method != "label":
            namespace = ref.namespace or app.spec.destination.namespace
            _set(
                meta, "annotations", _ANNOTATION, f"{instance}:{ref.group}/{ref.kind}:{namespace}/{ref.name}"
            )


def _set(meta: Object, place: str, key: str, value: str) -> None:
    found = meta.get(place)
    if not isinstance(found, dict):
        found = {}
        meta[place] = found
    found[key] = value
