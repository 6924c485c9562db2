"""Settings for comparison and health, from argocd-cm and argocd-cmd-params-cm."""

from __future__ import annotations

from whysync.argocd.settings.overrides import (
    IgnoreRule,
    KnownTypeField,
    Overrides,
    ResourceOverride,
    health_override,
    known_type_fields,
    overrides_from_json,
)
from whysync.argocd.settings.settings import (
    CompareOptions,
    FilteredResource,
    GlobalProject,
    Settings,
    SettingsProblem,
    resource_excluded,
)

__all__ = [
    "CompareOptions",
    "FilteredResource",
    "GlobalProject",
    "IgnoreRule",
    "KnownTypeField",
    "Overrides",
    "ResourceOverride",
    "Settings",
    "SettingsProblem",
    "health_override",
    "known_type_fields",
    "overrides_from_json",
    "resource_excluded",
]
