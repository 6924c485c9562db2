"""Missing objects: what refers to them, where Git declares them, and the fixes."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from shlex import quote

import msgspec
from msgspec.structs import replace

from whysync.argocd.hooks import DeletePolicy, SyncPhase, delete_policies
from whysync.diagnosis import Case, Evidence, Fact, Fix, Set, cite
from whysync.diagnosis.owning_resource import owning_row, row_named, symptoms_about
from whysync.diagnosis.sentences import listed
from whysync.diagnosis.symptom import SymptomId
from whysync.diagnosis.symptoms import health_of_row
from whysync.json_tree import Object
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.kubernetes.api.ref import Ref
from whysync.messages.parse import understand
from whysync.messages.patterns.pods import DependencyMissing
from whysync.queries.commands import comment, kubectl, named, on_object, sync, with_comment
from whysync.queries.group_failures import grouped
from whysync.queries.named_objects import is_namespaced
from whysync.queries.producers import Producer, creates_object, producer_of
from whysync.queries.references import Reference, is_absent, referenced_keys, references_of
from whysync.queries.sources import is_commit
from whysync.queries.sync_position import (
    applied_before,
    comes_before,
    first_phase,
    is_hook,
    phase_and_wave,
    wave_of,
)
from whysync.queries.waiting_on import follows_health, is_running

WAVE = "/metadata/annotations/argocd.argoproj.io~1sync-wave"
HOOK = "/metadata/annotations/argocd.argoproj.io~1hook"
_CREATABLE = ("ConfigMap", "Secret", "ServiceAccount")
_CLASS_FIELDS = {
    "IngressClass": "ingressClassName",
    "PriorityClass": "priorityClassName",
    "RuntimeClass": "runtimeClassName",
    "StorageClass": "storageClassName",
}

_REDIS_SECRET = "argocd-redis"
"""The password of Redis, which Argo CD's own command generates."""


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
            namespace=namespace if is_namespaced(case, failure.kind) else "",
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
                            namespace=(failure.namespace or history.pod.ref.namespace)
                            if is_namespaced(case, failure.kind)
                            else "",
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


def _declared_source(case: Case, need: MissingObject) -> Manifest | None:
    """The object itself in Git, or the one from which a controller creates it."""
    for manifest in case.desired:
        if manifest.ref.kind == need.kind and manifest.ref.name == need.name:
            return manifest
    return next((m for m in case.desired if creates_object(m, need.kind, need.name)), None)


class Absence(msgspec.Struct, frozen=True, kw_only=True):
    """Why an object is missing that no other program creates: where Git declares it and what needs it."""

    need: MissingObject
    source: Manifest | None
    """The object in Git, or the one from which it is created."""
    user: Manifest | None
    """What needs it, in Git."""
    late: bool
    """Is the source applied after its user, or in the same wave without an order?"""

    @property
    def not_yet_applied(self) -> bool:
        return self.source is not None and not self.late


def absence_of(case: Case, need: MissingObject) -> Absence:
    source = _declared_source(case, need)
    user = case.desired_of(need.needed_by.key) if need.needed_by else None
    late = source is not None and user is not None and not _comes_in_time(need, source, user)
    return Absence(need=need, source=source, user=user, late=late)


def absence_text(case: Case, absence: Absence) -> str:
    """`Deployment shop/web needs Secret shop/db, which does not exist`."""
    need, source, user = absence.need, absence.source, absence.user
    subject = f"{need.needed_by} needs " if need.needed_by else ""
    missing = need.what
    if need.key and not need.name:
        return f"{subject}key {need.key}, which the object of its volume does not have"
    if need.key:
        return f"{subject}key {need.key} of {missing}, which it does not have"
    if need.deleted_after_sync:
        return f"{subject}{missing}, a hook that its hook-delete-policy HookSucceeded deletes after the sync"
    if source is None and need.pruned is not None:
        return f"{subject}{missing}, which the last sync pruned because it is no longer in Git"
    if source is None:
        undeclared = ", and this Application does not declare it" if case.has(Fact.DESIRED) else ""
        return f"{subject}{missing}, which does not exist{undeclared}{_may_be_created(case)}"
    created_from = "" if source.ref.kind == need.kind else f" created from {source.ref},"
    if absence.late and user is not None:
        applied, needed = phase_and_wave(source), phase_and_wave(user)
        if applied == needed:
            return f"{subject}{missing},{created_from} in the same wave ({applied}), which has no order"
        order = f"in {applied}, but is needed in {needed}"
        return f"{subject}{missing},{created_from} which is applied too late: {order}"
    return (
        f"{subject}{missing},{created_from} which is declared in Git"
        f" ({phase_and_wave(source)}) but not in the cluster yet"
    )


def _may_be_created(case: Case) -> str:
    """A PostSync hook runs only after everything is healthy, also if that needs what the hook creates."""
    hooks = follows_health(case) if is_running(case) else ()
    if not hooks:
        return ""
    return f"; if the PostSync hook {listed(hooks)} creates it, neither can continue"


