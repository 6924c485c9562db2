"""Inheritance of lists from global projects.

Mirrors `GetGlobalProjects` and `mergeVirtualProject`, Argo CD 3.6.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol, TypeVar

import msgspec

from whysync.argocd.api.project import AppProject
from whysync.json_tree import Object, fields, items, text
from whysync.kubernetes.validation.names import label_value, qualified_name

T = TypeVar("T")


class GlobalProjectSetting(Protocol):
    """One entry of `globalProjects` in argocd-cm."""

    @property
    def name(self) -> str: ...
    @property
    def label_selector(self) -> Object: ...


def global_projects_of(
    project: AppProject, settings: Iterable[GlobalProjectSetting], existing: Mapping[str, AppProject]
) -> tuple[AppProject, ...]:
    """The global projects of a project; the first invalid setting ends the search."""
    parents: list[AppProject] = []
    for setting in settings:
        if setting.name == project.metadata.name:
            continue
        matches = selects(setting.label_selector, project.metadata.labels)
        if matches is None:
            break
        if matches:
            parent = existing.get(setting.name)
            if parent is None:
                break
            parents.append(parent)
    return tuple(parents)


def merged(project: AppProject, parent: AppProject) -> AppProject:
    """The project with the lists of a global project appended."""
    own, inherited = project.spec, parent.spec
    spec = msgspec.structs.replace(
        own,
        cluster_resource_whitelist=_joined(
            own.cluster_resource_whitelist, inherited.cluster_resource_whitelist
        ),
        cluster_resource_blacklist=_joined(
            own.cluster_resource_blacklist, inherited.cluster_resource_blacklist
        ),
        namespace_resource_whitelist=_joined(
            own.namespace_resource_whitelist, inherited.namespace_resource_whitelist
        ),
        namespace_resource_blacklist=_joined(
            own.namespace_resource_blacklist, inherited.namespace_resource_blacklist
        ),
        sync_windows=own.sync_windows + inherited.sync_windows,
        source_repos=own.source_repos + inherited.source_repos,
        destinations=own.destinations + inherited.destinations,
        destination_service_accounts=own.destination_service_accounts
        + inherited.destination_service_accounts,
    )
    return msgspec.structs.replace(project, spec=spec)


def effective_project(
    project: AppProject, settings: Iterable[GlobalProjectSetting], existing: Mapping[str, AppProject]
) -> AppProject:
    """The project with all inherited lists."""
    for parent in global_projects_of(project, settings, existing):
        project = merged(project, parent)
    return project


def selects(selector: Object, labels: Mapping[str, str]) -> bool | None:
    """Does a label selector match? `None` if it is invalid. An empty selector matches everything."""
    match_labels = fields(selector.get("matchLabels"))
    expressions = [fields(match_expression) for match_expression in items(selector.get("matchExpressions"))]
    keys = [*match_labels, *(text(expression.get("key")) for expression in expressions)]
    values = [*match_labels.values(), *(value for each in expressions for value in items(each.get("values")))]
    if any(any(qualified_name(key)) for key in keys) or any(
        any(label_value(text(value))) for value in values
    ):
        return None
    verdicts = [_expression(expression, labels) for expression in expressions]
    if None in verdicts:
        return None
    return all(verdicts) and all(labels.get(key) == value for key, value in match_labels.items())


def _expression(expression: Object, labels: Mapping[str, str]) -> bool | None:
    key, values = text(expression.get("key")), items(expression.get("values"))
    match text(expression.get("operator")):
        case "In" if values:
            return labels.get(key) in values
        case "NotIn" if values:
            return labels.get(key) not in values
        case "Exists" if not values:
            return key in labels
        case "DoesNotExist" if not values:
            return key not in labels
        case _:
            return None


def _joined(own: tuple[T, ...] | None, inherited: tuple[T, ...] | None) -> tuple[T, ...] | None:
    """The joined list; `None` if both are missing, because a missing and an empty list differ."""
    return own if not inherited else (own or ()) + inherited
