"""Which part of a cluster a simulation needs: what is synced and healthy is left out.

Included are resources that differ, are unhealthy, are hooks or are to be pruned, those that a fix changes,
what they created (ReplicaSets, Pods), what they reference (accounts, Secrets, claims), what scales them, and
what the API server reads when they are written (namespaces, quotas, limits, webhooks, CRDs). In an app with
many problems, a proof needs only the resources of its finding (`finding_scope`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from whysync.argocd.api.application import ResourceRow
from whysync.argocd.ignore_differences.rules import application_rules
from whysync.diagnosis.case import Case, DesiredResource
from whysync.diagnosis.finding import Finding
from whysync.diagnosis.symptom import Symptom, SymptomKind
from whysync.facts.snapshot import Gap, GapKind
from whysync.json_tree import MISSING, Json, Missing, Object, dig, fields, same, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Key, group_of
from whysync.kubernetes.merge.last_applied import LAST_APPLIED
from whysync.messages.patterns.admission import WebhookDown
from whysync.messages.patterns.rbac import Forbidden
from whysync.queries.commands import on_object
from whysync.queries.references import references_of
from whysync.queries.service_backends import workloads_behind

_MAX_OWNER_DEPTH: Final = 5
_MAX_TREE_DEPTH: Final = 60
_CLUSTER_FIELDS: Final = ("apiVersion", "metadata", "status")
_HEALTHY: Final = ("", "Healthy")
_OPTIONS: Final = "argocd.argoproj.io/sync-options"
_WEBHOOKS: Final = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_CRD: Final = "CustomResourceDefinition"
_RBAC_KINDS: Final = ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
_NAMESPACE_POLICIES: Final = ("ResourceQuota", "LimitRange", "ServiceAccount")


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """The simulated objects. `keys`: the app's own resources; `stubs`: to be pruned, known by name only."""

    desired: tuple[Manifest, ...]
    live: tuple[Manifest, ...]
    keys: frozenset[Key]
    desired_from_live: tuple[Object, ...] = ()
    """Manifests that the facts lack, derived from the live objects."""
    stubs: tuple[ResourceRow, ...] = ()
    left_out: int = 0
    gaps: tuple[Gap, ...] = ()


def has_replace_option(manifest: Manifest) -> bool:
    """Does every sync replace the object (Replace=true or Force=true), even if nothing differs?"""
    options = text(manifest.annotations.get(_OPTIONS))
    return "Force=true" in options or "Replace=true" in options


def has_ignored_difference(case: Case, manifest: Manifest, live: Manifest | None) -> bool:
    """Does an ignore rule hide a difference? A sync writes Git's value nevertheless."""
    if live is None or case.has_sync_option("RespectIgnoreDifferences=true"):
        return False
    pointers: list[str] = []
    for rule in application_rules(case.app.spec.ignore_differences):
        if rule.mismatch(live.ref) is None:
            if rule.expressions or rule.managers:
                return True  # only Argo CD's normalization determines the fields
            pointers += rule.pointers
    unknown = False
    for rule in case.index.system_ignore_rules:
        if rule.mismatch(live.ref) is None:
            unknown = unknown or bool(rule.expressions)
            pointers += rule.pointers
        unknown = unknown or (bool(rule.managers) and rule.trusts_managers_for(live.ref))
    # System rules apply to whole kinds; for most objects they hide nothing.
    return any(_hides_difference(manifest, live, pointer) for pointer in pointers) or (
        unknown and not _is_subset(_declared_content(manifest), _declared_content(live))
    )


def _declared_content(manifest: Manifest) -> Object:
    """The fields of an object that Git declares, without those that only a cluster has."""
    own: Object = {key: value for key, value in manifest.body.items() if key not in _CLUSTER_FIELDS}
    return {**own, "labels": fields(manifest.meta.get("labels"))}


def _is_subset(small: Json | Missing, large: Json | Missing, depth: int = 0) -> bool:
    """Does `large` have every value of `small`?"""
    if depth > _MAX_TREE_DEPTH:
        return False
    if isinstance(small, dict) and isinstance(large, dict):
        return all(_is_subset(value, large.get(key, MISSING), depth + 1) for key, value in small.items())
    if isinstance(small, list) and isinstance(large, list):
        return len(small) == len(large) and all(
            _is_subset(small_item, right, depth + 1) for small_item, right in zip(small, large, strict=True)
        )
    return same(small, large)


