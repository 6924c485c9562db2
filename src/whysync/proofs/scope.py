"""Which part of a cluster a simulation needs: what is synced and healthy is left out.

Included are resources that differ, are unhealthy, are hooks or are to be pruned, those that a fix changes,
what they created (ReplicaSets, Pods), what they reference (accounts, Secrets, claims), what scales them, and
what the API server reads when they are written (namespaces, quotas, limits, webhooks, CRDs). In an app with
many problems, a proof needs only the resources of its finding (`slice_for`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from whysync.argocd.api.application import ResourceRow
from whysync.argocd.ignore_differences.rules import application_rules, system_rules
from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Finding
from whysync.diagnosis.symptom import Symptom, SymptomKind
from whysync.facts.snapshot import Gap, GapKind
from whysync.json_tree import MISSING, Json, Missing, Object, dig, fields, same, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Key, group_of
from whysync.kubernetes.merge.last_applied import LAST_APPLIED
from whysync.messages.patterns.admission import WebhookDown
from whysync.messages.patterns.rbac import Forbidden
from whysync.queries.references import references_of
from whysync.queries.service_backends import workloads_behind

_DEEPEST: Final = 5
_DEEPEST_TREE: Final = 60
_NOT_SAID: Final = ("apiVersion", "metadata", "status")
_WELL: Final = ("", "Healthy")
_HOOKS: Final = ("argocd.argoproj.io/hook", "helm.sh/hook")
_OPTIONS: Final = "argocd.argoproj.io/sync-options"
_WEBHOOKS: Final = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_CRD: Final = "CustomResourceDefinition"
_RIGHTS: Final = ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
_RULES_OF_NAMESPACES: Final = ("ResourceQuota", "LimitRange", "ServiceAccount")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """`keys` are the app's own resources in it; `stubs` are to be pruned, and known by name only."""

    desired: tuple[Manifest, ...]
    live: tuple[Manifest, ...]
    keys: frozenset[Key]
    as_live: tuple[Object, ...] = ()
    """Of these Git has manifests that the facts lack: they are taken to say what is live."""
    stubs: tuple[ResourceRow, ...] = ()
    left_out: int = 0
    gaps: tuple[Gap, ...] = ()


def is_hook(manifest: Manifest) -> bool:
    return any(name in manifest.annotations for name in _HOOKS)


def is_forced(manifest: Manifest) -> bool:
    """Each sync writes the whole object anew, though nothing differs."""
    options = text(manifest.annotations.get(_OPTIONS))
    return "Force=true" in options or "Replace=true" in options


def is_overwritten(case: Case, manifest: Manifest, live: Manifest | None) -> bool:
    """Does a rule hide that Git and the cluster differ? A sync writes Git's value all the same."""
    if live is None or case.has_sync_option("RespectIgnoreDifferences=true"):
        return False
    pointers: list[str] = []
    for rule in application_rules(case.app.spec.ignore_differences):
        if rule.mismatch(live.ref) is None:
            if rule.expressions or rule.managers:
                return True  # which fields these are only Argo CD's own normalisation knows
            pointers += rule.pointers
    unknown = False
    for rule in system_rules(case.argocd.overrides):
        if rule.mismatch(live.ref) is None:
            unknown = unknown or bool(rule.expressions)
            pointers += rule.pointers
        unknown = unknown or (bool(rule.managers) and rule.trusts_managers_for(live.ref))
    # Such rules are about whole kinds, so most objects have nothing for them to hide.
    return any(_hides(manifest, live, pointer) for pointer in pointers) or (
        unknown and not _is_within(_told(manifest), _told(live))
    )


def _told(manifest: Manifest) -> Object:
    """What an object says, without what is only of the cluster."""
    own: Object = {key: one for key, one in manifest.body.items() if key not in _NOT_SAID}
    return {**own, "labels": fields(manifest.meta.get("labels"))}


