"""The cluster does not serve a kind that Git declares: its CRD is missing.

## What happens
A custom resource can be applied only after its CustomResourceDefinition. Argo CD looks up every kind before
it applies anything, so one unknown kind fails the whole sync, and nothing is applied.

## How whysync knows
`no matches for kind`, `the server could not find the requested resource`, `Make sure the … CRD is
installed`. whysync then searches for the CRD: in this Application, in other Applications, and in the cluster.

## Fix
Install the CRD first: in a chart or Application of its own that is synced before, or in an earlier sync wave.
For a kind whose CRD a controller creates from another object (a Gatekeeper template, a Crossplane
definition), waves alone do not help, because all kinds are looked up before the first wave: set
`SkipDryRunOnMissingResource=true`, with that object in an earlier wave. The option helps only if the CRD is
created during the same sync (by a controller, or in an earlier wave): it postpones the lookup, it does not
install the CRD.

## When it is something else
The kind is served in another version: that is deprecated-api.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.argocd.app_controller.destination import IN_CLUSTER
from whysync.diagnosis import Add, Case, Confidence, Evidence, Finding, Fix, Set, Severity, cite, rule
from whysync.diagnosis.owning_resource import symptoms_about
from whysync.diagnosis.sentences import listed
from whysync.diagnosis.symptom import SymptomId, SymptomKind
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.apply import KindNotServed
from whysync.queries.already_fixed import already_fixed
from whysync.queries.commands import app_argument, comment, sync, with_comment
from whysync.queries.crds import SKIP_DRY_RUN, CrdDefinition, crd_definition, is_applied_first
from whysync.queries.gone_cluster import OWN_NAME
from whysync.queries.group_failures import FailureGroup, grouped
from whysync.queries.named_objects import is_unnamed, named_ref
from whysync.queries.removed_apis import is_kind_of_kubernetes
from whysync.queries.sync_position import comes_before, phase_and_wave, wave_of

_WORKLOADS = ("DaemonSet", "Deployment", "StatefulSet")
WAVE = "/metadata/annotations/argocd.argoproj.io~1sync-wave"
_OF_ARGOCD = ("Application", "ApplicationSet", "AppProject")


@rule(cause="missing-crd", since="0.1")
def crd_missing(case: Case) -> Iterator[Finding]:
    groups = tuple(grouped(case, KindNotServed, by=lambda failure: (failure.kind, failure.group)))
    for group in groups:
        failure = group.failure
        if failure.other_version or failure.other_group or _is_covered_by_kind(group, groups):
            continue
        ref = named_ref(case, failure.resource, group.ref)
        if ref.key == case.application.ref.key:  # the message names only an API group
            ref = next((m.ref for m in case.desired if m.ref.group == failure.group), ref)
        known = None if is_unnamed(case, ref) else ref
        kind = failure.kind or (known.kind if known else "")
        api_group = failure.group or (known.group if known else "")
        if kind and is_kind_of_kubernetes(api_group, kind):
            continue  # no CRD defines it: rule api_version_not_served
        definition = crd_definition(case, kind, api_group)
        fixes = tuple(_fixes(case, ref, kind, api_group, definition))
        yield Finding(
            about=ref,
            explains=(*_with_group_only_symptoms(group, groups), *_of_logging_workload(case, group)),
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=_verdict(_kind_text(kind, api_group), definition),
            evidence=(*group.cited(says="the API server does not serve the kind"), *_cited(case, definition)),
            fixes=fixes,
            already_fixed=already_fixed("", *fixes, when=is_applied_first(case, ref, definition)),
        )


def _is_covered_by_kind(
    group: FailureGroup[KindNotServed], groups: tuple[FailureGroup[KindNotServed], ...]
) -> bool:
    """The operation reports an API group, the result its kind: both are one problem."""
    return not group.failure.kind and any(
        other.failure.kind and other.failure.group == group.failure.group for other in groups
    )


def _with_group_only_symptoms(
    group: FailureGroup[KindNotServed], groups: tuple[FailureGroup[KindNotServed], ...]
) -> tuple[SymptomId, ...]:
    without_kind = (
        other for other in groups if not other.failure.kind and other.failure.group == group.failure.group
    )
    return tuple(dict.fromkeys((*group.explains, *(id for other in without_kind for id in other.explains))))


def _of_logging_workload(case: Case, group: FailureGroup[KindNotServed]) -> tuple[SymptomId, ...]:
    """The health of an operator that logs the error: it cannot start without the kind."""
    if any(id.kind is not SymptomKind.LOG for id in group.explains):
        return ()
    refs = dict.fromkeys(ref for ref in group.resources if ref.kind in _WORKLOADS)
    return tuple(id for ref in refs for id in symptoms_about(case, ref) if id not in group.explains)


def _kind_text(kind: str, api_group: str) -> str:
    return f"{kind} ({api_group})" if api_group else kind or "the kind of an object of this app"


def _verdict(called: str, definition: CrdDefinition) -> str:
    if definition.live is not None:
        return f"the cluster did not serve {called} at the last sync, but its CRD exists now"
    return f"the cluster does not serve {called}: {_crd_location(definition)}"


def _crd_location(definition: CrdDefinition) -> str:
    if definition.own is not None:
        return f"its CRD is part of this Application ({phase_and_wave(definition.own)})"
    if definition.creator_ref is not None:
        return f"its CRD is created from {definition.creator_ref}, which takes a moment"
    if definition.other is not None:
        return f"its CRD is part of Application {definition.other_app}, which must be synced first"
    return "its CRD is not installed"


def _cited(case: Case, definition: CrdDefinition) -> Iterator[Evidence]:
    if definition.live is not None:
        yield cite(definition.live, "/spec/names/kind", says="this live CRD defines it")
    if definition.own is not None:
        yield cite(definition.own, "/spec/names/kind", says="this CRD of the same Application defines it")
    if definition.other is not None:
        yield cite(
            definition.other, "/spec/names/kind", says=f"this CRD of {definition.other_app} defines it"
        )
    if definition.creator is not None:
        yield cite(definition.creator, "/metadata/name", says="a controller creates the CRD from this object")
    if definition.creator_row is not None:
        pointer = f"/status/resources/{definition.creator_row}/name"
        yield cite(case.application, pointer, says="a controller creates the CRD from this object")


def _fixes(case: Case, ref: Ref, kind: str, api_group: str, definition: CrdDefinition) -> Iterator[Fix]:
    sync_command = sync(case)
    if definition.live is not None:
        yield Fix.run(sync_command, title="Sync again: the CRD exists now")
        return
    if definition.own is not None:
        desired = case.desired_of(ref.key)
        if desired is not None and not comes_before(definition.own, desired):
            yield Fix.change(
                definition.own.ref,
                Set(pointer=WAVE, value=str(wave_of(desired) - 1)),
                title="Move the CRD to an earlier sync wave than its resources",
            )
        yield Fix.run(sync_command, title="Sync again: the CRD may not have been established in time")
        return
    if definition.creator_ref is not None and not case.has_sync_option(SKIP_DRY_RUN):
        yield Fix.application(
            case.application.ref,
            Add(pointer="/spec/syncPolicy/syncOptions", value=SKIP_DRY_RUN),
            title="Skip the dry run while the CRD is missing",
            risk=f"{definition.creator_ref} must be in an earlier wave than the resources of its kind",
        )
    if definition.other_app:
        other = definition.other_app.rpartition("/")[2]
        yield Fix.run(
            f"argocd app sync {quote(other)}",
            sync_command,
            title=f"Sync {other} first, which installs the CRD",
        )
    if definition.creator_ref is not None:
        yield from _after_creator(case, definition.creator_ref, definition.creator)
        return
    if api_group == "argoproj.io" and kind in _OF_ARGOCD:
        yield _to_own_cluster(case)
        return
    yield from _operator_in_this_app(case, ref)
    if not kind:
        yield Fix.run(
            with_comment(f"argocd app get {app_argument(case)}", "the row with SyncFailed shows the kind"),
            comment("install the operator or chart that contains this kind, then"),
            sync_command,
            title="Find the kind, and install its CRD before this app",
        )
        return
    yield Fix.run(
        with_comment(
            f"kubectl get crd | grep -i {quote(kind.lower())}", "is it installed under another name?"
        ),
        comment(f"install the operator or chart that contains {_kind_text(kind, api_group)}, then"),
        sync_command,
        title="Install the CRD first: in its own Application, or in an earlier sync wave",
    )


def _to_own_cluster(case: Case) -> Fix:
    """Argo CD reads its own kinds only in the cluster that it runs in."""
    by_name = bool(case.app.spec.destination.name)
    flag = f"--dest-name {OWN_NAME}" if by_name else f"--dest-server {IN_CLUSTER}"
    return Fix.run(
        f"argocd app set {app_argument(case)} {flag}",
        sync(case),
        title="Deploy it to the cluster that Argo CD runs in: only there it reads its own kinds",
        risk="correct the destination also where the Application is declared",
    )


def _after_creator(case: Case, creator: Ref, manifest: Manifest | None) -> Iterator[Fix]:
    """An object that is only in Git was never applied: one unknown kind stops the whole sync."""
    if manifest is not None and manifest.role is Role.LIVE:
        yield Fix.run(
            sync(case), title="Then sync again: the controller may not have created the CRD in time"
        )
        return
    name = f"{creator.namespace}/{creator.name}" if creator.namespace else creator.name
    yield Fix.run(
        sync(case, "--resource", quote(f"{creator.group}:{creator.kind}:{name}")),
        sync(case),
        title=f"Or sync {creator} alone first: its controller then creates the CRD",
        risk="only for this cluster: a new one needs it again",
    )


def _operator_in_this_app(case: Case, ref: Ref) -> Iterator[Fix]:
    """A program of the app may create the CRD when it starts, but is not applied either.

    Mirrors gitops-engine `getSyncTasks`, Argo CD 3.6: all kinds are looked up before the first wave.
    """
    desired = case.desired_of(ref.key)
    if desired is None or case.has_sync_option(SKIP_DRY_RUN):
        return
    operators = [
        manifest.ref
        for manifest in case.desired
        if manifest.ref.kind in _WORKLOADS
        and comes_before(manifest, desired)
        and case.live_of(manifest.key) is None
    ]
    if operators:
        # What it creates when it starts is not in the facts, so this cannot be tried.
        yield Fix.run(
            comment(
                f"add {SKIP_DRY_RUN} to the sync-options of {ref} in Git (argocd.argoproj.io/sync-options);"
            ),
            comment(
                "without it, the missing kind stops the whole sync; keep the later wave, commit, push, then"
            ),
            sync(case),
            title=f"If {listed(operators)} of this app installs the CRD: let the sync start without it",
            risk="if the CRD is not there yet when that wave starts, the wave fails: sync again",
        )