def absence_evidence(absence: Absence) -> tuple[Evidence, ...]:
    need = absence.need
    pruned = (need.pruned,) if need.pruned is not None else ()
    return (*need.evidence, *pruned, *_sync_positions(absence.source, absence.user))


def _sync_positions(source: Manifest | None, user: Manifest | None) -> Iterator[Evidence]:
    if source is not None:
        yield cite(source, "/metadata/annotations", says=f"when it is applied: {phase_and_wave(source)}")
    if source is not None and user is not None:
        yield cite(user, "/metadata/annotations", says=f"when it is needed: {phase_and_wave(user)}")


def absence_fixes(case: Case, absence: Absence) -> Iterator[Fix]:
    need, source, user = absence.need, absence.source, absence.user
    sync_command = sync(case)
    if need.deleted_after_sync:
        yield Fix.run(
            comment(
                f"{need.kind} {need.name}: no hook annotation, or hook-delete-policy: BeforeHookCreation"
            ),
            sync_command,
            title="Keep it: make it a regular resource, or a hook that stays until the next sync",
        )
        return
    if absence.late and source is not None and user is not None:
        yield from _reorder_fixes(source, user)
        return
    if source is not None:
        yield Fix.run(
            on_object("get", source.ref), sync_command, title=f"Sync, so that {source.ref} is created first"
        )
        return
    yield from _fixes_of_undeclared(case, need, user)


def _commits_of_last_sync(case: Case) -> str:
    """The commits between the last two syncs of an app with one Git source: what was pruned is in them."""
    synced = [entry.revision for entry in case.app.status.history]
    after = synced[-1] if synced else ""
    before = next((revision for revision in reversed(synced) if revision != after), "")
    operation = case.operation
    result = operation.sync_result if operation is not None else None
    sources = case.app.sources
    if len(sources) != 1 or not is_commit(before) or not is_commit(after):
        return ""
    if result is None or result.revision != after:
        return ""
    return f"git log --oneline {before[:8]}..{after[:8]} -- {quote(sources[0].path or '.')}"


def _fixes_of_undeclared(case: Case, need: MissingObject, user: Manifest | None) -> Iterator[Fix]:
    similar = get_close_matches(need.name, _names_of_kind(case, need), n=1)
    if similar and user is not None and need.pointer and user.at(need.pointer) == need.name:
        yield Fix.change(
            user.ref,
            Set(pointer=need.pointer, value=similar[0]),
            title=f"If {similar[0]} is meant: correct the name in Git",
        )
    elif similar:
        yield Fix.run(
            kubectl("get", need.kind.lower(), similar[0], namespace=need.namespace),
            title=f"If {similar[0]} is meant: correct the name in Git",
        )
    if need.pruned is not None:
        yield Fix.run(
            with_comment(
                _commits_of_last_sync(case) or f"git log --oneline -G {quote(named(need.name))}",
                f"which commit removed {need.kind} {need.name}? Look before you revert: git show COMMIT",
            ),
            "git revert COMMIT && git push",
            title=f"Restore {need.kind} {need.name} in Git; argocd.argoproj.io/sync-options: Prune=false"
            " protects it from pruning",
        )
    if need.pruned is not None and need.kind not in _CREATABLE:
        return
    action = (
        f"Add key {need.key} to {need.kind} {need.name}" if need.key else f"Create {need.kind} {need.name}"
    )
    referrer = user or (case.live_of(need.needed_by.key) if need.needed_by is not None else None)
    keys = referenced_keys(referrer, need.kind, need.name) if referrer is not None else []
    unknown_keys = not keys and not need.key and need.kind in ("Secret", "ConfigMap")
    look = (
        with_comment(on_object("get", need.needed_by, "-o", "yaml"), "which keys of it are read")
        if need.needed_by is not None and unknown_keys
        else ""
    )
    if need.kind == "ServiceAccount" and need.pruned is None:
        metadata: Object = {"name": need.name, "namespace": need.namespace}
        yield Fix.new(
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata},
            title=f"Add ServiceAccount {need.name} to this app's source",
        )
        action = f"Until then: create ServiceAccount {need.name} by hand"
    again, continues = not _waits_for_it_alone(case), is_running(case)
    yield Fix.run(
        *((look,) if look else ()),
        *_creation_commands(need, keys),
        *((sync(case),) if again else ()),
        title=f"{action}, then sync"
        if again
        else f"{action}: the running sync then continues"
        if continues
        else f"{action}; no sync is needed",
    )
    yield from _another_class(case, need, again=again, corrected=bool(similar))
    yield from _in_an_earlier_hook(case, need)


def _another_class(case: Case, need: MissingObject, *, again: bool, corrected: bool) -> Iterator[Fix]:
    """A class of the cluster is often only misspelled; other apps share it, so it is not created lightly."""
    field = _CLASS_FIELDS.get(need.kind)
    if field is None or corrected:
        return
    yield Fix.run(
        with_comment(kubectl("get", need.kind.lower()), "the classes that exist"),
        with_comment(f"git grep -n -F {quote(need.name)}", "in the checkout: where it is set"),
        *((sync(case),) if again else ()),
        title=f"Or, if another class is meant: correct {field} in Git",
    )