def _is_within(small: Json | Missing, large: Json | Missing, depth: int = 0) -> bool:
    """Is all that the one says said by the other?"""
    if depth > _DEEPEST_TREE:
        return False
    if isinstance(small, dict) and isinstance(large, dict):
        return all(_is_within(one, large.get(key, MISSING), depth + 1) for key, one in small.items())
    if isinstance(small, list) and isinstance(large, list):
        return len(small) == len(large) and all(
            _is_within(one, other, depth + 1) for one, other in zip(small, large, strict=True)
        )
    return same(small, large)


def _hides(manifest: Manifest, live: Manifest, pointer: str) -> bool:
    try:
        wanted, found = manifest.at(pointer), live.at(pointer)
    except ValueError:
        return False
    return not isinstance(wanted, Missing) and not same(wanted, found)


def part_of(
    case: Case,
    *,
    touched: Iterable[Key] = (),
    only: frozenset[Key] | None = None,
    everything: bool = False,
) -> Scope:
    """With `only`, of what moves no more than these, and what is touched, and hooks."""
    return _Choice(case, frozenset(touched), only, everything=everything).made()


class _Choice:
    def __init__(
        self, case: Case, touched: frozenset[Key], only: frozenset[Key] | None, *, everything: bool
    ) -> None:
        self._case = case
        self._touched = touched
        self._only = only
        self._everything = everything
        self._live: dict[int, Manifest] = {}
        self._namespaces: set[str] = set()
        self._untold: dict[int, tuple[ResourceRow, Manifest]] = {}
        self._gaps: list[Gap] = []
        self._failed = {result.key for result in case.results if result.status == "SyncFailed"}

    def made(self) -> Scope:
        case = self._case
        desired: list[Manifest] = []
        keys: set[Key] = set()
        stays: list[Key] = []
        left_out: list[tuple[Key, Manifest, Manifest]] = []
        for manifest in case.desired:
            key = self._key(manifest)
            row = case.rows.get(key) or case.rows.get(key._replace(namespace=""))
            live = self._live_of(key)
            if not self._is_moving(manifest, key, row, live):
                if live is not None:
                    left_out.append((key, manifest, live))
                continue
            if self._is_unseen(row, live):
                continue
            desired.append(manifest)
            keys.add(key)
            if live is not None:
                self._take(live)
                stays += [key] * (not is_hook(manifest))
            self._namespaces.add(key.namespace)
            self._take_named(manifest, key.namespace)
        stubs = tuple(self._without_manifest(keys))
        self._take_hooks()
        if case.has_sync_option("CreateNamespace=true"):
            self._namespaces.add(case.destination_namespace)  # though nothing of the app lies in it
        if left_out and not stays:
            # With nothing left that is there and stays, Argo CD would call all of the app missing.
            self._take(min(left_out, key=lambda one: len(one[1].body))[2])
        self._take_rules(desired)
        for key, manifest, live in left_out:
            if id(live) in self._live:  # it came in with others: without its manifest it would be pruned
                desired.append(manifest)
                keys.add(key)
        as_live = tuple(self._as_live(keys))
        return Scope(
            desired=tuple(desired),
            live=tuple(self._live.values()),
            keys=frozenset(keys),
            as_live=as_live,
            stubs=stubs,
            left_out=len(case.desired) - len(desired),
            gaps=tuple(self._gaps),
        )

    def _key(self, manifest: Manifest) -> Key:
        """Under which Argo CD has it: a row without a namespace is that of a cluster-wide object."""
        key = manifest.key
        if key.namespace or key in self._case.rows:
            return key
        return key._replace(namespace=self._case.destination_namespace)

    def _live_of(self, key: Key) -> Manifest | None:
        """Applications that an app brings are live objects, too, wherever the facts keep them."""
        live = self._case.live_of(key)
        if live is not None or key.group != "argoproj.io":
            return live
        snapshot = self._case.index.snapshot
        own = (*snapshot.applications, *snapshot.projects)
        return next((one for one in own if (one.ref.kind, one.ref.name) == (key.kind, key.name)), None)

    # --- what moves ------------------------------------------------------------------------------

    def _is_moving(
        self, manifest: Manifest, key: Key, row: ResourceRow | None, live: Manifest | None
    ) -> bool:
        if self._everything or key in self._touched or manifest.key in self._touched:
            return True
        if self._only is not None and not is_hook(manifest) and not self._only & {key, manifest.key}:
            return False
        if row is None:
            return True
        return (
            row.status != "Synced"
            or is_hook(manifest)
            or key in self._failed
            or is_forced(manifest)
            or self._health(row, live) not in _WELL
            or is_overwritten(self._case, manifest, live)
        )

    def _health(self, row: ResourceRow, live: Manifest | None) -> str:
        """As the row says; newer versions of Argo CD do not keep it there."""
        if row.health is not None or live is None:
            return row.health.status if row.health is not None else ""
        verdict = self._case.health_of(live)
        return verdict.code.value if verdict is not None and verdict.code is not None else ""

    def _is_unseen(self, row: ResourceRow | None, live: Manifest | None) -> bool:
        """By Argo CD's own row it is in the cluster, and the facts do not have it."""
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
                why="it is in the cluster, and not among the facts",
                how_to_get=f"kubectl get {row.kind.lower()} {row.name}"
                f"{f' -n {row.namespace}' if row.namespace else ''} -o yaml --show-managed-fields",
            )
        )
        return True

    def _without_manifest(self, keys: set[Key]) -> Iterator[ResourceRow]:
        """Rows that no manifest belongs to: extra ones, and those whose manifest is not among the facts."""
        for row in self._case.app.status.resources:
            if row.hook or row.key in keys or self._case.desired_of(row.key) is not None:
                continue
            if self._only is not None and row.requires_pruning and row.key not in self._only:
                continue
            live = self._live_of(row.key)
            if not row.requires_pruning:
                if live is not None:
                    self._untold[id(live)] = (row, live)
            elif live is not None:
                self._take(live)
                keys.add(row.key)
            else:
                keys.add(row.key)
                yield row

    def _as_live(self, keys: set[Key]) -> Iterator[Object]:
        """Of those, what came in with others would be pruned if Git did not have it."""
        for number, (row, live) in self._untold.items():
            if number in self._live:
                keys.add(row.key)
                yield as_manifest(live.body)

    def _take_hooks(self) -> None:
        """Hooks that earlier syncs left behind stand in the way of new ones of their name."""
        for result in self._case.results:
            if result.hook_type:
                live = self._case.live_of(result.key)
                if live is not None:
                    self._take(live)

    # --- what comes with it ----------------------------------------------------------------------

    def _take(self, manifest: Manifest, depth: int = 0) -> None:
        if id(manifest) in self._live or depth > _DEEPEST:
            return
        self._live[id(manifest)] = manifest
        ref = manifest.ref
        self._namespaces.add(ref.namespace)
        for child in self._case.owned_by(ref):
            self._take(child, depth + 1)
        self._take_named(manifest, ref.namespace)
        scaler = self._case.autoscaler_of(ref)
        if scaler is not None:
            self._take(scaler, depth + 1)

    def _take_named(self, manifest: Manifest, namespace: str) -> None:
        for reference in references_of(manifest):
            found = self._case.live_named(reference.kind, namespace, reference.name)
            if found is not None:
                self._take(found, _DEEPEST)

    def _take_rules(self, desired: list[Manifest]) -> None:
        case = self._case
        for name in sorted(self._namespaces - {""}):
            for manifest in case.index.live_by_namespace.get(name, ()):
                if manifest.ref.kind in _RULES_OF_NAMESPACES:
                    self._live.setdefault(id(manifest), manifest)
        for manifest in case.live_of_kind("Namespace"):
            if manifest.ref.name in self._namespaces:
                self._live.setdefault(id(manifest), manifest)
                if manifest.meta.get("deletionTimestamp"):
                    self._take_what_is_left(manifest)
        for manifest in case.live_of_kind(*_WEBHOOKS, "Node", "ValidatingAdmissionPolicy"):
            self._live.setdefault(id(manifest), manifest)
        for failure in case.failures(WebhookDown):
            service = case.live_named("Service", failure.failure.namespace, failure.failure.service)
            if service is not None:
                for manifest in (service, *workloads_behind(case, service)):
                    self._take(manifest)
        if case.argocd.impersonation_enabled or case.failures(Forbidden):
            for manifest in case.live_of_kind(*_RIGHTS):
                self._live.setdefault(id(manifest), manifest)
        kinds = {
            (group_of(text(desired_object.body.get("apiVersion"))), desired_object.ref.kind)
            for desired_object in (*desired, *self._live.values())
        }
        for manifest in case.live_of_kind(_CRD):
            if (text(manifest.spec.get("group")), text(dig(manifest.spec, "names", "kind"))) in kinds:
                self._live.setdefault(id(manifest), manifest)

    def _take_what_is_left(self, namespace: Manifest) -> None:
        """A namespace that is being deleted goes when what is in it has gone."""
        name = namespace.ref.name
        inside = self._case.index.live_by_namespace.get(name, ())
        held = [one for one in inside if one.meta.get("finalizers")]
        for manifest in held:
            self._take(manifest, _DEEPEST)
        if not held:
            self._gaps.append(
                Gap(
                    kind=GapKind.NOT_COLLECTED,
                    what=f"what is left in Namespace {name}",
                    about=namespace.ref,
                    why="it is being deleted, and what keeps it is not among the facts",
                    how_to_get=f"kubectl get namespace {name} -o yaml, and what its conditions name",
                )
            )


