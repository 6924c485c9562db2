"""The settings of an Argo CD instance, from its ConfigMaps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Final, Protocol, TypeVar

import msgspec

from whysync.argocd.settings.overrides import (
    CUSTOMIZATIONS,
    EVERY_KIND,
    Overrides,
    ResourceOverride,
    read_overrides,
    resource_update_overrides,
    with_ignored_pointer,
)
from whysync.argocd.settings.yaml_values import (
    Malformed,
    flag_field,
    mapping,
    read_yaml,
    sequence,
    text_field,
    texts_field,
)
from whysync.argocd.settings.yaml_values import field as field_of
from whysync.argocd.tracking.method import INSTANCE_LABEL, METHOD_SETTING, with_tracking
from whysync.golang.duration import BadDuration, parse_nanoseconds
from whysync.golang.glob import glob_match
from whysync.json_tree import Json, Object, fields
from whysync.kubernetes.api import pointer

# `resource.exclusions` and `resource.inclusions`: kinds that Argo CD ignores.
#
# Mirrors `ResourcesFilter` and `FilteredResource`, Argo CD 3.6.


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


T = TypeVar("T")

_CRD: Final = "apiextensions.k8s.io/CustomResourceDefinition"


class SettingsProblem(msgspec.Struct, frozen=True, kw_only=True):
    """An invalid value; if it breaks the comparison, every app is Unknown without a condition."""

    key: str
    message: str
    breaks_comparison: bool = True


class CompareOptions(msgspec.Struct, frozen=True, kw_only=True):
    ignore_aggregated_roles: bool = False
    ignore_resource_status_field: str = "all"
    ignore_differences_on_resource_updates: bool = True


class GlobalProject(msgspec.Struct, frozen=True, kw_only=True):
    """A global project, whose lists are inherited by projects that match `label_selector`."""

    name: str
    label_selector: Object = msgspec.field(default_factory=dict[str, Json])


def _default_overrides() -> dict[str, ResourceOverride]:
    return with_ignored_pointer({}, EVERY_KIND, "/status")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The defaults are those of an empty argocd-cm."""

    overrides: Overrides = msgspec.field(default_factory=_default_overrides)
    compare_options: CompareOptions = CompareOptions()
    resource_exclusions: tuple[FilteredResource, ...] = ()
    resource_inclusions: tuple[FilteredResource, ...] = ()
    tracking_method: str = "annotation"
    instance_label_key: str = INSTANCE_LABEL
    installation_id: str = ""
    sensitive_annotations: frozenset[str] = frozenset()
    reconciliation_seconds: int = 120
    """0 disables the periodic refresh."""
    reconciliation_jitter_seconds: int = 60
    hard_reconciliation_seconds: int = 0
    application_namespaces: tuple[str, ...] = ()
    """Globs of additional namespaces for Applications."""
    server_side_diff: bool = False
    persist_resource_health: bool = False
    repo_error_grace_seconds: int = 180
    global_projects: tuple[GlobalProject, ...] = ()
    impersonation_enabled: bool = False
    impersonation_enforced: bool = True
    problems: tuple[SettingsProblem, ...] = ()

    @classmethod
    def from_config_maps(cls, argocd_cm: Object | None, cmd_params: Object | None) -> Settings:
        """From the ConfigMaps `argocd-cm` and `argocd-cmd-params-cm`, of which either may be missing."""
        return _read(_data(argocd_cm), _data(cmd_params))

    @property
    def comparison_problem(self) -> SettingsProblem | None:
        """The invalid setting because of which no app can be compared, if any."""
        return next((problem for problem in self.problems if problem.breaks_comparison), None)

    @property
    def instance_label_pointer(self) -> str:
        return pointer.join(("metadata", "labels", self.instance_label_key))

    def with_tracking(self, obj: Object, *, app: str, namespace: str, crds_too: bool = False) -> Object:
        """The object with tracking metadata for the instance name `app`; CRDs only with `crds_too`.

        Mirrors `SetAppInstance`, Argo CD 3.6. Raises `MalformedMetadata` or `LabelTooLong`.
        """
        if obj.get("kind") == "CustomResourceDefinition" and not crds_too:
            return obj
        return with_tracking(
            obj,
            app=app,
            method=self.tracking_method,
            namespace=namespace,
            label_key=self.instance_label_key,
            installation_id=self.installation_id,
        )

    def resource_update_overrides(self) -> dict[str, ResourceOverride]:
        """The overrides that decide whether a change of a live object leads to a refresh."""
        also = self.compare_options.ignore_differences_on_resource_updates
        return resource_update_overrides(self.overrides, ignore_differences_too=also)


