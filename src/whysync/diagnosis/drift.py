"""Where Git and the cluster differ, field by field, each with its writer.

What Argo CD says of a row is a fact; whysync compares for itself, as Argo CD does, with the same rules.
Where that shows nothing although the row is OutOfSync (another version, another setting, a stale status),
the cause is sought in the plain difference of the two objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from whysync.argocd.diff.compare import diff
from whysync.argocd.diff.compare_options import DiffOptions
from whysync.argocd.diff.strategy import Strategy, strategy_for
from whysync.argocd.tracking import TRACKING_ID, MalformedMetadata
from whysync.argocd.tracking.marks import with_annotation
from whysync.diagnosis.difference import Difference, differences
from whysync.diagnosis.evidence import Evidence, shortened
from whysync.diagnosis.symptom import SymptomId
from whysync.json_tree import MISSING, Json, Missing, Object, text
from whysync.kubernetes.api import pointer as pointers
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Key, Ref
from whysync.kubernetes.field_writers import Writer, writer_of
from whysync.kubernetes.merge.errors import DiffError

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


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """One field that differs. `wanted` is missing where only the cluster has it, `found` where only Git.

    `key` is the row's, as Argo CD names the resource.
    """

    ref: Ref
    key: Key
    pointer: str
    wanted: Json | Missing
    found: Json | Missing
    desired: Manifest
    live: Manifest
    symptom: SymptomId
    # does Argo CD's own way of comparing show it, or only the plain difference?
    shown: bool = True

    @property
    def only_live(self) -> bool:
        return isinstance(self.wanted, Missing)

    @property
    def only_git(self) -> bool:
        return isinstance(self.found, Missing)

    @property
    def writer(self) -> Writer | None:
        """Who wrote the live value, as managedFields tell; `None` where they do not."""
        return writer_of(self.live.body, self.pointer)

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
        wanted = "only the cluster has it" if self.only_live else "Git says this"
        found = "the cluster does not have it" if self.only_git else "the cluster says this"
        return self._side(self.desired, self.wanted, wanted), self._side(self.live, self.found, found)

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
    """The resources that Argo CD calls OutOfSync, of which both sides are known."""
    for row in case.app.status.resources:
        if row.status != "OutOfSync" or row.requires_pruning:
            continue
        desired, live = case.desired_of(row.key), case.live_of(row.key)
        if desired is not None and live is not None:
            yield row.key, desired, live


def is_shown(case: Case, desired: Manifest, live: Manifest) -> bool:
    """Would Argo CD, by whysync's reckoning, call this pair OutOfSync?"""
    placed = _placed_as(live, _marked_as(live, desired, case))
    return bool(_as_argocd_shows(case, placed, live))


def _of_pair(case: Case, key: Key, desired: Manifest, live: Manifest) -> Iterator[Drift]:
    desired = _marked_as(live, desired, case)
    placed = _placed_as(live, desired)
    found = _as_argocd_shows(case, placed, live)
    if found == [] and _is_sure(case, placed, live):
        return  # it differed when Argo CD looked, and does not any more
    shown = bool(found)
    for difference in _one_by_one(found or _plain(case, placed, live)):
        yield Drift(
            ref=live.ref,
            key=key,
            pointer=difference.pointer,
            wanted=difference.wanted,
            found=difference.found,
            desired=desired,
            live=live,
            symptom=SymptomId.differs(key, difference.pointer),
            shown=shown,
        )


def _marked_as(live: Manifest, desired: Manifest, case: Case) -> Manifest:
    """Argo CD marks what it renders; manifests that somebody else rendered have no mark to compare."""
    mark = text(live.annotations.get(TRACKING_ID))
    if not mark or case.desired_is_marked or TRACKING_ID in desired.annotations:
        return desired
    try:
        return desired.with_body(with_annotation(desired.body, TRACKING_ID, mark))
    except MalformedMetadata:
        return desired


def _placed_as(live: Manifest, desired: Manifest) -> Manifest:
    """Argo CD puts what names no namespace into the destination's: ignore rules with one then match it."""
    space, meta = live.meta.get("namespace"), desired.body.get("metadata")
    if not space or not isinstance(meta, dict) or meta.get("namespace"):
        return desired
    return desired.with_body({**desired.body, "metadata": {**meta, "namespace": space}})


def _is_sure(case: Case, desired: Manifest, live: Manifest) -> bool:
    """Is all at hand that Argo CD goes by, and does it go by the rules that are known here?"""
    major = case.world.snapshot.argocd_version.removeprefix("v").partition(".")[0]
    return (
        case.desired_is_marked
        and bool(live.meta.get("managedFields"))
        and major not in _OLDER
        and _strategy(case, desired) is not Strategy.SERVER_SIDE
    )


def _strategy(case: Case, desired: Manifest) -> Strategy:
    return strategy_for(
        case.application.annotations,
        case.app.spec.sync_policy.sync_options,
        server_side_diff=case.argocd.server_side_diff,
        target_annotations=desired.annotations,
    )


def _as_argocd_shows(case: Case, desired: Manifest, live: Manifest) -> list[Difference] | None:
    """A server-side diff needs the API server's answer, which a bundle seldom has: then three ways serve.

    `None` where it cannot be told.
    """
    settings = case.argocd
    strategy = _strategy(case, desired)
    normalization = case.normalization
    options = DiffOptions(
        strategy=Strategy.LEGACY if strategy is Strategy.SERVER_SIDE else strategy,
        normalizer=normalization,
        ignore_aggregated_roles=settings.compare_options.ignore_aggregated_roles,
    )
    try:
        sides = desired.body, live.body
        if normalization is not None:
            sides = normalization.before_diff(*sides)
        result = diff(*sides, options)
    except (DiffError, MalformedMetadata):
        return None
    changes = result.changes if result.modified else ()
    return [Difference(change.pointer, change.desired, change.live) for change in changes]


def _plain(case: Case, desired: Manifest, live: Manifest) -> list[Difference]:
    """What Git declares counts first; fields that only the cluster has count when nothing else differs."""
    raw = list(differences(_left(case, desired), _left(case, live)))
    every = [difference for difference in raw if not _is_servers(difference)]
    if not every and not case.app.spec.ignore_differences:
        every = [difference for difference in raw if _is_shell(difference)]
    declared = [d for d in every if not isinstance(d.wanted, Missing)]
    in_lists = [d for d in every if isinstance(d.wanted, Missing) and _in_list(d.pointer)]
    return sorted(declared + in_lists if declared else every, key=lambda d: d.pointer)


def _left(case: Case, manifest: Manifest) -> Object:
    """The object without what the Application's own rules ignore; argocd-cm's hide too much here."""
    rules = case.own_ignoring
    return rules.normalize(manifest.body) if rules is not None else manifest.body


def _one_by_one(found: Iterable[Difference]) -> Iterator[Difference]:
    """Annotations and labels that only one side has come as a whole map: each key has its own story."""
    for difference in found:
        wanted, live = difference.wanted, difference.found
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
    return isinstance(difference.wanted, Missing) and (
        difference.found in (None, {}, [])
        or any(pointers.within(difference.pointer, server) for server in _SERVER_FIELDS)
    )


def _is_shell(difference: Difference) -> bool:
    """An empty map or list that only the cluster has, and that is not the server's own."""
    own = any(pointers.within(difference.pointer, server) for server in _SERVER_FIELDS)
    return isinstance(difference.wanted, Missing) and difference.found in ({}, []) and not own


def _in_list(pointer: str) -> bool:
    return any(part.isdecimal() for part in pointers.split(pointer))
