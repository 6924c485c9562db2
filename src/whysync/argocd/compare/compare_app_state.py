"""Compares an Application with its live objects, with Argo CD's conditions and messages.

Mirrors `CompareAppState`, Argo CD 3.6. A failure becomes a condition, and the rest is still computed: an app
whose manifests cannot be rendered still has a health status.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from whysync.argocd.api.application import Condition, SyncCode
from whysync.argocd.compare.app_status import status_after, status_without_settings
from whysync.argocd.compare.comparison import ComparedResource, Comparison, Inputs
from whysync.argocd.compare.live_objects import LiveStateProblem
from whysync.argocd.compare.managed_namespace import (
    has_changed_managed_namespace_metadata,
    managed_namespaces,
)
from whysync.argocd.compare.reconcile_pairs import Pair, Pairing, TargetKeys, match_live, target_keys
from whysync.argocd.compare.resources import rows_of
from whysync.argocd.compare.state_diffs import Diffs, app_strategy, diffs_of
from whysync.argocd.health.application import (
    AppHealth,
    ManagedPair,
    ResourceHealth,
    health_from,
    resource_health,
)
from whysync.argocd.hooks import partition_for_sync
from whysync.argocd.projects import ProjectClustersUnknown, live_verdict
from whysync.argocd.settings import health_override, resource_excluded
from whysync.argocd.tracking import LabelTooLong, MalformedMetadata, instance_name, owner_of
from whysync.json_tree import Object, dig, fields, text
from whysync.kubernetes.api.ref import Key, Ref, key_of, ref_of


class NotComparedYet(Exception):
    """A repository error within the grace period: the status is not written."""


def compare_with_grace(inputs: Inputs, *, first_seen: datetime | None, grace_seconds: int) -> Comparison:
    """Compares, but reports a repository error only after a grace period.

    `first_seen` is the time of the first error, `None` for now. Raises `NotComparedYet`.
    """
    if inputs.target_error is not None:
        grace = timedelta(seconds=grace_seconds)
        if first_seen is None or inputs.now - first_seen <= grace:
            raise NotComparedYet("failed to get repo objects")
    return compare(inputs)


def compare(inputs: Inputs) -> Comparison:
    """Compares one Application with its live objects."""
    if inputs.settings.comparison_problem is not None:
        return _without_settings(inputs)
    return _Run(inputs).run()


def _without_settings(inputs: Inputs) -> Comparison:
    return Comparison(
        sync=SyncCode.UNKNOWN,
        health=None,
        resources=(),
        hooks=(),
        conditions=(),
        status=status_without_settings(inputs),
        strategy=app_strategy(inputs),
        inputs=inputs,
    )


class _ObjectResults(msgspec.Struct, frozen=True, kw_only=True):
    diffs: Diffs
    health: AppHealth
    resources: tuple[ComparedResource, ...]
    sync: SyncCode
    hooks: tuple[Object, ...]
    conditions: tuple[Condition, ...]
    failed: bool
    has_pre_delete_hooks: bool
    has_post_delete_hooks: bool


class _Partition(NamedTuple):
    kept: Sequence[Object]
    excluded: Sequence[str]


class _TargetSide(NamedTuple):
    """The target side of the comparison, which depends on Git only."""

    target_keys: TargetKeys
    has_pre_delete_hooks: bool
    has_post_delete_hooks: bool


class _LiveInfo(NamedTuple):
    visible: bool
    owner: str


class _ObjectHealth(NamedTuple):
    part: ResourceHealth | None


class _Run:
    """A running comparison: its conditions so far, and whether something could not be loaded."""

    def __init__(self, inputs: Inputs) -> None:
        self.inputs = inputs
        self.app = inputs.app
        self.settings = inputs.settings
        self.instance = instance_name(self.app.name, self.app.namespace, inputs.control_plane_namespace)
        self.conditions: list[Condition] = []
        self.failed = False
        self.scripted = any(override.health_lua for override in self.settings.overrides.values())

    def add_condition(self, type: str, message: str) -> None:
        self.conditions.append(Condition(type=type, message=message))

    def fail(self, message: str) -> None:
        self.add_condition("ComparisonError", message)
        self.failed = True

    def run(self) -> Comparison:
        inputs = self.inputs
        prepared = self.targets()
        targets = self.included(prepared)
        live = self.live(targets)
        if inputs.memory is None or self.failed or self.scripted:
            results = self.object_results(prepared, targets, live)
        else:
            # Identical objects have the same results.
            results = inputs.memory.memo(_ObjectResults).recall(
                lambda: self.object_results(prepared, targets, live), inputs.targets, *live.values()
            )
        self.conditions += results.conditions
        self.failed = self.failed or results.failed
        sync = self.sync(results.sync)
        for problem in inputs.integrity_problems:
            self.add_condition("ComparisonError", problem)
        return Comparison(
            sync=sync,
            health=results.health,
            resources=results.resources,
            hooks=results.hooks,
            conditions=tuple(self.conditions),
            status=status_after(
                inputs,
                sync=sync,
                health=results.health,
                resources=results.resources,
                conditions=self.conditions,
            ),
            strategy=results.diffs.strategy,
            inputs=inputs,
            rules=results.diffs.rules,
            notes=results.diffs.notes,
            has_pre_delete_hooks=results.has_pre_delete_hooks,
            has_post_delete_hooks=results.has_post_delete_hooks,
        )

    def object_results(
        self, prepared: Sequence[Object], targets: Sequence[Object], live: dict[Key, Object]
    ) -> _ObjectResults:
        """The results that depend on objects and rules only, not on the previous status."""
        inputs, before = self.inputs, len(self.conditions)
        if inputs.memory is not None:
            inputs.memory.start_comparison()
        target_side = self.target_side(targets, managed_namespaces(self.app, prepared, live.values()))
        pairing = self.paired(target_side.target_keys, live)
        diffs = diffs_of(pairing.pairs, inputs)
        if diffs.error:
            self.fail(f"Failed to compare desired state to live state: {diffs.error}")
        health = self.health(pairing)
        rows = rows_of(pairing, diffs, health.rows, inputs, failed=self.failed)
        self.conditions += rows.conditions
        if health.error is not None:
            self.add_condition("ComparisonError", f"error setting app health: {health.error}")
        new_conditions = tuple(self.conditions[before:])
        del self.conditions[before:]
        return _ObjectResults(
            diffs=diffs,
            health=health,
            resources=rows.resources,
            sync=rows.sync,
            hooks=pairing.hooks,
            conditions=new_conditions,
            failed=self.failed,
            has_pre_delete_hooks=target_side.has_pre_delete_hooks,
            has_post_delete_hooks=target_side.has_post_delete_hooks,
        )

    def targets(self) -> Sequence[Object]:
        """The rendered objects with namespaces and without duplicates, of which the last one is used."""
        if self.inputs.target_error is not None:
            self.fail(f"Failed to load target state: {self.inputs.target_error}")
            return ()
        memory = self.inputs.memory
        try:
            prepared = (
                self.prepared()
                if memory is None
                else memory.memo(Targets).recall(self.prepared, self.inputs.targets)
            )
        except (MalformedMetadata, LabelTooLong) as problem:
            self.add_condition("ComparisonError", f"Failed to normalize target state: {problem}")
            return ()
        for warning in prepared.warnings:
            self.add_condition("RepeatedResourceWarning", warning)
        return prepared.objects

    def prepared(self) -> Targets:
        return normalize_target_objects(
            self.inputs.targets,
            namespace=self.app.spec.destination.namespace,
            is_namespaced=self.is_namespaced,
            track=self.with_tracking,
        )

    def with_tracking(self, target: Object) -> Object:
        """The object with its tracking id, rewritten if the namespace in it changed."""
        if not self.inputs.marks_targets:
            return target
        try:
            namespace = self.app.spec.destination.namespace
            return self.settings.with_tracking(target, app=self.instance, namespace=namespace, crds_too=True)
        except (MalformedMetadata, LabelTooLong) as problem:
            kind, name = target.get("kind"), dig(target, "metadata", "name")
            raise type(problem)(
                f"failed to set app instance label on resource {kind}/{name}: {problem}"
            ) from problem

    def included(self, targets: Sequence[Object]) -> Sequence[Object]:
        """The targets without kinds that `resource.exclusions` or `resource.inclusions` exclude."""
        memory = self.inputs.memory
        if memory is None:
            included = self.partition_excluded(targets)
        else:
            included = memory.memo(_Partition).recall(lambda: self.partition_excluded(targets), targets)
        for message in included.excluded:
            self.add_condition("ExcludedResourceWarning", message)
        return included.kept

    def partition_excluded(self, targets: Sequence[Object]) -> _Partition:
        included: list[Object] = []
        excluded: list[str] = []
        server = self.inputs.cluster.server if self.inputs.cluster else self.app.spec.destination.server
        for target in targets:
            ref = ref_of(target)
            if resource_excluded(self.settings, ref.group, ref.kind, server):
                excluded.append(f"Resource {ref.group}/{ref.kind} {ref.name} is excluded in the settings")
            else:
                included.append(target)
        return _Partition(included, excluded)

    def live(self, targets: Sequence[Object]) -> dict[Key, Object]:
        """The app's live objects that its project permits."""
        try:
            managed = self.inputs.live.managed(self.instance, targets)
        except LiveStateProblem as problem:
            self.fail(f"Failed to load live state: {problem}")
            return {}
        live = {key: (body, self.live_info(key, body)) for key, body in managed.items()}
        own_instances = ("", self.instance)
        for body, live_info in live.values():
            if live_info.visible and live_info.owner not in own_instances:
                self.add_shared_warning(ref_of(body), live_info.owner)
        return {key: body for key, (body, live_info) in live.items() if live_info.visible}

    def live_info(self, key: Key, body: Object) -> _LiveInfo:
        memory = self.inputs.memory
        if memory is None:
            return _LiveInfo(self.is_visible(key, body), self.owner(body))
        return memory.memo(_LiveInfo).recall(
            lambda: _LiveInfo(self.is_visible(key, body), self.owner(body)), body
        )

    def is_visible(self, key: Key, body: Object) -> bool:
        project = self.inputs.project
        if project is None:
            return True
        try:
            cluster, project_clusters = self.inputs.cluster, self.inputs.project_clusters
            return live_verdict(project, ref_of(body), cluster, project_clusters).permitted
        except ProjectClustersUnknown as problem:
            name = self.app.spec.project
            self.fail(f'Failed to check if live resource "{key}" is permitted in project "{name}": {problem}')
            return True

    def owner(self, body: Object) -> str:
        return owner_of(
            body,
            method=self.settings.tracking_method,
            label_key=self.settings.instance_label_key,
            installation_id=self.settings.installation_id,
        )

    def add_shared_warning(self, ref: Ref, owner: str) -> None:
        """Adds the SharedResourceWarning of an object that is tracked by another app."""
        apps = f"{self.app.qualified_name} and {owner.replace('_', '/')}"
        self.add_condition("SharedResourceWarning", f"{ref.kind}/{ref.name} is part of applications {apps}")

    def target_side(self, targets: Sequence[Object], more: Sequence[Object]) -> _TargetSide:
        """`more` are targets that are not in Git."""
        memory = self.inputs.memory
        if memory is None or more:
            return self.target_keys([*targets, *more])
        return memory.memo(_TargetSide).recall(lambda: self.target_keys(targets), targets)

    def target_keys(self, targets: Sequence[Object]) -> _TargetSide:
        partition = partition_for_sync(targets)
        namespace = self.app.spec.destination.namespace
        keys = target_keys(partition.sync, namespace=namespace, is_namespaced=self.is_namespaced)
        return _TargetSide(keys, partition.has_pre_delete, partition.has_post_delete)

    def paired(self, target_keys: TargetKeys, live: Mapping[Key, Object]) -> Pairing:
        """Pairs targets and live objects; live objects without UID, as in handwritten facts, get one."""
        without_uid = {key: body for key, body in live.items() if not dig(body, "metadata", "uid")}
        with_uid = {key: _with_uid(body, f"{key}") for key, body in without_uid.items()}
        pairing = match_live(target_keys, {**live, **with_uid})
        if not without_uid:
            return pairing
        original = {id(with_uid[key]): body for key, body in without_uid.items()}
        pairs = (Pair(pair.target, original.get(id(pair.live), pair.live)) for pair in pairing.pairs)
        return Pairing(tuple(pairs), pairing.hooks)

    def is_namespaced(self, ref: Ref) -> bool | None:
        return self.inputs.scopes.is_namespaced(ref.group, ref.kind)

    def health(self, pairing: Pairing) -> AppHealth:
        return health_from([self.part(pair) for pair in pairing.pairs], app=self.inputs.application)

    def part(self, pair: Pair) -> ResourceHealth | None:
        """Cached unless a custom health script applies, because a script may use the current time."""
        memory = self.inputs.memory
        if memory is None or (self.scripted and self.is_scripted(pair)):
            return self.assess_pair(pair)
        return (
            memory.memo(_ObjectHealth)
            .recall(lambda: _ObjectHealth(self.assess_pair(pair)), pair.target, pair.live)
            .part
        )

    def is_scripted(self, pair: Pair) -> bool:
        key = key_of(pair.obj)
        return health_override(self.settings.overrides, key.group, key.kind) is not None

    def assess_pair(self, pair: Pair) -> ResourceHealth | None:
        managed = ManagedPair(key=key_of(pair.obj), target=pair.target, live=pair.live)
        now = self.inputs.now.timestamp()
        return resource_health(managed, self.settings.overrides, lua=self.inputs.lua, now=now)

    def sync(self, by_rows: SyncCode) -> SyncCode:
        if self.failed:
            return SyncCode.UNKNOWN
        return SyncCode.OUT_OF_SYNC if has_changed_managed_namespace_metadata(self.app) else by_rows


