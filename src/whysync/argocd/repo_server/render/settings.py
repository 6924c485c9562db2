"""Render options from `argocd-cm`.

Mirrors `GetEnabledSourceTypes`, `GetKustomizeSettings` and `GetHelmSettings`, Argo CD 3.6.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from whysync.argocd.repo_server.render.options import RenderOptions
from whysync.json_tree import Object, fields, text

_SWITCHES: Final = {"kustomize.enable": "Kustomize", "helm.enable": "Helm", "jsonnet.enable": "Directory"}
_BUILD: Final = "kustomize.buildOptions"


def with_settings(options: RenderOptions, argocd_cm: Object) -> RenderOptions:
    data = fields(argocd_cm.get("data"))
    versions = {
        key.removeprefix(prefix)
        for key in data
        for prefix in ("kustomize.version.", "kustomize.path.")
        if key.startswith(prefix)
    }
    schemes = options.value_schemes
    if "helm.valuesFileSchemes" in data:
        configured = text(data["helm.valuesFileSchemes"]).split(",")
        schemes = tuple(scheme.strip() for scheme in configured if scheme.strip())
    return replace(
        options,
        disabled_tools=frozenset(
            kind for key, kind in _SWITCHES.items() if text(data.get(key)) not in ("", "true")
        ),
        kustomize_build_options=text(data.get(_BUILD)),
        kustomize_versions=frozenset(versions),
        value_schemes=schemes,
    )