def _hides_difference(manifest: Manifest, live: Manifest, pointer: str) -> bool:
    try:
        desired_value, live_value = manifest.at(pointer), live.at(pointer)
    except ValueError:
        return False
    return not isinstance(desired_value, Missing) and not same(desired_value, live_value)


def scope_of(
    case: Case,
    *,
    touched: Iterable[Key] = (),
    only: frozenset[Key] | None = None,
    everything: bool = False,
) -> Scope:
    """Select the objects to simulate: affected resources, `touched` ones, hooks, and what they depend on.

    `touched` are resources that will change although nothing is wrong with them. With `only`, other affected
    resources are left out; with `everything`, nothing is.
    """
    return _ScopeBuilder(case, frozenset(touched), only, everything=everything).build()


class _ScopeBuilder:
    def __init__(
        self, case: Case, touched: frozenset[Key], only: frozenset[Key] | None, *, everything: bool
    ) -> None:
        self._case = case
        self._touched = touched
        self._only = only
        self._everything = everything
        self._live: dict[int, Manifest] = {}
        self._namespaces: set[str] = set()
        self._without_desired: dict[int, tuple[ResourceRow, Manifest]] = {}
        self._gaps: list[Gap] = []
        self._failed = {result.key for result in case.results if result.status == "SyncFailed"}

    def build(self) -> Scope:
        case = self._case
        desired: list[Manifest] = []
        keys: set[Key] = set()
        remaining: list[Key] = []
        left_out: list[tuple[Key, Manifest, Manifest]] = []
        for resource in case.desired_resources:
            manifest, key, row = resource.manifest, resource.key, resource.row
            live = resource.live or self._of_argocd(key)
            if not self._is_affected(resource, live):
                if live is not None:
                    left_out.append((key, manifest, live))
                continue
            if self._is_not_collected(row, live):
                continue
            desired.append(manifest)
            keys.add(key)
            if live is not None:
                self._include(live)
                remaining += [key] * (not resource.is_hook)
            self._namespaces.add(key.namespace)
            self._include_referenced(manifest, key.namespace)
        stubs = tuple(self._rows_without_manifest(keys))
        self._include_hooks()
        if case.has_sync_option("CreateNamespace=true"):
            self._namespaces.add(case.destination_namespace)  # even if no resource of the app is in it
        if left_out and not remaining:
            # Without any existing resource, Argo CD would report the whole app as Missing.
            self._include(min(left_out, key=lambda entry: len(entry[1].body))[2])
        self._include_policies(desired)
        for key, manifest, live in left_out:
            if id(live) in self._live:  # included as a dependency: without its manifest it would be pruned
                desired.append(manifest)
                keys.add(key)
        desired_from_live = tuple(self._as_live(keys))
        return Scope(
            desired=tuple(desired),
            live=tuple(self._live.values()),
            keys=frozenset(keys),
            desired_from_live=desired_from_live,
            stubs=stubs,
            left_out=len(case.desired) - len(desired),
            gaps=tuple(self._gaps),
        )

    def _of_argocd(self, key: Key) -> Manifest | None:
        """Applications and AppProjects of an app of apps are stored apart in the facts."""
        if key.group != "argoproj.io":
            return None
        snapshot = self._case.index.snapshot
        candidates = (*snapshot.applications, *snapshot.projects)
        return next(
            (
                candidate
                for candidate in candidates
                if (candidate.ref.kind, candidate.ref.name) == (key.kind, key.name)
            ),
            None,
        )

    # --- affected resources ----------------------------------------------------------------------

    def _is_affected(self, resource: DesiredResource, live: Manifest | None) -> bool:
        manifest, row, keys = resource.manifest, resource.row, resource.keys
        if self._everything or not keys.isdisjoint(self._touched):
            return True
        if self._only is not None and not resource.is_hook and keys.isdisjoint(self._only):
            return False
        if row is None:
            return True
        return (
            row.status != "Synced"
            or resource.is_hook
            or resource.key in self._failed
            or has_replace_option(manifest)
            or self._health(row, live) not in _HEALTHY
            or has_ignored_difference(self._case, manifest, live)
        )

    def _health(self, row: ResourceRow, live: Manifest | None) -> str:
        """The health in the row, or computed: newer versions of Argo CD do not store it there."""
        if row.health is not None or live is None:
            return row.health.status if row.health is not None else ""
        verdict = self._case.health_of(live)
        return verdict.code.value if verdict is not None and verdict.code is not None else ""

    def _is_not_collected(self, row: ResourceRow | None, live: Manifest | None) -> bool:
        """Does Argo CD report a live object that the facts lack?"""
        if row is None or live is not None:
            return False
        health = row.health.status if row.health else ""
        if row.status != "Synced" and health in ("", "Missing"):
            return False
        self._gaps.append(
            Gap(
                kind=GapKind.NOT_COLLECTED,
                what=f"live {row.ref}",
                about=row.ref,
                why="it is in the cluster but not in the facts",
                how_to_get=on_object("get", row.ref, "-o", "yaml", "--show-managed-fields"),
            )
        )
        return True

    def _rows_without_manifest(self, keys: set[Key]) -> Iterator[ResourceRow]:
        """Rows without a manifest: to be pruned, or the manifest is not in the facts."""
        for row in self._case.rows_without_manifest:
            if row.key in keys:
                continue
            if self._only is not None and row.requires_pruning and row.key not in self._only:
                continue
            live = self._case.live_of(row.key) or self._of_argocd(row.key)
            if not row.requires_pruning:
                if live is not None:
                    self._without_desired[id(live)] = (row, live)
            elif live is not None:
                self._include(live)
                keys.add(row.key)
            else:
                keys.add(row.key)
                yield row

    def _as_live(self, keys: set[Key]) -> Iterator[Object]:
        """Manifests for included live objects that would be pruned without one."""
        for number, (row, live) in self._without_desired.items():
            if number in self._live:
                keys.add(row.key)
                yield as_manifest(live.body)

    def _include_hooks(self) -> None:
        """Include hooks of earlier syncs: they block new hooks of the same name."""
        for result in self._case.results:
            if result.hook_type:
                live = self._case.live_of(result.key)
                if live is not None:
                    self._include(live)

    # --- dependencies ----------------------------------------------------------------------------

    def _include(self, manifest: Manifest, depth: int = 0) -> None:
        if id(manifest) in self._live or depth > _MAX_OWNER_DEPTH:
            return
        self._live[id(manifest)] = manifest
        ref = manifest.ref
        self._namespaces.add(ref.namespace)
        for child in self._case.owned_by(ref):
            self._include(child, depth + 1)
        self._include_referenced(manifest, ref.namespace)
        scaler = self._case.autoscaler_of(ref)
        if scaler is not None:
            self._include(scaler, depth + 1)

    def _include_referenced(self, manifest: Manifest, namespace: str) -> None:
        for reference in references_of(manifest):
            live = self._case.live_named(reference.kind, namespace, reference.name)
            if live is not None:
                self._include(live, _MAX_OWNER_DEPTH)

    def _include_policies(self, desired: list[Manifest]) -> None:
        case = self._case
        for name in sorted(self._namespaces - {""}):
            for manifest in case.index.live_by_namespace.get(name, ()):
                if manifest.ref.kind in _NAMESPACE_POLICIES:
                    self._live.setdefault(id(manifest), manifest)
        for manifest in case.live_of_kind("Namespace"):
            if manifest.ref.name in self._namespaces:
                self._live.setdefault(id(manifest), manifest)
                if manifest.meta.get("deletionTimestamp"):
                    self._include_namespace_contents(manifest)
        for manifest in case.live_of_kind(*_WEBHOOKS, "Node", "ValidatingAdmissionPolicy"):
            self._live.setdefault(id(manifest), manifest)
        for failure in case.failures(WebhookDown):
            service = case.live_named("Service", failure.failure.namespace, failure.failure.service)
            if service is not None:
                for manifest in (service, *workloads_behind(case, service)):
                    self._include(manifest)
        if case.argocd.impersonation_enabled or case.failures(Forbidden):
            for manifest in case.live_of_kind(*_RBAC_KINDS):
                self._live.setdefault(id(manifest), manifest)
        kinds = {
            (group_of(text(manifest.body.get("apiVersion"))), manifest.ref.kind)
            for manifest in (*desired, *self._live.values())
        }
        for manifest in case.live_of_kind(_CRD):
            if (text(manifest.spec.get("group")), text(dig(manifest.spec, "names", "kind"))) in kinds:
                self._live.setdefault(id(manifest), manifest)

    def _include_namespace_contents(self, namespace: Manifest) -> None:
        """Include objects with finalizers of a namespace that is terminating: they block its deletion."""
        name = namespace.ref.name
        inside = self._case.index.live_by_namespace.get(name, ())
        blocking = [manifest for manifest in inside if manifest.meta.get("finalizers")]
        for manifest in blocking:
            self._include(manifest, _MAX_OWNER_DEPTH)
        if not blocking:
            self._gaps.append(
                Gap(
                    kind=GapKind.NOT_COLLECTED,
                    what=f"the remaining objects of Namespace {name}",
                    about=namespace.ref,
                    why="it is terminating, and the objects that block it are not in the facts",
                    how_to_get=f"kubectl get namespace {name} -o yaml   # and what its conditions name",
                )
            )


