"""A Pod needs a Secret, ConfigMap, account or claim that is not there, an Ingress its class.

## What happens
The manifest names an object that does not exist: the Pod cannot start, a hook
waits for ever, a wave never becomes healthy. Often it is made in a later sync wave or phase than
the thing that needs it, or by another tool (External Secrets, Sealed Secrets) that comes later; it
then works wherever the object exists from before.

## How whysync knows
Events and container states name it (`secret "x" not found`), or a Pod template names an object that
is not among the live ones of its kind. whysync then looks where Git declares it, and in which phase
and wave.

## Fix
Create it, or let it come first: an earlier phase or sync wave. The same wave is not an order. A
hook of PreSync cannot use what the Sync phase makes.

## When it is something else
The object exists and lacks a key: config-error. It exists and the login with it fails: then the log says
so (hook-failed, crashloop).
"""

from collections.abc import Iterator
from difflib import get_close_matches

import msgspec
from msgspec.structs import replace

from whysync.argocd.hooks import DeletePolicy, delete_policies
from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Set, Severity, cite, rule
from whysync.diagnosis.owning_resource import row_above, row_named, symptoms_about
from whysync.diagnosis.symptoms import health_of_row
from whysync.json_tree import dig, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.messages.parse import understand
from whysync.messages.patterns.pods import DependencyMissing
from whysync.queries.commands import beside, kubectl, on_object, remark, sync
from whysync.queries.group_failures import grouped
from whysync.queries.references import Reference, is_absent, keys_asked_of, references_of
from whysync.queries.sync_position import (
    applied_before,
    comes_before,
    first_phase,
    is_hook,
    place_in_words,
    wave_of,
)

WAVE = "/metadata/annotations/argocd.argoproj.io~1sync-wave"
HOOK = "/metadata/annotations/argocd.argoproj.io~1hook"
# Objects from which a controller makes a Secret of a name that they give.
MAKERS = {
    "ExternalSecret": ("spec", "target", "name"),
    "SealedSecret": ("spec", "template", "metadata", "name"),
    "Certificate": ("spec", "secretName"),
    "VaultStaticSecret": ("spec", "destination", "name"),
}


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """One missing object, who needs it, what that explains, and the evidence for it."""

    kind: str
    name: str
    namespace: str
    key: str
    needed_by: Ref | None
    explains: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    said: bool
    goes: bool = False
    pointer: str = ""
    """Where the user names it, where that is known."""
    pruned: Evidence | None = None
    """The last sync deleted it, because Git does not declare it any more."""

    @property
    def what(self) -> str:
        return str(Ref(kind=self.kind, namespace=self.namespace, name=self.name))


_MADE_BY_HAND = ("ConfigMap", "Secret", "ServiceAccount")


@rule(cause="dependency-missing", since="0.1")
def referenced_object_missing(case: Case) -> Iterator[Finding]:
    for found in _joined(case, (*_told(case), *_waiting(case), *_seen(case))):
        live = case.live_named(found.kind, found.namespace, found.name)
        goes = live is not None and _comes_and_goes(live)
        need = replace(found, goes=goes, pruned=_pruned(case, found))
        source = _declared(case, need)
        user = case.desired_of(need.needed_by.key) if need.needed_by else None
        late = source is not None and user is not None and not _in_time(need, source, user)
        yield Finding(
            about=need.needed_by or case.application.ref,
            field=None if source is None or late else WAVE,
            explains=need.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH if need.said else Confidence.MEDIUM,
            verdict=_verdict(need, source, user, late=late),
            root=f"{need.what} does not exist" if not need.key else None,
            evidence=(
                *need.evidence,
                *((need.pruned,) if need.pruned is not None else ()),
                *_places(source, user),
            ),
            fixes=tuple(_fixes(case, need, source, user, late=late)),
        )


def _told(case: Case) -> Iterator[Need]:
    """Events, results and conditions that name it."""
    for group in grouped(case, DependencyMissing, by=lambda f: (f.kind, f.name, f.key)):
        failure = group.failure
        ref = group.ref
        live = case.live_named(ref.kind, ref.namespace, ref.name) if ref is not None else None
        above = row_above(case, live) if live is not None else None
        above = above or (row_named(case, ref) if ref else None) or ref
        namespace = failure.namespace or (ref.namespace if ref else "") or case.destination_namespace
        yield Need(
            kind=failure.kind or "object",
            name=failure.name,
            namespace=namespace,
            key=failure.key,
            needed_by=above,
            explains=tuple(dict.fromkeys((*group.explains, *(symptoms_about(case, above) if above else ())))),
            evidence=group.cited(says="this is what is missing"),
            said=True,
        )


