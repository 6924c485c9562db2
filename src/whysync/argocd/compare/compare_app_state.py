"""The comparison itself, in Argo CD's order, with its conditions and messages.

Mirrors `CompareAppState`, Argo CD 3.6. Whatever fails on the way, as much as can be known is worked out, and
a condition says what failed: an app whose Git cannot be read is still judged for its health.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
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
from whysync.argocd.compare.reconcile_pairs import Pair, Pairing, Sought, matched, sought
from whysync.argocd.compare.resources import rows_of
from whysync.argocd.compare.state_diffs import Diffs, app_strategy, diffs_of
from whysync.argocd.health.application import AppHealth, ManagedPair, Part, health_from, part_of
from whysync.argocd.hooks import partition_for_sync
from whysync.argocd.projects import ProjectClustersUnknown, live_verdict
from whysync.argocd.settings import health_override, resource_excluded
from whysync.argocd.tracking import LabelTooLong, MalformedMetadata, instance_name, owner_of
from whysync.json_tree import Object, dig, fields, text
from whysync.kubernetes.api.ref import Key, Ref, key_of, ref_of


class NotComparedYet(Exception):
    """Git cannot be read, and Argo CD waits before it says so: nothing is written to the status."""


def compare_with_grace(
    inputs: Inputs, *, first_seen: datetime | None, grace_seconds: int, forced: bool = False
) -> Comparison:
    """As the controller does it: an error of the repository is kept back for a while.

    `first_seen` is when the error turned up, `None` for just now; a refresh that somebody asked for, or a
    changed source, forces it out. Raises `NotComparedYet`.
    """
    if inputs.target_error is not None and not forced:
        grace = timedelta(seconds=grace_seconds)
        if first_seen is None or inputs.now - first_seen <= grace:
            raise NotComparedYet("failed to get repo objects")
    return compare(inputs)


def compare(inputs: Inputs) -> Comparison:
    """Compare one Application with its live objects."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _ObjectResults:
    diffs: Diffs
    health: AppHealth
    resources: tuple[ComparedResource, ...]
    sync: SyncCode
    hooks: tuple[Object, ...]
    conditions: tuple[Condition, ...]
    failed: bool
    has_pre_delete_hooks: bool
    has_post_delete_hooks: bool


class _Included(NamedTuple):
    kept: Sequence[Object]
    excluded: Sequence[str]


class _Wanted(NamedTuple):
    """Git's side of the comparison, which stays the same as long as Git does."""

    sought: Sought
    has_pre_delete_hooks: bool
    has_post_delete_hooks: bool


class _Seen(NamedTuple):
    visible: bool
    owner: str


class _Judged(NamedTuple):
    part: Part | None


