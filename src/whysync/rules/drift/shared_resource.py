"""An Application declares an object that carries the tracking ID of another one.

## What happens
Usually two Applications declare it, and each sync writes the app's own tracking label or annotation. The app
that synced last owns the object; the other one shows a difference or a warning. With auto-sync they
alternate, and if the app that the mark names prunes, the object is deleted.

## How whysync knows
Argo CD's `SharedResourceWarning` names the app that declares the object and the app that the mark of the live
object names, or the live object itself has the tracking id of another Application.

## Fix
Look at the mark, and whether the other app exists and has the same destination. If both declare the object,
remove it from the source of one of them. Cluster-scoped objects (CRDs, namespaces, policies) belong in an
Application of their own.

## When it is something else
If the other app was renamed, or deleted without its objects, its mark has stayed: the next sync replaces it.
With label tracking, a chart or an operator that sets `app.kubernetes.io/instance` itself can look like
another Application, which need not exist: switch to annotation tracking.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.argocd.api.application import Application
from whysync.argocd.tracking.method import TRACKING_ID, TRACKING_ID_POINTER
from whysync.diagnosis import Case, Confidence, Drift, Finding, Fix, Mechanism, rule
from whysync.diagnosis.symptom import OPERATION, SymptomId
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.operations import SharedResource
from whysync.queries.commands import app_argument, comment, on_object, sync, with_comment
from whysync.queries.deletion_cost import deletion_cost
from whysync.queries.drift import annotation_tracking, drift_finding
from whysync.queries.named_objects import named_ref, placed
from whysync.queries.tracking import (
    drop_from_this_app,
    is_label_of_a_tool,
    kept_from_prune,
    other_app_of,
    unmarked,
)

_TRACKING_ID = "tracking-id"


@rule(cause="shared-resource", since="0.1")
def shared_resource(case: Case) -> Iterator[Finding]:
    warned: set[str] = set()
    refused = {
        report.failure.resource.name for report in case.failures(SharedResource) if report.failure.refused
    }
    for report in case.failures(SharedResource):
        if report.failure.refused:
            continue  # the sync was refused because of it: a rule in rules/apply explains that
        ref = named_ref(case, report.failure.resource, report.ref)
        warned.add(ref.name)
        declaring, other = _apps(case, report.failure)
        drifts = [d for d in case.drifts_by(Mechanism.TRACKING) if d.ref.name == ref.name]
        if any(is_label_of_a_tool(case, drift) for drift in drifts):
            continue  # Argo CD takes a label for a claim: tracking_id_mismatch tells whose label it is
        yield Finding(
            about=ref,
            explains=(*report.symptoms, *_differences(case, ref, drifts), *_row(case, ref)),
            because=(OPERATION,) if ref.name in refused else (),
            confidence=Confidence.HIGH,
            verdict=_verdict(case, ref, declaring, other),
            evidence=(report.cite(says="the app that declares it, and the app that its mark names"),),
            fixes=tuple(_fixes(case, ref, declaring, other)),
        )
    for drift in case.drifts_by(Mechanism.TRACKING):
        other = other_app_of(case, drift)
        if not other or drift.ref.name in warned:
            continue
        yield drift_finding(
            drift,
            writer=drift.writer,
            confidence=Confidence.HIGH,
            verdict=f"{drift.ref} has the tracking id of {other}, but {case.app.name} declares it too",
            fixes=tuple(_fixes(case, drift.ref, case.app.name, other, mark=drift.pointer)),
        )


def _differences(case: Case, ref: Ref, marks: list[Drift]) -> Iterator[SymptomId]:
    """The tracking id, and fields without another explanation: the other app has written them."""
    yield from (drift.symptom for drift in marks)
    yield from (drift.symptom for drift in case.drifts_by(Mechanism.UNKNOWN) if drift.ref.name == ref.name)


def _row(case: Case, ref: Ref) -> tuple[SymptomId, ...]:
    """The resource itself, if its differing fields are unknown."""
    row = SymptomId.differs(ref.key)
    return (row,) if row in case.symptom_ids else ()


def _apps(case: Case, failure: SharedResource) -> tuple[str, str]:
    """The app that declares the object, and the one that the mark of the live object names, in this order."""
    named = [app for app in failure.apps if app]
    return (named[0] if len(named) > 1 else case.app.name), (named[-1] if named else "another app")


def _other_app(case: Case, other: str) -> Application | None:
    """The other app, if it is among the facts. Its name may include a namespace: `team/shop`, `team_shop`."""
    found = case.index.apps_by_name.get(other) or case.index.apps_by_name.get(_bare(other))
    return found[1] if found is not None else None


def _bare(app: str) -> str:
    return app.replace("_", "/").rpartition("/")[2]


def _declares(app: Application | None, ref: Ref) -> bool:
    return app is not None and any(
        (row.ref.kind, row.ref.name) == (ref.kind, ref.name) and not row.requires_pruning
        for row in app.status.resources
    )


def _verdict(case: Case, ref: Ref, declaring: str, other: str) -> str:
    known = _other_app(case, other)
    if _declares(known, ref):
        return f"{ref} is declared by {declaring} and {other}"
    mark = f"{declaring} declares {ref}, but the live object has the tracking ID of {other}"
    return mark if known is not None else f"{mark}, an app that may not exist"


def _show_mark(case: Case, ref: Ref) -> str:
    show = on_object("get", placed(case, ref), "-o", "yaml")
    label = quote(case.argocd.instance_label_key)
    return with_comment(f"{show} | grep -n -e {_TRACKING_ID} -e {label}", "the mark")


def _fixes(case: Case, ref: Ref, declaring: str, other: str, *, mark: str = "") -> Iterator[Fix]:
    mine = drop_from_this_app(case, ref)
    known = _other_app(case, other)
    name = quote(other.replace("_", "/"))
    if mine is not None:
        yield mine
    elif not _declares(known, ref):
        yield Fix.run(
            *(() if mark else (_show_mark(case, ref),)),
            with_comment(f"argocd app get {name}", "does it exist, and for which cluster and namespace?"),
            title=f"See whether app {other} exists"
            if mark
            else f"See which mark the live object has, and whether an app {other} exists",
        )
    # Argo CD does not mark CRDs, so that no sync replaces the mark. Mirrors `GenerateManifests`, Argo CD 3.6.
    is_crd = ref.kind == "CustomResourceDefinition"
    if is_crd and known is None:
        yield _label_in_source(case, ref)
    elif known is None:
        yield _take_over(case, ref, other)
    before, after = kept_from_prune(case, ref) if mine and not is_crd else ((), ())
    lost = deletion_cost(case, ref)
    lost = f", and with it {lost}; set Prune=false on it first" if lost else ""
    yield Fix.run(
        with_comment(f"argocd app manifests {name} | grep -n -B5 {quote(f'name: {ref.name}')}", "declared?"),
        *before,
        comment(
            f"then remove {ref.kind} {ref.name} from the source of"
            f" {other if before else 'the app that should not own it'}; commit and push"
        ),
        *(
            (
                with_comment(f"argocd app get {name} --refresh", "must no longer declare it"),
                *unmarked(case, ref),
                sync(case),
                *after,
            )
            if before
            else ()
        ),
        title="Remove it from the source of the other app"
        if mine
        else "If both declare it for the same cluster: remove it from the source of one of them",
        risk="changes of it in Git are not applied until then"
        if before
        else f"once removed from {other}, a prune of {other} deletes the object{lost}"
        if is_crd
        else f"once removed from {other}, a prune of {other} deletes the object unless {declaring} has synced"
        f" it in between{lost}",
    )
    if known is None and case.may_track_by_label and mark != TRACKING_ID_POINTER:
        yield annotation_tracking(
            case,
            before=(
                with_comment(
                    on_object("get", placed(case, ref), "-o", "yaml", "--show-managed-fields"),
                    f"who wrote label {case.argocd.instance_label_key}?",
                ),
            ),
            title=f"If the mark is label {case.argocd.instance_label_key}, and a chart or operator writes it:"
            " track by annotation",
        )


def _label_in_source(case: Case, ref: Ref) -> Fix:
    label = case.argocd.instance_label_key
    return Fix.run(
        with_comment(
            f"argocd app manifests {app_argument(case)} --source git | grep -n {quote(f'{label}:')}",
            "does the source itself write the label?",
        ),
        comment(f"in Git: remove label {label} from {ref.kind} {ref.name} (a value of the chart, or a"),
        comment("Kustomize patch); commit and push"),
        sync(case),
        title=f"Remove label {label} from the source: Argo CD does not mark CRDs, so that the chart or"
        " another program wrote it",
    )


def _take_over(case: Case, ref: Ref, other: str) -> Fix:
    """The mark of an app that is gone is replaced at the next sync, unless the sync refuses such objects."""
    refuses = case.has_sync_option("FailOnSharedResource=true")
    marks = (f"{TRACKING_ID}-", f"{case.argocd.instance_label_key}-")
    unmark = (
        with_comment(
            on_object("annotate", placed(case, ref), marks[0]), "FailOnSharedResource refuses it else"
        ),
        with_comment(on_object("label", placed(case, ref), marks[1]), "if the mark is the label"),
    )
    return Fix.run(
        *(unmark if refuses else ()),
        sync(case),
        title=f"If there is no app {other}: it was deleted or renamed and its mark stayed; sync replaces it",
        risk="the sync overwrites the object with what Git declares",
    )