def _waiting(case: Case) -> Iterator[Need]:
    """Containers that cannot be made, and say why."""
    for row in _troubled(case):
        for story in case.pods_of(row):
            for container in story.failing:
                for failure in understand(container.waiting_message).failures:
                    if isinstance(failure, DependencyMissing):
                        pointer = f"{container.pointer}/state/waiting/message"
                        yield Need(
                            kind=failure.kind,
                            name=failure.name,
                            namespace=failure.namespace or story.pod.ref.namespace,
                            key=failure.key,
                            needed_by=row,
                            explains=symptoms_about(case, row),
                            evidence=(
                                cite(story.pod, pointer, says="the container cannot be made without it"),
                            ),
                            said=True,
                        )


def _seen(case: Case) -> Iterator[Need]:
    """Named in a Pod template, and not among the live objects of that kind."""
    for row in _troubled(case):
        manifest = case.live_of(row.key) or case.desired_of(row.key)
        if manifest is None:
            continue
        namespace = row.namespace or case.destination_namespace
        for reference in references_of(manifest):
            if is_absent(case, reference, namespace) and not _renamed_in_git(case, row, reference):
                yield Need(
                    kind=reference.kind,
                    name=reference.name,
                    namespace=namespace if reference.is_namespaced else "",
                    key="",
                    needed_by=row,
                    explains=symptoms_about(case, row),
                    evidence=(
                        cite(manifest, reference.pointer, says="it needs this, and no such object is live"),
                    ),
                    said=False,
                    pointer=reference.pointer,
                )


def _renamed_in_git(case: Case, row: Ref, reference: Reference) -> bool:
    """Git names another object by now: what is left is to sync."""
    desired = case.desired_of(row.key)
    found = desired.at(reference.pointer) if desired is not None else reference.name
    return isinstance(found, str) and found != reference.name


def _troubled(case: Case) -> Iterator[Ref]:
    """Rows that are not healthy, and hooks that have not succeeded."""
    for row in case.app.status.resources:
        if health_of_row(case, row)[0] in ("Degraded", "Progressing"):
            yield row.ref
    for result in case.results:
        if result.hook_type and result.hook_phase in ("Running", "Failed", "Error"):
            yield result.ref


def _joined(case: Case, needs: tuple[Need, ...]) -> Iterator[Need]:
    """One per missing object: who was told of it first speaks, all that it explains is kept."""
    found: dict[tuple[str, str, str], Need] = {}
    for need in needs:
        if not need.explains or _exists(case, need):
            continue
        id = (need.kind, need.name, need.key)
        known = found.get(id)
        if known is None:
            found[id] = need
        else:
            found[id] = Need(
                kind=known.kind,
                name=known.name,
                namespace=known.namespace,
                key=known.key,
                needed_by=known.needed_by or need.needed_by,
                explains=tuple(dict.fromkeys((*known.explains, *need.explains))),
                evidence=_distinct((*known.evidence, *need.evidence)),
                said=known.said or need.said,
                pointer=known.pointer or need.pointer,
            )
    yield from found.values()


def _pruned(case: Case, need: Need) -> Evidence | None:
    for index, result in enumerate(case.results):
        if result.status == "Pruned" and (result.kind, result.name) == (need.kind, need.name):
            pointer = f"/status/operationState/syncResult/resources/{index}/status"
            return cite(case.application, pointer, says="the last sync deleted it")
    return None


