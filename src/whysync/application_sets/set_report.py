"""What is wrong with an ApplicationSet: its error, its rollout, its strategy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from whysync.argocd.api.application import Application
from whysync.diagnosis import Case, Confidence, Finding, Fix, cite
from whysync.diagnosis.freshness import error_of_set
from whysync.diagnosis.report import AppReport, ReasonKind, Safety, unread_symptoms
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.diagnosis.symptom import Side
from whysync.json_tree import Object, fields, text
from whysync.kubernetes.api.decode import decode
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.queries.application_set_rollout import unfinished
from whysync.queries.application_set_state import (
    SetReport,
    conditions_of,
    generators_of,
    is_rolling,
    members_of,
)
from whysync.queries.commands import argocd_namespace, kubectl
from whysync.rules.fresh.application_set_error import finding_of_error
from whysync.rules.health.application_set_rollout_unfinished import finding_of_rollout

_CAUSE: Final = "appset-error"
_SETTING: Final = "applicationsetcontroller.enable.progressive.syncs"


def set_report(world: SnapshotIndex, manifest: Manifest) -> SetReport:
    members, steps = members_of(manifest, world.snapshot.applications)
    case = _case_of(world, manifest)
    findings = tuple(
        replace(finding, id=f"{rule}-{number}", rule=rule, cause=_CAUSE, side=side)
        for number, (rule, side, finding) in enumerate(_findings(case, manifest), start=1)
    )
    return SetReport(
        application_set=manifest,
        report=AppReport(
            case=case,
            side=findings[0].side if findings else Side.NONE,
            findings=findings,
            unexplained=(),
            safety=Safety.unknown(ReasonKind.NOT_TRIED, "an ApplicationSet is not synced"),
            gaps=case.gaps,
            skipped=(),
            crashed=(),
            unread=unread_symptoms(case.symptoms),
        ),
        conditions=conditions_of(manifest),
        generators=generators_of(manifest),
        members=members,
        steps=steps,
    )


def _case_of(world: SnapshotIndex, manifest: Manifest) -> Case:
    """The facts, as about an Application of the same name: what rules ask of them is the same."""
    homes = (text(app.status.get("controllerNamespace")) for app in world.snapshot.applications)
    body: Object = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": manifest.ref.name, "namespace": manifest.ref.namespace},
        "spec": {},
        "status": {"controllerNamespace": next(filter(None, homes), "")},
    }
    app, _ = decode(body, Application)
    assert app is not None
    return Case(world, Manifest(body, role=Role.APPLICATION), app)


def _findings(case: Case, manifest: Manifest) -> Iterator[tuple[str, Side, Finding]]:
    error = error_of_set(manifest)
    if error is not None:
        yield "application_set_error", Side.FRESH, finding_of_error(case, error, subject=str(manifest.ref))
    entries = unfinished(manifest) if is_rolling(manifest) else ()
    if entries:
        finding = finding_of_rollout(case, manifest.ref, manifest, entries)
        yield "application_set_rollout_unfinished", Side.HEALTH, finding
    elif is_rolling(manifest) and (ignored := _strategy_ignored(case, manifest)) is not None:
        yield "application_set_rollout_unfinished", Side.HEALTH, ignored


def _strategy_ignored(case: Case, manifest: Manifest) -> Finding | None:
    """Progressive syncs are a feature that has to be enabled; a flag or a variable can do that as well."""
    params = case.settings("argocd-cmd-params-cm")
    if params is None or text(fields(params.body.get("data")).get(_SETTING)) == "true":
        return None
    if manifest.status.get("applicationStatus"):
        return None  # its controller does record a rollout
    command = kubectl(
        "patch",
        "configmap",
        "argocd-cmd-params-cm",
        "--type=merge",
        "-p",
        f'{{"data":{{"{_SETTING}":"true"}}}}',
        namespace=argocd_namespace(case),
    )
    return Finding(
        about=manifest.ref,
        confidence=Confidence.MEDIUM,
        verdict=f"{manifest.ref} has a RollingSync strategy, but progressive syncs are not enabled in"
        " argocd-cmd-params-cm: its Applications are not updated in steps",
        evidence=(
            cite(manifest, "/spec/strategy/type", says="strategy"),
            cite(params, "/data", says=f"has no {_SETTING}"),
        ),
        fixes=(
            Fix.run(
                command,
                kubectl(
                    "rollout",
                    "restart",
                    "deployment/argocd-applicationset-controller",
                    namespace=argocd_namespace(case),
                ),
                title="Enable progressive syncs, if a flag of the controller does not do so already",
                risk="the set then turns off auto-sync of its Applications, and syncs them step by step",
            ),
        ),
    )
