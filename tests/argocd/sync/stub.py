"""A cluster that accepts every request without a word, and remembers it; answers can be put in its mouth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from whysync.argocd.health.assess import Assessment, assess
from whysync.argocd.sync.cluster_ops import ApiResource, Mode, Reason, Refused
from whysync.argocd.sync.options import Propagation
from whysync.json_tree import Json, Object
from whysync.kubernetes.api.ref import Ref, ref_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """How an object was written."""

    verb: str
    ref: Ref
    mode: Mode


@dataclass(kw_only=True)
class StubClusterOps:
    objects: Mapping[Ref, Object] = field(default_factory=dict[Ref, Object])
    """What a direct read returns."""
    verdicts: Mapping[str, Assessment] = field(default_factory=dict[str, Assessment])
    """By name; what is not in it is judged by its own status."""
    apply_errors: Mapping[str, str] = field(default_factory=dict[str, str])
    dry_run_errors: Mapping[str, str] = field(default_factory=dict[str, str])
    discovery_errors: list[Refused] = field(default_factory=list[Refused])
    """Given one by one; afterwards discovery answers."""
    unknown_kinds: frozenset[str] = frozenset()
    delete_error: Refused | None = None
    update_error: Refused | None = None
    pause_error: Refused | None = None
    patch_errors: list[Refused] = field(default_factory=list[Refused])
    served: Sequence[Ref] = ()

    discoveries: int = 0
    commands: list[Command] = field(default_factory=list[Command])
    deletions: list[Ref] = field(default_factory=list[Ref])
    attempted_deletions: int = 0
    updates: list[Object] = field(default_factory=list[Object])
    patches: list[list[Json]] = field(default_factory=list[list[Json]])
    pauses: list[tuple[str, int, bool]] = field(default_factory=list[tuple[str, int, bool]])

    def discover(self, api_version: str, kind: str, verb: str) -> ApiResource:  # noqa: ARG002  (of ClusterOps)
        self.discoveries += 1
        if self.discovery_errors:
            raise self.discovery_errors.pop(0)
        if kind in self.unknown_kinds:
            raise Refused(f'{kind} "" not found', reason=Reason.NOT_FOUND)
        return ApiResource(namespaced=kind != "Namespace")

    def kinds(self) -> Sequence[Ref]:
        return self.served

    def get(self, ref: Ref) -> Object:
        result = self.objects.get(ref)
        if result is None:
            raise Refused(f'{ref.kind.lower()}s "{ref.name}" not found', reason=Reason.NOT_FOUND)
        return result

    def apply(self, obj: Object, mode: Mode) -> str:
        return self._write("apply", obj, mode)

    def create(self, obj: Object, mode: Mode) -> str:
        return self._write("create", obj, mode)

    def replace(self, obj: Object, mode: Mode) -> str:
        return self._write("replace", obj, mode)

    def _write(self, verb: str, obj: Object, mode: Mode) -> str:
        ref = ref_of(obj)
        self.commands.append(Command(verb=verb, ref=ref, mode=mode))
        errors = self.dry_run_errors if mode.dry_run else self.apply_errors
        if ref.name in errors:
            raise Refused(errors[ref.name])
        return ""

    def update(self, obj: Object, *, dry_run: bool) -> None:
        if self.update_error is not None:
            raise self.update_error
        if not dry_run:
            self.updates.append(obj)

    def patch(self, ref: Ref, patch: list[Json]) -> None:  # noqa: ARG002  (of ClusterOps)
        self.patches.append(patch)
        if self.patch_errors:
            raise self.patch_errors.pop(0)

    def delete(self, ref: Ref, propagation: Propagation) -> None:  # noqa: ARG002  (of ClusterOps)
        self.attempted_deletions += 1
        if self.delete_error is not None:
            raise self.delete_error
        if ref in self.deletions:
            raise Refused(f'{ref.kind.lower()}s "{ref.name}" not found', reason=Reason.NOT_FOUND)
        self.deletions.append(ref)

    def health(self, obj: Object) -> Assessment | None:
        return self.verdicts.get(ref_of(obj).name) or assess(obj)

    def pause(self, phase: str, wave: int, *, final: bool) -> None:
        self.pauses.append((phase, wave, final))
        if self.pause_error is not None:
            raise self.pause_error