class _Run:
    """One comparison under way: what was said so far, and whether something could not be loaded."""

    def __init__(self, inputs: Inputs) -> None:
        self.inputs = inputs
        self.app = inputs.app
        self.settings = inputs.settings
        self.instance = instance_name(self.app.name, self.app.namespace, inputs.control_plane_namespace)
        self.conditions: list[Condition] = []
        self.failed = False
        self.scripted = any(override.health_lua for override in self.settings.overrides.values())

    def say(self, type: str, message: str) -> None:
        self.conditions.append(Condition(type=type, message=message))

    def fail(self, message: str) -> None:
        self.say("ComparisonError", message)
        self.failed = True

    def run(self) -> Comparison:
        inputs = self.inputs
        prepared = self.targets()
        targets = self.included(prepared)
        live = self.live(targets)
        if inputs.memory is None or self.failed or self.scripted:
            results = self.object_results(prepared, targets, live)
        else:
            # Whatever was found for the very same objects would be found again.
            results = inputs.memory.memo(_ObjectResults).recall(
                lambda: self.object_results(prepared, targets, live), inputs.targets, *live.values()
            )
        self.conditions += results.conditions
        self.failed = self.failed or results.failed
        sync = self.sync(results.sync)
        for problem in inputs.integrity_problems:
            self.say("ComparisonError", problem)
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
        """What hangs on the objects alone, and on the rules: not on what the status said before."""
        inputs, before = self.inputs, len(self.conditions)
        if inputs.memory is not None:
            inputs.memory.turn()
        wanted = self.wanted(targets, managed_namespaces(self.app, prepared, live.values()))
        pairing = self.paired(wanted.sought, live)
        diffs = diffs_of(pairing.pairs, inputs)
        if diffs.error:
            self.fail(f"Failed to compare desired state to live state: {diffs.error}")
        health = self.health(pairing)
        rows = rows_of(pairing, diffs, health.rows, inputs, failed=self.failed)
        self.conditions += rows.conditions
        if health.error is not None:
            self.say("ComparisonError", f"error setting app health: {health.error}")
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
            has_pre_delete_hooks=wanted.has_pre_delete_hooks,
            has_post_delete_hooks=wanted.has_post_delete_hooks,
        )

    def targets(self) -> Sequence[Object]:
        """Git's objects, each in its namespace and once; of doubles the last one counts."""
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
            self.say("ComparisonError", f"Failed to normalize target state: {problem}")
            return ()
        for warning in prepared.warnings:
            self.say("RepeatedResourceWarning", warning)
        return prepared.objects

    def prepared(self) -> Targets:
        return normalize_target_objects(
            self.inputs.targets,
            namespace=self.app.spec.destination.namespace,
            is_namespaced=self.is_namespaced,
            track=self.marked,
        )

    def marked(self, target: Object) -> Object:
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
        """Without the kinds that the settings exclude."""
        memory = self.inputs.memory
        if memory is None:
            included = self.sorted_out(targets)
        else:
            included = memory.memo(_Included).recall(lambda: self.sorted_out(targets), targets)
        for message in included.excluded:
            self.say("ExcludedResourceWarning", message)
        return included.kept

    def sorted_out(self, targets: Sequence[Object]) -> _Included:
        kept: list[Object] = []
        excluded: list[str] = []
        server = self.inputs.cluster.server if self.inputs.cluster else self.app.spec.destination.server
        for target in targets:
            ref = ref_of(target)
            if resource_excluded(self.settings, ref.group, ref.kind, server):
                excluded.append(f"Resource {ref.group}/{ref.kind} {ref.name} is excluded in the settings")
            else:
                kept.append(target)
        return _Included(kept, excluded)

    def live(self, targets: Sequence[Object]) -> dict[Key, Object]:
        """What is the app's in the cluster, as far as its project lets it see it."""
        try:
            managed = self.inputs.live.managed(self.instance, targets)
        except LiveStateProblem as problem:
            self.fail(f"Failed to load live state: {problem}")
            return {}
        live = {key: (body, self.seen(key, body)) for key, body in managed.items()}
        own = ("", self.instance)
        for body, seen in live.values():
            if seen.visible and seen.owner not in own:
                self.tell_shared(ref_of(body), seen.owner)
        return {key: body for key, (body, seen) in live.items() if seen.visible}

    def seen(self, key: Key, body: Object) -> _Seen:
        memory = self.inputs.memory
        if memory is None:
            return _Seen(self.is_visible(key, body), self.owner(body))
        return memory.memo(_Seen).recall(lambda: _Seen(self.is_visible(key, body), self.owner(body)), body)

    def is_visible(self, key: Key, body: Object) -> bool:
        project = self.inputs.project
        if project is None:
            return True
        try:
            cluster, others = self.inputs.cluster, self.inputs.project_clusters
            return live_verdict(project, ref_of(body), cluster, others).permitted
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

    def tell_shared(self, ref: Ref, owner: str) -> None:
        """An object that is marked as another app's."""
        both = f"{self.app.qualified_name} and {owner.replace('_', '/')}"
        self.say("SharedResourceWarning", f"{ref.kind}/{ref.name} is part of applications {both}")

    def wanted(self, targets: Sequence[Object], more: Sequence[Object]) -> _Wanted:
        """`more` are targets that Git does not have."""
        memory = self.inputs.memory
        if memory is None or more:
            return self.sought([*targets, *more])
        return memory.memo(_Wanted).recall(lambda: self.sought(targets), targets)

    def sought(self, targets: Sequence[Object]) -> _Wanted:
        parts = partition_for_sync(targets)
        namespace = self.app.spec.destination.namespace
        sought_targets = sought(parts.sync, namespace=namespace, is_namespaced=self.is_namespaced)
        return _Wanted(sought_targets, parts.has_pre_delete, parts.has_post_delete)

    def paired(self, sought: Sought, live: Mapping[Key, Object]) -> Pairing:
        """Objects without a UID, which only hand-written facts have, are no twins of each other."""
        nameless = {key: body for key, body in live.items() if not dig(body, "metadata", "uid")}
        stand_ins = {key: _with_uid(body, f"{key}") for key, body in nameless.items()}
        pairing = matched(sought, {**live, **stand_ins})
        if not nameless:
            return pairing
        real = {id(stand_ins[key]): body for key, body in nameless.items()}
        pairs = (Pair(pair.target, real.get(id(pair.live), pair.live)) for pair in pairing.pairs)
        return Pairing(tuple(pairs), pairing.hooks)

    def is_namespaced(self, ref: Ref) -> bool | None:
        return self.inputs.scopes.is_namespaced(ref.group, ref.kind)

    def health(self, pairing: Pairing) -> AppHealth:
        return health_from([self.part(pair) for pair in pairing.pairs], app=self.inputs.application)

    def part(self, pair: Pair) -> Part | None:
        """Remembered, as long as no script of the settings has a say: such a one may ask for the time."""
        memory = self.inputs.memory
        if memory is None or (self.scripted and self.is_scripted(pair)):
            return self.judged(pair)
        return memory.memo(_Judged).recall(lambda: _Judged(self.judged(pair)), pair.target, pair.live).part

    def is_scripted(self, pair: Pair) -> bool:
        key = key_of(pair.obj)
        return health_override(self.settings.overrides, key.group, key.kind) is not None

    def judged(self, pair: Pair) -> Part | None:
        both = ManagedPair(key=key_of(pair.obj), target=pair.target, live=pair.live)
        now = self.inputs.now.timestamp()
        return part_of(both, self.settings.overrides, lua=self.inputs.lua, now=now)

    def sync(self, by_rows: SyncCode) -> SyncCode:
        if self.failed:
            return SyncCode.UNKNOWN
        return SyncCode.OUT_OF_SYNC if has_changed_managed_namespace_metadata(self.app) else by_rows


def _with_uid(body: Object, uid: str) -> Object:
    return {**body, "metadata": {**fields(body.get("metadata")), "uid": uid}}


class Targets(msgspec.Struct, frozen=True, kw_only=True):
    objects: tuple[Object, ...]
    repeated: tuple[tuple[Key, int], ...] = ()
    """Names that occur more than once, and how often: the last one counts."""

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

    Mirrors `NormalizeTargetObjects`, Argo CD 3.6; differs: the order of the targets is kept. A kind of
    unknown scope counts as namespaced; `track` marks an object again in its new namespace.
    """
    by_key: dict[Key, list[Object]] = {}
    for position, target in enumerate(targets):
        ref = ref_of(target)
        wanted = (ref.namespace or namespace) if is_namespaced(ref) is not False else ""
        if wanted != ref.namespace:
            target = track(in_namespace(target, wanted))
        name = ref.name or _generated(target, position)
        by_key.setdefault(Key(ref.group, ref.kind, wanted, name), []).append(target)
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
