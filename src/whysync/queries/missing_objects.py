"""Missing objects: what refers to them, where Git declares them, and the fixes."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from whysync.argocd.hooks import DeletePolicy, delete_policies
from whysync.diagnosis import Case, Evidence, Fix, Set, cite
from whysync.diagnosis.owning_resource import owning_row, row_named, symptoms_about
from whysync.diagnosis.symptom import SymptomId
from whysync.diagnosis.symptoms import health_of_row
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.kubernetes.api.ref import Ref
from whysync.messages.parse import understand
from whysync.messages.patterns.pods import DependencyMissing
from whysync.queries.commands import kubectl, with_comment
from whysync.queries.group_failures import grouped
from whysync.queries.producers import Producer, creates_object, producer_of
from whysync.queries.references import Reference, is_absent, references_of
from whysync.queries.sync_position import (
    applied_before,
    comes_before,
    first_phase,
    is_hook,
    wave_of,
)

WAVE = "/metadata/annotations/argocd.argoproj.io~1sync-wave"
HOOK = "/metadata/annotations/argocd.argoproj.io~1hook"


class MissingObject(msgspec.Struct, frozen=True, kw_only=True):
    """A missing object, what needs it, the symptoms that this explains, and the evidence."""

    kind: str
    name: str
    namespace: str
    key: str
    needed_by: Ref | None
    explains: tuple[SymptomId, ...]
    evidence: tuple[Evidence, ...]
    reported: bool
    deleted_after_sync: bool = False
    pointer: str = ""
    """The field that refers to it; empty if unknown."""
    pruned: Evidence | None = None
    """Set if the last sync pruned it."""

    @property
    def what(self) -> str:
        return str(Ref(kind=self.kind, namespace=self.namespace, name=self.name))


def missing_objects(case: Case) -> Iterator[MissingObject]:
    """Objects that something needs and that do not exist, each once, with all symptoms that this explains."""
    needs = (*_reported(case), *_of_waiting_containers(case), *_not_live(case))
    for need in _one_per_object(case, needs):
        live = case.live_named(need.kind, need.namespace, need.name)
        deleted_after_sync = live is not None and _is_deleted_after_sync(live)
        yield replace(need, deleted_after_sync=deleted_after_sync, pruned=_pruned_by_last_sync(case, need))


def _reported(case: Case) -> Iterator[MissingObject]:
    """Missing objects that events, results and conditions name."""
    for group in grouped(case, DependencyMissing, by=lambda f: (f.kind, f.name, f.key)):
        failure = group.failure
        ref = group.ref
        live = case.live_named(ref.kind, ref.namespace, ref.name) if ref is not None else None
        above = owning_row(case, live) if live is not None else None
        above = above or (row_named(case, ref) if ref else None) or ref
        namespace = failure.namespace or (ref.namespace if ref else "") or case.destination_namespace
        yield MissingObject(
            kind=failure.kind or "object",
            name=failure.name,
            namespace=namespace,
            key=failure.key,
            needed_by=above,
            explains=tuple(dict.fromkeys((*group.explains, *(symptoms_about(case, above) if above else ())))),
            evidence=group.cited(says="the missing object"),
            reported=True,
        )


def _of_waiting_containers(case: Case) -> Iterator[MissingObject]:
    """Missing objects that waiting containers name."""
    for row in _unhealthy_or_running(case):
        for history in case.pods_of(row):
            for container in history.failing:
                for failure in understand(container.waiting_message).failures:
                    if isinstance(failure, DependencyMissing):
                        pointer = f"{container.pointer}/state/waiting/message"
                        yield MissingObject(
                            kind=failure.kind,
                            name=failure.name,
                            namespace=failure.namespace or history.pod.ref.namespace,
                            key=failure.key,
                            needed_by=row,
                            explains=symptoms_about(case, row),
                            evidence=(
                                cite(history.pod, pointer, says="the container cannot be created without it"),
                            ),
                            reported=True,
                        )


def _not_live(case: Case) -> Iterator[MissingObject]:
    """Objects that a Pod template refers to and that are not among the live ones of their kind."""
    for row in _unhealthy_or_running(case):
        manifest = case.live_of(row.key) or case.desired_of(row.key)
        if manifest is None:
            continue
        namespace = row.namespace or case.destination_namespace
        for reference in references_of(manifest):
            if is_absent(case, reference, namespace) and not _renamed_in_git(case, row, reference):
                yield MissingObject(
                    kind=reference.kind,
                    name=reference.name,
                    namespace=namespace if reference.is_namespaced else "",
                    key="",
                    needed_by=row,
                    explains=symptoms_about(case, row),
                    evidence=(
                        cite(manifest, reference.pointer, says="refers to an object that does not exist"),
                    ),
                    reported=False,
                    pointer=reference.pointer,
                )


def _renamed_in_git(case: Case, row: Ref, reference: Reference) -> bool:
    """Does Git already refer to another object? Then a sync is enough."""
    desired = case.desired_of(row.key)
    name = desired.at(reference.pointer) if desired is not None else reference.name
    return isinstance(name, str) and name != reference.name


def _unhealthy_or_running(case: Case) -> Iterator[Ref]:
    """Unhealthy rows, and hooks that have not succeeded."""
    for row in case.app.status.resources:
        if health_of_row(case, row)[0] in ("Degraded", "Progressing"):
            yield row.ref
    for result in case.results:
        if result.hook_type and result.hook_phase in ("Running", "Failed", "Error"):
            yield result.ref


def _one_per_object(case: Case, needs: tuple[MissingObject, ...]) -> Iterator[MissingObject]:
    """Merges needs of the same object; the first one decides everything but the symptoms."""
    by_object: dict[tuple[str, str, str], MissingObject] = {}
    for need in needs:
        if not need.explains or _exists_now(case, need):
            continue
        id = (need.kind, need.name, need.key)
        first = by_object.get(id)
        if first is None:
            by_object[id] = need
        else:
            by_object[id] = replace(
                first,
                needed_by=first.needed_by or need.needed_by,
                explains=tuple(dict.fromkeys((*first.explains, *need.explains))),
                evidence=_distinct((*first.evidence, *need.evidence)),
                reported=first.reported or need.reported,
                pointer=first.pointer or need.pointer,
            )
    yield from by_object.values()


def _distinct(evidence: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
    return tuple({(e.source, e.ref, e.pointer): e for e in evidence}.values())[:4]


def _exists_now(case: Case, need: MissingObject) -> bool:
    """Was it created after the event? An object that only lacks a key exists: that is config-error."""
    live = case.live_named(need.kind, need.namespace, need.name)
    if need.key and need.name:
        return True
    return not need.key and live is not None and not _is_deleted_after_sync(live)


def _is_deleted_after_sync(manifest: Manifest) -> bool:
    """Is it a hook that is deleted after a successful sync, so that what needs it later does not find it?"""
    return DeletePolicy.HOOK_SUCCEEDED in delete_policies(manifest.body)


def _pruned_by_last_sync(case: Case, need: MissingObject) -> Evidence | None:
    for index, result in enumerate(case.results):
        if result.status == "Pruned" and (result.kind, result.name) == (need.kind, need.name):
            pointer = f"/status/operationState/syncResult/resources/{index}/status"
            return cite(case.application, pointer, says="the last sync pruned it")
    return None


def declared_source(case: Case, need: MissingObject) -> Manifest | None:
    """The object itself in Git, or the one from which a controller creates it."""
    for manifest in case.desired:
        if manifest.ref.kind == need.kind and manifest.ref.name == need.name:
            return manifest
    return next((m for m in case.desired if creates_object(m, need.kind, need.name)), None)


def producer_of_missing(case: Case, need: MissingObject) -> Producer | None:
    """The live object from which it should have been created; `None` if Git declares the object itself."""
    if need.key or need.pruned is not None:
        return None
    if any((m.ref.kind, m.ref.name) == (need.kind, need.name) for m in case.desired):
        return None
    producer = producer_of(case, need.kind, need.namespace, need.name)
    return producer if producer is not None and producer.manifest.role is Role.LIVE else None


def comes_in_time(need: MissingObject, source: Manifest, user: Manifest) -> bool:
    """Is it applied in time? What a controller creates from another object needs an earlier wave."""
    if source.ref.kind == need.kind:
        return applied_before(source, user)
    return comes_before(source, user)


def reorder_fixes(source: Manifest, user: Manifest) -> Iterator[Fix]:
    """Applies the source before its user: an earlier wave, or, across phases, a later user."""
    if first_phase(source) == first_phase(user):
        yield Fix.change(
            source.ref,
            Set(pointer=WAVE, value=str(wave_of(user) - 1)),
            title=f"Move {source.ref} to an earlier sync wave",
        )
    else:
        yield Fix.change(
            user.ref,
            Set(pointer=HOOK, value="Sync"),
            Set(pointer=WAVE, value=str(wave_of(source) + 1)),
            title=f"Run {user.ref} in the Sync phase, in the wave after {source.ref}",
            risk="it then runs after the objects of earlier waves are applied, not before",
        )
    if is_hook(user):
        yield Fix.change(
            source.ref,
            Set(pointer=HOOK, value=first_phase(user).value),
            Set(pointer=WAVE, value=str(wave_of(user) - 1)),
            title=f"Or make {source.ref} a {first_phase(user)} hook too, in an earlier wave",
            risk="a hook is not pruned, not compared, and recreated at every sync",
        )


def names_of_kind(case: Case, need: MissingObject) -> list[str]:
    keys = case.index.live_by_key
    return sorted({key.name for key in keys if key.kind == need.kind and key.namespace == need.namespace})


def creation_commands(need: MissingObject, keys: list[str]) -> Iterator[str]:
    place = need.namespace
    values = [f"--from-literal={key}=VALUE" for key in keys or ("KEY",)]
    if need.key:  # describe does not print the values of Secrets
        yield with_comment(kubectl("describe", need.kind.lower(), need.name, namespace=place), "its keys")
        return
    match need.kind:
        case "Secret":
            yield kubectl("create", "secret", "generic", need.name, *values, namespace=place)
        case "ConfigMap":
            yield kubectl("create", "configmap", need.name, *values, namespace=place)
        case "ServiceAccount":
            yield kubectl("create", "serviceaccount", need.name, namespace=place)
        case _:
            look = kubectl("get", need.kind.lower(), namespace=place)
            yield with_comment(look, f"{need.name} is not among them")