def as_manifest(body: Object) -> Object:
    """A live object as a manifest, without fields that servers and controllers write."""
    meta = fields(body.get("metadata"))
    kept_metadata: Object = {
        key: value for key, value in meta.items() if key in ("name", "namespace", "labels")
    }
    annotations: Object = {
        key: value for key, value in fields(meta.get("annotations")).items() if key != LAST_APPLIED
    }
    if annotations:
        kept_metadata["annotations"] = annotations
    rest: Object = {key: value for key, value in body.items() if key not in ("metadata", "status")}
    return {**rest, "metadata": kept_metadata}


_FEW_DRIFTS: Final = 4
_MANY_DRIFTS: Final = 40
_PER_KIND: Final = 8
_RESOURCE_SYMPTOMS: Final = frozenset(
    {
        SymptomKind.DIFFERS,
        SymptomKind.MISSING,
        SymptomKind.EXTRA,
        SymptomKind.UNHEALTHY,
        SymptomKind.EVENT,
        SymptomKind.STATE,
    }
)
_PREREQUISITES: Final = ("Namespace", "CustomResourceDefinition")


def finding_scope(case: Case, finding: Finding) -> frozenset[Key] | None:
    """The resources to simulate for one finding; `None`: all affected ones."""
    keys = explained_keys(case, finding)
    symptoms = _explained_symptoms(case, finding)
    failing = case.operation is not None and case.operation.phase != "Succeeded"
    whole_app = failing or any(
        symptom.kind not in _RESOURCE_SYMPTOMS or symptom.ref is None for symptom in symptoms
    )
    affected = sum(1 for row in case.app.status.resources if row.status == "OutOfSync")
    if affected > _MANY_DRIFTS:
        prerequisites = {
            desired_object.key for desired_object in case.desired if desired_object.ref.kind in _PREREQUISITES
        }
        others = (
            {result.key for result in case.results if result.status == "SyncFailed"} - keys
            if whole_app
            else set[Key]()
        )
        return frozenset(
            {*_some_of_each_kind(keys), *_some_of_each_kind(others), *prerequisites, finding.about.key}
        )
    return None if whole_app or affected <= _FEW_DRIFTS else keys | {finding.about.key}


def explained_keys(case: Case, finding: Finding) -> frozenset[Key]:
    """The resources whose symptoms the finding explains; for a failed sync, those that failed."""
    drifts = {drift.symptom: drift.key for drift in case.drifts}
    symptoms = _explained_symptoms(case, finding)
    found = {drifts.get(symptom.id) or (symptom.ref.key if symptom.ref else None) for symptom in symptoms}
    keys = frozenset(key for key in found if key is not None)
    return keys or frozenset(result.key for result in case.results if result.status == "SyncFailed")


def _explained_symptoms(case: Case, finding: Finding) -> list[Symptom]:
    explained = set(finding.explains)
    return [symptom for symptom in case.symptoms if symptom.id in explained]


def _some_of_each_kind(keys: Iterable[Key]) -> list[Key]:
    """The first keys of each kind, sorted by name."""
    by_kind: defaultdict[tuple[str, str], list[Key]] = defaultdict(list)
    for key in sorted(keys):
        by_kind[key.group, key.kind].append(key)
    return [key for same_kind in by_kind.values() for key in same_kind[:_PER_KIND]]