def as_manifest(body: Object) -> Object:
    """A live object as Git might have it: without what servers and controllers write."""
    meta = fields(body.get("metadata"))
    kept: Object = {key: value for key, value in meta.items() if key in ("name", "namespace", "labels")}
    annotations: Object = {
        key: value for key, value in fields(meta.get("annotations")).items() if key != LAST_APPLIED
    }
    if annotations:
        kept["annotations"] = annotations
    rest: Object = {key: value for key, value in body.items() if key not in ("metadata", "status")}
    return {**rest, "metadata": kept}


_FEW: Final = 4
_MANY: Final = 40
_OF_EACH_KIND: Final = 8
_OF_ONE_RESOURCE: Final = frozenset(
    {
        SymptomKind.DIFFERS,
        SymptomKind.MISSING,
        SymptomKind.EXTRA,
        SymptomKind.UNHEALTHY,
        SymptomKind.EVENT,
        SymptomKind.STATE,
    }
)
_GROUND: Final = ("Namespace", "CustomResourceDefinition")


def slice_for(case: Case, finding: Finding) -> frozenset[Key] | None:
    """`None`: all that moves has to."""
    keys = explained_keys(case, finding)
    told = _reported_keys(case, finding)
    failing = case.operation is not None and case.operation.phase != "Succeeded"
    whole = failing or any(one.kind not in _OF_ONE_RESOURCE or one.ref is None for one in told)
    moving = sum(1 for row in case.app.status.resources if row.status == "OutOfSync")
    if moving > _MANY:
        ground = {desired_object.key for desired_object in case.desired if desired_object.ref.kind in _GROUND}
        others = (
            {result.key for result in case.results if result.status == "SyncFailed"} - keys
            if whole
            else set[Key]()
        )
        return frozenset({*_some(keys), *_some(others), *ground, finding.about.key})
    return None if whole or moving <= _FEW else keys | {finding.about.key}


def explained_keys(case: Case, finding: Finding) -> frozenset[Key]:
    """The resources whose symptoms it explains; where it explains the sync, those that failed in it."""
    drifts = {drift.symptom: drift.key for drift in case.drifts}
    told = _reported_keys(case, finding)
    found = {drifts.get(one.id) or (one.ref.key if one.ref is not None else None) for one in told}
    keys = frozenset(key for key in found if key is not None)
    return keys or frozenset(result.key for result in case.results if result.status == "SyncFailed")


def _reported_keys(case: Case, finding: Finding) -> list[Symptom]:
    explained = set(finding.explains)
    return [symptom for symptom in case.symptoms if symptom.id in explained]


def _some(keys: Iterable[Key]) -> list[Key]:
    """So many of each kind, in the order of their names."""
    by_kind: defaultdict[tuple[str, str], list[Key]] = defaultdict(list)
    for key in sorted(keys):
        by_kind[key.group, key.kind].append(key)
    return [key for alike in by_kind.values() for key in alike[:_OF_EACH_KIND]]