def _with_uid(body: Object, uid: str) -> Object:
    return {**body, "metadata": {**fields(body.get("metadata")), "uid": uid}}


class Targets(msgspec.Struct, frozen=True, kw_only=True):
    objects: tuple[Object, ...]
    repeated: tuple[tuple[Key, int], ...] = ()
    """Keys that occur more than once, and how often; the last object is used."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """The messages of RepeatedResourceWarning conditions."""
        return tuple(
            f"Resource {key} appeared {times} times among application resources."
            for key, times in self.repeated
        )


def normalize_target_objects(
    targets: Iterable[Object],
    *,
    namespace: str,
    is_namespaced: Callable[[Ref], bool | None],
    track: Callable[[Object], Object] = lambda obj: obj,
) -> Targets:
    """Rendered manifests with corrected namespaces and without duplicates.

    Mirrors `NormalizeTargetObjects`, Argo CD 3.6; differs: preserves the order of the targets. A kind of
    unknown scope counts as namespaced; `track` updates the tracking id for the new namespace.
    """
    by_key: dict[Key, list[Object]] = {}
    for position, target in enumerate(targets):
        ref = ref_of(target)
        target_namespace = (ref.namespace or namespace) if is_namespaced(ref) is not False else ""
        if target_namespace != ref.namespace:
            target = track(in_namespace(target, target_namespace))
        name = ref.name or _generated(target, position)
        by_key.setdefault(Key(ref.group, ref.kind, target_namespace, name), []).append(target)
    return Targets(
        objects=tuple(same[-1] for same in by_key.values()),
        repeated=tuple((key, len(same)) for key, same in by_key.items() if len(same) > 1),
    )


def in_namespace(obj: Object, namespace: str) -> Object:
    metadata = {key: value for key, value in fields(obj.get("metadata")).items() if key != "namespace"}
    return {**obj, "metadata": {**metadata, "namespace": namespace} if namespace else metadata}


def _generated(obj: Object, position: int) -> str:
    """Objects with `generateName` never collide."""
    prefix = text(dig(obj, "metadata", "generateName"))
    return f"{prefix}{position}" if prefix else ""
