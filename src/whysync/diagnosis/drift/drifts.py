"""Where Git and the cluster differ, field by field, each with its writer.

What Argo CD reports in a row is a fact; the comparison of the Case is a second opinion. Where it shows
nothing although the row is OutOfSync (another version, another setting, a stale status), the cause is
sought in the raw difference of the two objects, and each such field is marked with what hides it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from whysync.argocd.api.application import HealthCode
from whysync.argocd.compare.comparison import ComparedResource, Comparison
from whysync.argocd.compare.ignored_fields import IgnoredFields
from whysync.argocd.diff.strategy import Strategy
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

# Written by the API server; a live object always has them, and nobody wants them in Git.
_SERVER_FIELDS = (
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
# Maps whose entries have nothing to do with each other: each key is a difference of its own.
_OPEN_MAPS = ("annotations", "labels", "data", "stringData")
# Major versions of Argo CD that compare by other rules than those that are known here.
_OLDER = ("0", "1", "2")


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
    """One field that differs. `wanted` is missing where only the cluster has it, `found` where only Git.

    `key` is the row's, as Argo CD names the resource.
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
        """Who wrote the live value according to managedFields: the latest manager that owns the field.

        Of two that wrote at the same time it is the one that is not Argo CD: the value is not Git's.
        """
        owners = writers_of(self.live.body, self.pointer)
        latest = [owner for owner in owners if owner.time == owners[0].time]
        others = (owner for owner in latest if owner.kind is not WriterKind.ARGOCD)
        return next(others, next(iter(owners), None))

    @property
    def last_key(self) -> str:
        """The field's own name; for an element of a list, the list's."""
        named = [part for part in pointers.split(self.pointer) if not part.isdecimal()]
        return named[-1] if named else ""

    @property
    def is_required(self) -> bool:
        """Without it the API server takes no manifest at all: it can be left to others, not left out."""
        if self.pointer.endswith(("/clientConfig/service/name", "/clientConfig/service/namespace")):
            return True
        return self.last_key in ("image", "name") and "ontainers/" in self.pointer

    def cited(self) -> tuple[Evidence, ...]:
        """Both sides of the difference, as evidence."""
        declared = "not declared in Git" if self.only_live else "declared in Git"
        live = "not in the cluster" if self.only_git else "live value"
        return (
            self._side(self.desired, self.desired_value, declared),
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


def drifts_of(case: Case) -> tuple[Drift, ...]:
    return tuple(drift for key, desired, live in _pairs(case) for drift in _of_pair(case, key, desired, live))


def _pairs(case: Case) -> Iterator[tuple[Key, Manifest, Manifest]]:
    """The resources that Argo CD calls OutOfSync and whose two sides are known."""
    for row in case.app.status.resources:
        if row.status != "OutOfSync" or row.requires_pruning:
            continue
        desired, live = case.desired_of(row.key), case.live_of(row.key)
        if desired is not None and live is not None:
            yield row.key, desired, live


def _of_pair(case: Case, key: Key, desired: Manifest, live: Manifest) -> Iterator[Drift]:
    resource = case.compared(key)
    if resource is not None and resource.live is None:
        if _is_reported_missing(case, key):
            return  # the project hides the live object from Argo CD
        resource = None  # Argo CD saw the object, so it compared with other facts than these
    target = desired
    if resource is not None and resource.target is not None:
        target = desired.with_body(resource.target)
    shown = list(per_map_entry(_shown(resource)))
    hidden = _hidden(case, resource, target, live) if not shown else _version(desired, live)
    declared = target if desired.ref.namespace else _without_namespace(target)
    for difference, hidden_by in (*((one, None) for one in shown), *hidden):
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


def _is_reported_missing(case: Case, key: Key) -> bool:
    row = case.rows.get(key)
    return row is not None and row.health is not None and row.health.status == HealthCode.MISSING


def _without_namespace(target: Manifest) -> Manifest:
    """As Git declares it: the comparison adds the destination's namespace."""
    meta = {key: value for key, value in target.meta.items() if key != "namespace"}
    return target.with_body({**target.body, "metadata": meta})


def _shown(resource: ComparedResource | None) -> Iterator[Difference]:
    changes = resource.diff.changes if resource is not None and resource.diff is not None else ()
    for change in changes:
        yield Difference(change.pointer, change.desired, change.live)


def _version(desired: Manifest, live: Manifest) -> list[tuple[Difference, HiddenBy]]:
    """Argo CD reads the live object in Git's API version, so it never shows this difference."""
    wanted, found = desired.body.get("apiVersion"), live.body.get("apiVersion")
    return [(Difference("/apiVersion", wanted, found), HiddenBy.CONVERSION)] if wanted != found else []


def _hidden(
    case: Case, resource: ComparedResource | None, desired: Manifest, live: Manifest
) -> Iterator[tuple[Difference, HiddenBy]]:
    """The raw differences of a resource that Argo CD calls OutOfSync and whose comparison shows nothing."""
    if resource is not None and resource.diff is not None and _is_sure(case, desired, live):
        return  # it differed when Argo CD compared it, and does not differ now
    comparison = case.comparison
    ignored: set[str] = set()
    if resource is not None and isinstance(comparison, Comparison):
        ignored = {field.change.pointer for field in IgnoredFields(comparison).of(resource)}
    for difference in per_map_entry(_plain(case, desired, live)):
        if resource is None or resource.diff is None:
            yield difference, HiddenBy.FAILED_COMPARISON
        elif difference.pointer == "/apiVersion":
            yield difference, HiddenBy.CONVERSION
        else:
            yield (
                difference,
                HiddenBy.IGNORE_RULE if difference.pointer in ignored else HiddenBy.NORMALIZATION,
            )


def _is_sure(case: Case, desired: Manifest, live: Manifest) -> bool:
    """Are all facts available that Argo CD compares, and does it compare by the rules known here?"""
    major = case.argocd_version.removeprefix("v").partition(".")[0]
    comparison = case.comparison
    return (
        case.desired_is_marked
        and bool(live.meta.get("managedFields"))
        and major not in _OLDER
        and desired.body.get("apiVersion") == live.body.get("apiVersion")
        and isinstance(comparison, Comparison)
        and comparison.strategy is not Strategy.SERVER_SIDE
    )


def _plain(case: Case, desired: Manifest, live: Manifest) -> list[Difference]:
    """What Git declares counts first; fields that only the cluster has count when nothing else differs."""
    raw = list(differences(_left(case, desired), _left(case, live)))
    every = [difference for difference in raw if not _is_servers(difference)]
    if not every and not case.app.spec.ignore_differences:
        every = [difference for difference in raw if _is_shell(difference)]
    declared = [d for d in every if not isinstance(d.desired_value, Missing)]
    in_lists = [d for d in every if isinstance(d.desired_value, Missing) and _in_list(d.pointer)]
    return sorted(declared + in_lists if declared else every, key=lambda d: d.pointer)


def _left(case: Case, manifest: Manifest) -> Object:
    """The object without what the Application's own rules ignore; argocd-cm's hide too much here."""
    rules = case.own_ignore_rules
    return rules.normalize(manifest.body) if rules is not None else manifest.body


def per_map_entry(found: Iterable[Difference]) -> Iterator[Difference]:
    """Annotations and labels that only one side has come as a whole map: each key has its own story."""
    for difference in found:
        wanted, live = difference.desired_value, difference.live_value
        open_map = pointers.split(difference.pointer)[-1:] and (
            pointers.split(difference.pointer)[-1] in _OPEN_MAPS
        )
        if open_map and isinstance(wanted, Missing | dict | None) and isinstance(live, Missing | dict | None):
            mine = wanted if isinstance(wanted, dict) else {}
            theirs = live if isinstance(live, dict) else {}
            if mine or theirs:
                for name in sorted(mine.keys() | theirs.keys()):
                    below = pointers.child(difference.pointer, name)
                    yield Difference(below, mine.get(name, MISSING), theirs.get(name, MISSING))
                continue
        yield difference


def _is_servers(difference: Difference) -> bool:
    """Only the cluster has it, and it is the server's own or an empty shell (of ignored fields, perhaps)."""
    return isinstance(difference.desired_value, Missing) and (
        difference.live_value in (None, {}, [])
        or any(pointers.within(difference.pointer, server) for server in _SERVER_FIELDS)
    )


def _is_shell(difference: Difference) -> bool:
    """An empty map or list that only the cluster has, and that is not the server's own."""
    own = any(pointers.within(difference.pointer, server) for server in _SERVER_FIELDS)
    return isinstance(difference.desired_value, Missing) and difference.live_value in ({}, []) and not own


def _in_list(pointer: str) -> bool:
    return any(part.isdecimal() for part in pointers.split(pointer))
