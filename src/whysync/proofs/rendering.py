"""A source that renders something else each time: a generated password, a certificate, an instant."""

from __future__ import annotations

from collections.abc import Iterable

from whysync.argocd.repo_server.repository import GitRepositories, GitRepository, Rendered
from whysync.diagnosis.drift import Drift
from whysync.diagnosis.fix import Set
from whysync.fixes.edit import edited
from whysync.json_tree import Json, Object
from whysync.kubernetes.api.ref import Key, ref_of


class Regenerating(GitRepositories):
    """The first rendering is the one that was seen; each after it has other values in those fields."""

    def __init__(self, repositories: Iterable[GitRepository], drifts: Iterable[Drift]) -> None:
        super().__init__(repositories)
        self._drifts = [drift for drift in drifts if not drift.only_live]
        self._times = 0

    def render(self, application: Object, source: Object, commit: str) -> Rendered:
        rendered = super().render(application, source, commit)
        self._times += 1
        if self._times == 1:
            return rendered
        return Rendered(
            manifests=tuple(self._anew(obj) for obj in rendered.manifests), source_type=rendered.source_type
        )

    def _anew(self, obj: Object) -> Object:
        key = ref_of(obj).key
        edits = [
            Set(pointer=drift.pointer, value=self._another(drift.wanted))
            for drift in self._drifts
            if _is_of(drift, key) and _has(obj, drift.pointer)
        ]
        return edited(obj, edits) if edits else obj

    def _another(self, value: object) -> Json:
        """Of the same kind as before: text stays text, base64 stays base64."""
        if isinstance(value, bool):
            return value
        if isinstance(value, int):
            return value + self._times
        return f"{value}{'AAAA' * (self._times - 1)}" if isinstance(value, str) else str(self._times)


def _is_of(drift: Drift, key: Key) -> bool:
    return drift.desired.key == key or drift.ref.key == key


def _has(obj: Object, pointer: str) -> bool:
    from whysync.json_tree import Missing
    from whysync.kubernetes.api.pointer import resolve

    return not isinstance(resolve(obj, pointer), Missing)
