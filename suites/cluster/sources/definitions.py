"""Argo CD's kinds and two custom kinds of others: as much of a schema as the API server needs."""

from __future__ import annotations

from whysync.json_tree import Object


def definitions() -> list[Object]:
    return [
        _definition("argoproj.io", "v1alpha1", "Application", "applications"),
        _definition("argoproj.io", "v1alpha1", "AppProject", "appprojects"),
        _definition("argoproj.io", "v1alpha1", "ApplicationSet", "applicationsets"),
        _definition("argoproj.io", "v1alpha1", "Rollout", "rollouts"),
        _definition("widgets.example.com", "v1", "Widget", "widgets"),
    ]


def _definition(group: str, version: str, kind: str, plural: str) -> Object:
    schema: Object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served: Object = {
        "name": version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [served],
        },
    }
