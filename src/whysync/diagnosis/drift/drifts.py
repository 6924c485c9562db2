"""Drift: the fields in which Git and the cluster differ, each with its writer.

The fields come from the comparison of the Case. If it shows no difference although Argo CD reports the
resource as OutOfSync (another version, another setting, a stale status), they come from the raw difference
of the two objects, and `hidden_by` is why the comparison does not show them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from whysync.argocd.api.application import HealthCode
from whysync.argocd.compare.comparison import ComparedResource, Comparison
from whysync.argocd.compare.ignored_fields import IgnoredFields
from whysync.argocd.diff.options import Strategy
from whysync.argocd.tracking.method import TRACKING_ID_POINTER, TrackingId, truncated_label
from whysync.diagnosis.drift.raw_difference import Difference, differences
from whysync.diagnosis.evidence import Evidence, shortened
from whysync.diagnosis.symptom import SymptomId
from whysync.json_tree import MISSING, Json, Missing, Object
from whysync.kubernetes.api import pointer as pointers
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Key, Ref
from whysync.kubernetes.field_writers import Writer, WriterKind, writers_of

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

# Set by the API server: every live object has them.
SERVER_FIELDS = (
    "/metadata/creationTimestamp",
    "/metadata/generation",
    "/metadata/managedFields",
    "/metadata/namespace",
    "/metadata/ownerReferences",
    "/metadata/resourceVersion",
    "/metadata/selfLink",
    "/metadata/uid",
    "/status",
)
# Maps with independent entries: each key is a separate difference.
_MAPS_OF_ENTRIES = ("annotations", "labels", "data", "stringData")
# Older versions of Argo CD compare by other rules.
_SAME_RULES_SINCE = (3,)


class HiddenBy(StrEnum):
    """Why the comparison of Argo CD 3.6 does not show a difference of the two objects."""

    NORMALIZATION = "normalization"
    """Both values are the same to Argo CD, or only live has the field."""
    IGNORE_RULE = "ignore-rule"
    CONVERSION = "conversion"
    """The live object is read in Git's API version."""
    FAILED_COMPARISON = "failed-comparison"
    REPORTED_SYNCED = "reported-synced"
    """The comparison shows it, but the app's status reports the resource as Synced."""


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """One field that differs. `desired_value` or `live_value` is `Missing` if that side does not have the
    field.

    `key` is the key of the resource in the app's status.
    """

    ref: Ref
    key: Key
    pointer: str
    desired_value: Json | Missing
    live_value: Json | Missing
    desired: Manifest
    live: Manifest
    symptom: SymptomId
    hidden_by: HiddenBy | None = None
    """`None`: Argo CD 3.6 shows it."""

    @property
    def only_live(self) -> bool:
        return isinstance(self.desired_value, Missing)

    @property
    def only_git(self) -> bool:
        return isinstance(self.live_value, Missing)

    @property
    def writer(self) -> Writer | None:
        """The writer of the live value according to managedFields: the latest manager that owns the field.

        Of two managers that wrote at the same time, it is the one that is not Argo CD.
        """
        owners = writers_of(self.live.body, self.pointer)
        latest = [owner for owner in owners if owner.time == owners[0].time]
        others = (owner for owner in latest if owner.kind is not WriterKind.ARGOCD)
        return next(others, next(iter(owners), None))

    @property
    def last_key(self) -> str:
        """The name of the field; for a list element, the name of the list."""
        names = [part for part in pointers.split(self.pointer) if not part.isdecimal()]
        return names[-1] if names else ""

    @property
    def name(self) -> str:
        """The name of the field for a sentence: its last key, with the keys before it that make it unique.

        `replicas`, but `subjects.name` and `limits.cpu` where the object has other fields of that name, and
        `selector.app`, because the key of a selector is no name of a field.
        """
        names = tuple(part for part in pointers.split(self.pointer) if not part.isdecimal())
        if len(names) < 2 or names[-2] in ("annotations", "data", "stringData", "binaryData"):
            return names[-1] if names else ""
        paths = {path for side in (self.desired, self.live) for path in _paths(side.body, ())}
        others = {path for path in paths if path[-1:] == names[-1:]} - {names}
        length = 2 if names[-2] in _FREE_MAPS else 1
        while length < len(names) and any(path[-length:] == names[-length:] for path in others):
            length += 1
        return ".".join(names[-length:])

    @property
    def is_required(self) -> bool:
        """Is the manifest invalid without the field, so that it cannot be removed from Git?"""
        if self.pointer.endswith(("/clientConfig/service/name", "/clientConfig/service/namespace")):
            return True
        return self.last_key in ("image", "name") and "ontainers/" in self.pointer

    def cited(self) -> tuple[Evidence, ...]:
        """Both sides of the difference, as evidence."""
        value, declared = self.desired_value, "declared in Git"
        if isinstance(value, Missing):
            # Kubernetes drops an empty list or map, so the comparison does not have it.
            value = self.desired.at(self.pointer)
            declared = "not declared in Git" if isinstance(value, Missing) else "declared in Git, but empty"
        live = "not in the cluster" if self.only_git else "live value"
        return (
            self._side(self.desired, value, declared),
            self._side(self.live, self.live_value, live),
        )

    def _side(self, manifest: Manifest, value: Json | Missing, says: str) -> Evidence:
        return Evidence(
            source=manifest.role.value,
            ref=manifest.ref,
            pointer=self.pointer,
            value=None if isinstance(value, Missing) else shortened(value),
            says=says,
            origin=manifest.origin,
        )