def _distinct(evidence: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
    return tuple({(e.source, e.ref, e.pointer): e for e in evidence}.values())[:4]


def _exists(case: Case, need: Need) -> bool:
    """It came after the event was written. Where a key is missing, the object is there: config-error."""
    live = case.live_named(need.kind, need.namespace, need.name)
    if need.key and need.name:
        return True
    return not need.key and live is not None and not _comes_and_goes(live)


def _comes_and_goes(manifest: Manifest) -> bool:
    """A hook that is deleted when the sync has succeeded: whoever needs it later does not find it."""
    return DeletePolicy.HOOK_SUCCEEDED in delete_policies(manifest.body)


def _declared(case: Case, need: Need) -> Manifest | None:
    """The object itself in Git, or the one from which a controller makes it."""
    for manifest in case.desired:
        if manifest.ref.kind == need.kind and manifest.ref.name == need.name:
            return manifest
    for manifest in case.desired:
        path = MAKERS.get(manifest.ref.kind)
        if path and need.kind == "Secret":
            made = text(dig(manifest.body, *path)) or manifest.ref.name
            if made == need.name:
                return manifest
    return None


def _in_time(need: Need, source: Manifest, user: Manifest) -> bool:
    """The object itself needs only to be sent first; what a controller makes from another needs a wave."""
    if source.ref.kind == need.kind:
        return applied_before(source, user)
    return comes_before(source, user)


def _verdict(need: Need, source: Manifest | None, user: Manifest | None, *, late: bool) -> str:
    who = f"{need.needed_by} needs " if need.needed_by else ""
    what = need.what
    if need.key:
        return f"{who}key {need.key} of {what}, which is not in it"
    if need.goes:
        return f"{who}{what}, which is a hook: its delete policy HookSucceeded removes it after the sync"
    if source is None and need.pruned is not None:
        return f"{who}{what}, which the last sync pruned: Git does not declare it any more"
    if source is None:
        return f"{who}{what}, which does not exist, and this Application does not declare it"
    made = "" if source.ref.kind == need.kind else f" made from {source.ref},"
    if late and user is not None:
        places = f"{place_in_words(source)}, and needed in {place_in_words(user)}"
        return f"{who}{what},{made} which comes too late: {places}"
    return (
        f"{who}{what},{made} which Git declares ({place_in_words(source)}) and the cluster does not have yet"
    )


def _places(source: Manifest | None, user: Manifest | None) -> Iterator[Evidence]:
    if source is not None:
        yield cite(source, "/metadata/annotations", says=f"where it is declared: {place_in_words(source)}")
    if source is not None and user is not None:
        yield cite(user, "/metadata/annotations", says=f"where it is needed: {place_in_words(user)}")


def _fixes(
    case: Case, need: Need, source: Manifest | None, user: Manifest | None, *, late: bool
) -> Iterator[Fix]:
    again = sync(case)
    if need.goes:
        yield Fix.run(
            remark(f"{need.kind} {need.name}: no hook, or hook-delete-policy: BeforeHookCreation"),
            again,
            title="Keep it: no hook, or one that stays until the next sync",
        )
        return
    if late and source is not None and user is not None:
        yield from _reordered(source, user)
        return
    if source is not None:
        yield Fix.run(
            on_object("get", source.ref), again, title=f"Sync, so that {source.ref} is created first"
        )
        return
    alike = get_close_matches(need.name, _names(case, need), n=1)
    if alike and user is not None and need.pointer and user.at(need.pointer) == need.name:
        yield Fix.change(
            user.ref,
            Set(pointer=need.pointer, value=alike[0]),
            title=f"Is {alike[0]} meant? Then name it in Git",
        )
    elif alike:
        yield Fix.run(
            kubectl("get", need.kind.lower(), alike[0], namespace=need.namespace),
            title=f"Is {alike[0]} meant? Then correct the name in Git",
        )
    if need.pruned is not None:
        yield Fix.run(
            remark(f"who took {need.kind} {need.name} out of Git: git log --diff-filter=D -- PATH"),
            "git revert COMMIT && git push",
            title=f"Bring {need.kind} {need.name} back into Git; argocd.argoproj.io/sync-options: Prune=false"
            " keeps it from the next accident",
        )
    if need.pruned is not None and need.kind not in _MADE_BY_HAND:
        return
    deed = f"Add key {need.key} to {need.kind} {need.name}" if need.key else f"Create {need.kind} {need.name}"
    asks = user or (case.live_of(need.needed_by.key) if need.needed_by is not None else None)
    keys = keys_asked_of(asks, need.kind, need.name) if asks is not None else []
    yield Fix.run(*_creation(need, keys), again, title=f"{deed}, then sync")


def _reordered(source: Manifest, user: Manifest) -> Iterator[Fix]:
    """Within one phase a wave is enough; across phases the user must move behind its source."""
    if first_phase(source) == first_phase(user):
        yield Fix.change(
            source.ref,
            Set(pointer=WAVE, value=str(wave_of(user) - 1)),
            title=f"Put {source.ref} into an earlier sync wave",
        )
    else:
        yield Fix.change(
            user.ref,
            Set(pointer=HOOK, value="Sync"),
            Set(pointer=WAVE, value=str(wave_of(source) + 1)),
            title=f"Run {user.ref} in the Sync phase, in the wave after {source.ref}",
            risk="it then runs after the objects of the earlier waves have been applied, not before",
        )
    if is_hook(user):
        yield Fix.change(
            source.ref,
            Set(pointer=HOOK, value=first_phase(user).value),
            Set(pointer=WAVE, value=str(wave_of(user) - 1)),
            title=f"Or make {source.ref} a {first_phase(user)} hook too, in an earlier wave",
            risk="a hook is not pruned, not shown as drift, and made anew at every sync",
        )


def _names(case: Case, need: Need) -> list[str]:
    keys = case.world.live_by_key
    return sorted({key.name for key in keys if key.kind == need.kind and key.namespace == need.namespace})


def _creation(need: Need, keys: list[str]) -> Iterator[str]:
    place = need.namespace
    values = [f"--from-literal={key}=VALUE" for key in keys or ("KEY",)]
    if need.key:  # described, not printed: values of Secrets do not belong on a screen
        yield beside(kubectl("describe", need.kind.lower(), need.name, namespace=place), "which keys it has")
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
            yield beside(look, f"{need.name} is not among them")