def _read(cm: Mapping[str, str], params: Mapping[str, str]) -> Settings:
    problems: list[SettingsProblem] = []

    def attempt(key: str, read: Callable[[], T], default: T, *, breaks_comparison: bool = True) -> T:
        try:
            return read()
        except Malformed as problem:
            message = str(problem)
            setting = problem.key or key
            problems.append(
                SettingsProblem(key=setting, message=message, breaks_comparison=breaks_comparison)
            )
            return default

    options = attempt("resource.compareoptions", lambda: _compare_options(cm), CompareOptions())
    overrides = attempt(CUSTOMIZATIONS, lambda: read_overrides(cm), dict[str, ResourceOverride]())
    return Settings(
        overrides=_with_status_ignored(overrides, options.ignore_resource_status_field),
        compare_options=options,
        resource_exclusions=attempt(
            "resource.exclusions", lambda: _filters(cm, "resource.exclusions", "excluded"), ()
        ),
        resource_inclusions=attempt(
            "resource.inclusions", lambda: _filters(cm, "resource.inclusions", "included"), ()
        ),
        tracking_method=cm.get(METHOD_SETTING) or "annotation",
        instance_label_key=cm.get("application.instanceLabelKey") or INSTANCE_LABEL,
        installation_id=cm.get("installationID", ""),
        sensitive_annotations=_sensitive_annotations(cm.get("resource.sensitive.mask.annotations", "")),
        reconciliation_seconds=duration_seconds(cm.get("timeout.reconciliation", ""), 120),
        reconciliation_jitter_seconds=duration_seconds(cm.get("timeout.reconciliation.jitter", ""), 60),
        hard_reconciliation_seconds=duration_seconds(cm.get("timeout.hard.reconciliation", ""), 0),
        application_namespaces=_list(params.get("application.namespaces", "")),
        server_side_diff=_flag(params, "controller.diff.server.side"),
        persist_resource_health=_flag(params, "controller.resource.health.persist"),
        repo_error_grace_seconds=_seconds(params.get("controller.repo.error.grace.period.seconds", ""), 180),
        global_projects=attempt("globalProjects", lambda: _global_projects(cm), (), breaks_comparison=False),
        impersonation_enabled=cm.get("application.sync.impersonation.enabled") == "true",
        impersonation_enforced=cm.get("application.sync.impersonation.enforced") != "false",
        problems=tuple(problems),
    )


def _data(config_map: Object | None) -> dict[str, str]:
    data = fields((config_map or {}).get("data"))
    return {key: value for key, value in data.items() if isinstance(value, str)}


def _compare_options(cm: Mapping[str, str]) -> CompareOptions:
    owner, defaults = "ArgoCDDiffOptions", CompareOptions()
    raw = mapping(read_yaml(cm.get("resource.compareoptions", "")), f"settings.{owner}")
    status = defaults.ignore_resource_status_field
    if field_of(raw, "ignoreResourceStatusField") is not None:
        status = text_field(raw, "ignoreResourceStatusField", owner)
    return CompareOptions(
        ignore_aggregated_roles=flag_field(raw, "ignoreAggregatedRoles", owner),
        ignore_resource_status_field=status,
        ignore_differences_on_resource_updates=flag_field(
            raw, "ignoreDifferencesOnResourceUpdates", owner, default=True
        ),
    )


def _with_status_ignored(overrides: Overrides, kinds: str) -> Overrides:
    # `off` is false in YAML; any unknown value means all kinds.
    if kinds in ("none", "off", "false"):
        return overrides
    return with_ignored_pointer(overrides, _CRD if kinds == "crd" else EVERY_KIND, "/status")


def _filters(cm: Mapping[str, str], key: str, adjective: str) -> tuple[FilteredResource, ...]:
    try:
        return read_filters(read_yaml(cm.get(key, "")))
    except Malformed as problem:
        raise Malformed(f"error unmarshalling {adjective} resources {problem}") from None


def _global_projects(cm: Mapping[str, str]) -> tuple[GlobalProject, ...]:
    global_projects: list[GlobalProject] = []
    for item in sequence(read_yaml(cm.get("globalProjects", "")), "[]settings.GlobalProjectSettings"):
        raw = mapping(item, "settings.GlobalProjectSettings")
        name = text_field(raw, "projectName", "GlobalProjectSettings")
        global_projects.append(
            GlobalProject(name=name, label_selector=fields(field_of(raw, "labelSelector")))
        )
    return tuple(global_projects)


def _sensitive_annotations(value: str) -> frozenset[str]:
    return frozenset(value.replace(" ", "").split(",")) if value else frozenset()


def _list(value: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in value.split(",")) if value else ()


def _flag(params: Mapping[str, str], key: str) -> bool:
    return params.get(key, "").lower() == "true"


def _seconds(value: str, default: int) -> int:
    return int(value) if value.isascii() and value.isdecimal() and len(value) < 15 else default


def duration_seconds(text: str, default: int) -> int:
    """Whole seconds of a duration; the default if it is invalid or negative.

    Mirrors `ParseDurationFromEnv`, Argo CD 3.6, with 0 as the minimum.
    """
    try:
        nanoseconds = parse_nanoseconds(text, days=True)
    except BadDuration:
        return default
    return nanoseconds // 10**9 if nanoseconds >= 0 else default