def _waits_for_it_alone(case: Case) -> bool:
    """Is everything applied, or does a running sync wait? Then controllers and the kubelet retry."""
    operation = case.app.status.operation_state
    if is_running(case):
        return True
    ended_well = operation is None or operation.phase == "Succeeded"
    return case.app.status.sync.status == "Synced" and ended_well


def _in_an_earlier_hook(case: Case, need: MissingObject) -> Iterator[Fix]:
    """A PreSync hook runs before the app's own resources are applied; the facts do not show whose it is."""
    needed_by = need.needed_by
    if needed_by is None or case.has(Fact.DESIRED) or need.key:
        return
    if not any(result.key == needed_by.key and result.hook_type == "PreSync" for result in case.results):
        return
    yield Fix.run(
        comment(f"{need.kind} {need.name}, annotations argocd.argoproj.io/hook: PreSync,"),
        comment("argocd.argoproj.io/sync-wave: '-1', argocd.argoproj.io/hook-delete-policy:"),
        comment(f"BeforeHookCreation; or make {needed_by} a PostSync hook; commit"),
        sync(case),
        title=f"If this app creates {need.kind} {need.name} itself: create it before the hook, which runs"
        " in PreSync",
    )


def producer_of_missing(case: Case, need: MissingObject) -> Producer | None:
    """The live object from which it should have been created; `None` if Git declares the object itself."""
    if need.key or need.pruned is not None:
        return None
    if any((m.ref.kind, m.ref.name) == (need.kind, need.name) for m in case.desired):
        return None
    producer = producer_of(case, need.kind, need.namespace, need.name)
    return producer if producer is not None and producer.manifest.role is Role.LIVE else None


def _comes_in_time(need: MissingObject, source: Manifest, user: Manifest) -> bool:
    """Is it applied in time? What a controller creates from another object needs an earlier wave."""
    if source.ref.kind == need.kind:
        return applied_before(source, user)
    return comes_before(source, user)


def _reorder_fixes(source: Manifest, user: Manifest) -> Iterator[Fix]:
    """Applies the source before its user: an earlier wave, or, across phases, a later user."""
    if first_phase(source) == first_phase(user):
        yield Fix.change(
            source.ref,
            Set(pointer=WAVE, value=str(wave_of(user) - 1)),
            title=f"Move {source.ref} to an earlier sync wave",
        )
    elif not is_hook(user):
        yield Fix.change(
            source.ref,
            Set(pointer=HOOK, value="PreSync"),
            title=f"Run {source.ref} in the PreSync phase, before {user.ref}",
        )
    else:
        yield Fix.change(
            user.ref,
            Set(pointer=HOOK, value="Sync"),
            Set(pointer=WAVE, value=str(wave_of(source) + 1)),
            title=f"Run {user.ref} in the Sync phase, in the wave after {source.ref}",
            risk="it then runs after the objects of earlier waves are applied, not before",
        )
    # In the Sync phase, the prune of the old object would count as the run of the hook.
    if is_hook(user) and first_phase(user) is not SyncPhase.SYNC:
        yield Fix.change(
            source.ref,
            Set(pointer=HOOK, value=first_phase(user).value),
            Set(pointer=WAVE, value=str(wave_of(user) - 1)),
            title=f"Or make {source.ref} a {first_phase(user)} hook too, in an earlier wave",
            risk="a hook is not pruned, not compared, and recreated at every sync",
        )


def _names_of_kind(case: Case, need: MissingObject) -> list[str]:
    keys = case.index.live_by_key
    return sorted({key.name for key in keys if key.kind == need.kind and key.namespace == need.namespace})


def _creation_commands(need: MissingObject, keys: list[str]) -> Iterator[str]:
    place = need.namespace
    values = [f"--from-literal={key}=VALUE" for key in keys or ("KEY",)]
    if need.key:  # describe does not print the values of Secrets
        yield with_comment(kubectl("describe", need.kind.lower(), need.name, namespace=place), "its keys")
        return
    match need.kind:
        case "Secret" if need.name == _REDIS_SECRET:
            yield with_comment(f"argocd admin redis-initial-password -n {place}", "creates it, with key auth")
        case "Secret":
            yield kubectl("create", "secret", "generic", need.name, *values, namespace=place)
        case "ConfigMap":
            yield kubectl("create", "configmap", need.name, *values, namespace=place)
        case "PriorityClass":
            yield with_comment(
                kubectl("create", "priorityclass", need.name, "--value=1000"), "higher values go first"
            )
        case "ServiceAccount":
            yield kubectl("create", "serviceaccount", need.name, namespace=place)
        case _:
            look = kubectl("get", need.kind.lower(), namespace=place)
            yield with_comment(look, f"{need.name} is not among them")