_FREE_MAPS = ("labels", "matchLabels", "nodeSelector", "selector")
_NOT_COMPARED = frozenset({"status", "managedFields", "ownerReferences"})


def _paths(value: Json, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The keys of all fields, without the indexes of lists."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in _NOT_COMPARED:
                yield (*path, key)
                yield from _paths(inner, (*path, key))
    elif isinstance(value, list):
        for inner in value:
            yield from _paths(inner, path)


def drifts_of(case: Case) -> tuple[Drift, ...]:
    return tuple(
        drift for key, desired, live in _pairs(case) for drift in _drifts_of_pair(case, key, desired, live)
    )


def _pairs(case: Case) -> Iterator[tuple[Key, Manifest, Manifest]]:
    """The OutOfSync resources of which both manifests are available."""
    for row in case.app.status.resources:
        if row.status != "OutOfSync" or row.requires_pruning:
            continue
        desired, live = case.desired_of(row.key), case.live_of(row.key)
        if desired is not None and live is not None:
            yield row.key, desired, live


def _drifts_of_pair(case: Case, key: Key, desired: Manifest, live: Manifest) -> Iterator[Drift]:
    resource = case.compared(key)
    if resource is not None and resource.live is None:
        if _is_reported_missing(case, key):
            return  # the project does not permit the live object, so Argo CD does not see it
        resource = None  # Argo CD saw the object, so its facts were different
    target = desired
    if resource is not None and resource.target is not None:
        target = desired.with_body(resource.target)
    shown = _without_own_mark(case, list(per_map_entry(_shown(resource))))
    # Argo CD fills in defaults on one side only if the other does not fit its type.
    shown = [d for d in shown if not _is_on_neither_side(d, desired, live)] or shown
    hidden = _hidden(case, resource, target, live) if not shown else _version(desired, live)
    declared = target if desired.ref.namespace else _without_namespace(target)
    for difference, hidden_by in (*((difference, None) for difference in shown), *hidden):
        yield Drift(
            ref=live.ref,
            key=key,
            pointer=difference.pointer,
            desired_value=difference.desired_value,
            live_value=difference.live_value,
            desired=declared,
            live=live,
            symptom=SymptomId.differs(key, difference.pointer),
            hidden_by=hidden_by,
        )


def _without_own_mark(case: Case, shown: list[Difference]) -> list[Difference]:
    """Manifests that Argo CD did not render lack the marks by which it tracks the live object."""
    others = [difference for difference in shown if not _is_own_mark(case, difference)]
    return others or shown


def _is_own_mark(case: Case, difference: Difference) -> bool:
    mark = difference.live_value
    if not isinstance(difference.desired_value, Missing) or not isinstance(mark, str):
        return False
    # depends on Argo CD's own namespace, which the facts may not have
    names = (case.app.name, f"{case.app.namespace}_{case.app.name}")
    if difference.pointer == TRACKING_ID_POINTER:
        tracking_id = TrackingId.parse(mark)
        return tracking_id is not None and tracking_id.app in names
    is_label = case.may_track_by_label and difference.pointer == case.argocd.instance_label_pointer
    return is_label and mark in map(truncated_label, names)


def _is_on_neither_side(difference: Difference, desired: Manifest, live: Manifest) -> bool:
    return all(isinstance(side.at(difference.pointer), Missing) for side in (desired, live))


def _is_reported_missing(case: Case, key: Key) -> bool:
    row = case.rows.get(key)
    return row is not None and row.health is not None and row.health.status == HealthCode.MISSING


def _without_namespace(target: Manifest) -> Manifest:
    """The manifest as in Git: the comparison adds the destination's namespace."""
    meta = {key: value for key, value in target.meta.items() if key != "namespace"}
    return target.with_body({**target.body, "metadata": meta})


def _shown(resource: ComparedResource | None) -> Iterator[Difference]:
    changes = resource.diff.changes if resource is not None and resource.diff is not None else ()
    for change in changes:
        yield Difference(change.pointer, change.desired, change.live)


def _version(desired: Manifest, live: Manifest) -> list[tuple[Difference, HiddenBy]]:
    """The difference of `apiVersion`, which Argo CD never shows: it reads the live object in this version."""
    declared, served = desired.body.get("apiVersion"), live.body.get("apiVersion")
    if declared == served:
        return []
    return [(Difference("/apiVersion", declared, served), HiddenBy.CONVERSION)]


def _hidden(
    case: Case, resource: ComparedResource | None, desired: Manifest, live: Manifest
) -> Iterator[tuple[Difference, HiddenBy]]:
    """The raw differences of an OutOfSync resource for which the comparison shows none."""
    if resource is not None and resource.diff is not None and _is_certain(case, desired, live):
        return  # it differed when Argo CD compared it, but not now
    comparison = case.comparison
    ignored: set[str] = set()
    if resource is not None and isinstance(comparison, Comparison):
        ignored = {field.change.pointer for field in IgnoredFields(comparison).of(resource)}
    for difference in per_map_entry(_raw_differences(case, desired, live)):
        if resource is None or resource.diff is None:
            yield difference, HiddenBy.FAILED_COMPARISON
        elif difference.pointer == "/apiVersion":
            yield difference, HiddenBy.CONVERSION
        else:
            yield (
                difference,
                HiddenBy.IGNORE_RULE if difference.pointer in ignored else HiddenBy.NORMALIZATION,
            )


def _is_certain(case: Case, desired: Manifest, live: Manifest) -> bool:
    """Are all facts available that Argo CD compares, and does it compare by the rules known here?"""
    comparison = case.comparison
    return (
        case.desired_is_marked
        and bool(live.meta.get("managedFields"))
        and not (case.argocd_release and case.argocd_release < _SAME_RULES_SINCE)
        and desired.body.get("apiVersion") == live.body.get("apiVersion")
        and isinstance(comparison, Comparison)
        and comparison.strategy is not Strategy.SERVER_SIDE
    )


# What the API server does not keep, so that it cannot be all that differs.
_NOTHING: tuple[Json | Missing, ...] = (MISSING, None, {}, [])


def _raw_differences(case: Case, desired: Manifest, live: Manifest) -> list[Difference]:
    """Differences of fields that Git declares; if there are none, of fields that only the live object has."""
    found = differences(_without_ignored(case, desired), _without_ignored(case, live))
    raw = _without_own_mark(case, list(per_map_entry(found)))
    every = [difference for difference in raw if not _is_set_by_server(difference)]
    if not every and not case.app.spec.ignore_differences:
        every = [difference for difference in raw if _is_empty_and_only_live(difference)]
    declared = [d for d in every if d.desired_value not in _NOTHING]
    in_lists = [d for d in every if isinstance(d.desired_value, Missing) and _in_list(d.pointer)]
    return sorted(declared + in_lists if declared else every, key=lambda d: d.pointer)


def _without_ignored(case: Case, manifest: Manifest) -> Object:
    """The object without the fields that the Application's own rules ignore; those of argocd-cm
    hide too much."""
    rules = case.own_ignore_rules
    return rules.normalize(manifest.body) if rules is not None else manifest.body


def per_map_entry(found: Iterable[Difference]) -> Iterator[Difference]:
    """Split differences of whole maps, such as annotations that only one side has, into their entries."""
    for difference in found:
        wanted, live = difference.desired_value, difference.live_value
        if difference.pointer.rpartition("/")[2] in _MAPS_OF_ENTRIES and (
            isinstance(wanted, Missing | dict | None) and isinstance(live, Missing | dict | None)
        ):
            desired_entries = wanted if isinstance(wanted, dict) else {}
            live_entries = live if isinstance(live, dict) else {}
            if desired_entries or live_entries:
                for name in sorted(desired_entries.keys() | live_entries.keys()):
                    below = pointers.child(difference.pointer, name)
                    yield Difference(
                        below, desired_entries.get(name, MISSING), live_entries.get(name, MISSING)
                    )
                continue
        yield difference


def _is_set_by_server(difference: Difference) -> bool:
    """Does only the live object have it, and is it set by the API server or empty?"""
    return isinstance(difference.desired_value, Missing) and (
        difference.live_value in (None, {}, [])
        or any(pointers.within(difference.pointer, server) for server in SERVER_FIELDS)
    )


def _is_empty_and_only_live(difference: Difference) -> bool:
    """Is it an empty map or list, or a null, that only the live object has?

    Go writes a time without a value as null: `creationTimestamp` of a template, which is no field that the
    API server sets.
    """
    set_by_server = any(pointers.within(difference.pointer, server) for server in SERVER_FIELDS)
    return (
        isinstance(difference.desired_value, Missing)
        and difference.live_value in (None, {}, [])
        and not set_by_server
    )


def _in_list(pointer: str) -> bool:
    return any(part.isdecimal() for part in pointers.split(pointer))
