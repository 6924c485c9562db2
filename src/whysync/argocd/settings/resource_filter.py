"""`resource.exclusions` and `resource.inclusions`: kinds that Argo CD ignores.

Mirrors `ResourcesFilter` and `FilteredResource`, Argo CD 3.6.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final, Protocol

import msgspec

from whysync.argocd.settings.yaml_values import mapping, sequence, texts_field
from whysync.golang.glob import glob_match
from whysync.json_tree import Json


class FilteredResource(msgspec.Struct, frozen=True, kw_only=True):
    """An empty list matches everything. Groups and clusters are globs, a kind is exact or `*`."""

    api_groups: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()

    def matches(self, group: str, kind: str, cluster: str) -> bool:
        if self.kinds and kind not in self.kinds and "*" not in self.kinds:
            return False
        return self.matches_cluster(cluster) and _any_glob(self.api_groups, group)

    def matches_cluster(self, cluster: str) -> bool:
        return _any_glob(self.clusters, cluster)


class Filters(Protocol):
    """The settings that the filter uses."""

    @property
    def resource_exclusions(self) -> tuple[FilteredResource, ...]: ...
    @property
    def resource_inclusions(self) -> tuple[FilteredResource, ...]: ...


# Frequently changing objects that are never managed: Argo CD always ignores them.
_NEVER_WATCHED: Final = (
    FilteredResource(api_groups=("events.k8s.io", "metrics.k8s.io")),
    FilteredResource(api_groups=("",), kinds=("Event",)),
    FilteredResource(api_groups=("coordination.k8s.io",), kinds=("Lease",)),
)


class ExcludedBy(StrEnum):
    """Why Argo CD ignores a kind."""

    NATURE = "nature"
    EXCLUSIONS = "exclusions"
    INCLUSIONS = "inclusions"


def resource_excluded(settings: Filters, group: str, kind: str, cluster: str) -> bool:
    return excluded_by(settings, group, kind, cluster) is not None


def excluded_by(settings: Filters, group: str, kind: str, cluster: str) -> ExcludedBy | None:
    """Mirrors `IsExcludedResource`: if a cluster has inclusions, all other kinds are excluded."""
    if _matches(_NEVER_WATCHED, group, kind, cluster):
        return ExcludedBy.NATURE
    if _matches(settings.resource_exclusions, group, kind, cluster):
        return ExcludedBy.EXCLUSIONS
    if _matches(settings.resource_inclusions, group, kind, cluster):
        return None
    listed = any(included.matches_cluster(cluster) for included in settings.resource_inclusions)
    return ExcludedBy.INCLUSIONS if listed else None


def read_filters(tree: Json) -> tuple[FilteredResource, ...]:
    owner = "FilteredResource"
    filters: list[FilteredResource] = []
    for item in sequence(tree, "[]settings.FilteredResource"):
        raw = mapping(item, "settings.FilteredResource")
        filters.append(
            FilteredResource(
                api_groups=texts_field(raw, "apiGroups", owner),
                kinds=texts_field(raw, "kinds", owner),
                clusters=texts_field(raw, "clusters", owner),
            )
        )
    return tuple(filters)


def _matches(filters: Iterable[FilteredResource], group: str, kind: str, cluster: str) -> bool:
    return any(filtered.matches(group, kind, cluster) for filtered in filters)


def _any_glob(patterns: tuple[str, ...], text: str) -> bool:
    return not patterns or any(glob_match(pattern, text) for pattern in patterns)
