"""Assign desired objects to Applications by their folder or their tracking metadata."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from whysync.argocd.tracking.method import TRACKING_ID
from whysync.facts.snapshot import Gap, GapKind
from whysync.json_tree import dig, text
from whysync.kubernetes.api.manifest import Manifest

INSTANCE_LABELS = ("argocd.argoproj.io/instance", "app.kubernetes.io/instance")
_HOW = "put the rendered manifests of each Application into desired/<app>/ (or desired/<namespace>_<app>/)"


class Desired(msgspec.Struct, frozen=True, kw_only=True):
    """A desired object, and the names in its path that may be those of an Application."""

    manifest: Manifest
    candidates: tuple[str, ...] = ()


def attributed(
    desired: Iterable[Desired], applications: Sequence[Manifest], settings: Sequence[Manifest]
) -> tuple[dict[str, list[Manifest]], list[Gap]]:
    """Desired objects by the Application's `namespace/name`, and a gap for those without one."""
    names = _Names(applications)
    labels = (*_configured_label(settings), *INSTANCE_LABELS)
    owned: dict[str, list[Manifest]] = {}
    unassigned: list[Manifest] = []
    for desired_object in desired:
        owner = names.only if names.only is not None else _owner(desired_object, names, labels)
        if owner is None:
            unassigned.append(desired_object.manifest)
        else:
            owned.setdefault(owner, []).append(desired_object.manifest)
    return owned, _gaps(unassigned)


class _Names:
    """Applications by their possible names."""

    def __init__(self, applications: Sequence[Manifest]) -> None:
        self._known: dict[str, set[str]] = {}
        qualified: set[str] = set()
        for app in applications:
            ref = app.ref
            qualified.add(ref.place)
            for name in (ref.name, f"{ref.namespace}_{ref.name}"):
                self._known.setdefault(name, set()).add(ref.place)
        self.only = next(iter(qualified)) if len(qualified) == 1 else None
        self.none = not qualified

    def find(self, name: str) -> str | None:
        """The only Application with that name; without any Application in the bundle, the name itself."""
        if self.none:
            return name
        matching = self._known.get(name, set())
        return next(iter(matching)) if len(matching) == 1 else None


def _owner(desired: Desired, names: _Names, labels: tuple[str, ...]) -> str | None:
    for candidate in desired.candidates:
        owner = names.find(candidate)
        if owner is not None:
            return owner
    if names.none:
        return ""
    tracked = text(desired.manifest.annotations.get(TRACKING_ID)).partition(":")[0]
    marks = [tracked, *(text(desired.manifest.labels.get(label)) for label in labels)]
    return next((owner for mark in marks if mark and (owner := names.find(mark)) is not None), None)


def _configured_label(settings: Sequence[Manifest]) -> tuple[str, ...]:
    for setting in settings:
        if setting.ref.name == "argocd-cm":
            label = text(dig(setting.body, "data", "application.instanceLabelKey"))
            return (label,) if label else ()
    return ()


def _gaps(unassigned: Sequence[Manifest]) -> list[Gap]:
    if not unassigned:
        return []
    shown = ", ".join(
        f"{unassigned_object.ref} ({unassigned_object.origin})" for unassigned_object in unassigned[:3]
    )
    more = f" and {len(unassigned) - 3} more" if len(unassigned) > 3 else ""
    why = "the bundle has several Applications, and these objects have no tracking metadata of one"
    return [
        Gap(
            kind=GapKind.AMBIGUOUS, what=f"the Application of desired {shown}{more}", why=why, how_to_get=_HOW
        )
    ]
