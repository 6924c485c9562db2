"""The source renders a different value each time.

## What happens
A template generates a value during rendering: a random password, a self-signed certificate, a timestamp, or a
checksum over one of these. Every rendering differs from the last one, so the app is OutOfSync after each
refresh without a new commit, and every sync replaces the value (even a password).

## How whysync knows
Git is at the revision that was synced, no other manager wrote the field, and the last sync applied another
value from the same source. If the applied value is unknown, the field is one that templates often generate:
Secret data, a rendered `caBundle`, a `checksum/…` annotation, a timestamp.

## Fix
Set the value explicitly, with the one that is in use: in an existing Secret that the chart is given, in the
values, or with cert-manager for certificates. Until then keep the live value: ignore only this field, also
during a sync. Self-heal replaces it otherwise, without a new commit. Helm's `lookup` does not help, because
Argo CD renders without access to the cluster.

## When it is something else
Another program may own the Secret (cert-manager, a reflector, External Secrets): managedFields, owner
references or annotations name it. If Git has changed since the last sync, the new commit has not been synced.
"""

import re
from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Drift, Fact, Finding, Fix, Mechanism, cite, rule
from whysync.diagnosis.drift.mechanism import changed_in_git_since_sync, rendered_differently
from whysync.diagnosis.sentences import listed
from whysync.kubernetes.api.pointer import split
from whysync.queries.commands import app_argument, comment, on_object, with_comment
from whysync.queries.drift import both_sides, drift_finding, field_names
from whysync.queries.ignore_rules import ignore_field

_TIME = re.compile(r"1\d{9}(\d{3})?|\d{4}-\d\d-\d\d[T _-]?\d\d.{0,40}")
_RESTARTED = frozenset({"Deployment", "StatefulSet", "DaemonSet", "Rollout"})


@rule(cause="nondeterministic", needs={Fact.DESIRED, Fact.LIVE}, since="0.1", on_absence=True)
def nondeterministic_rendering(case: Case) -> Iterator[Finding]:
    for drifts in case.drifts_by_object(Mechanism.GENERATED):
        first = drifts[0]
        names = field_names(drifts)
        certain = any(_is_certain(case, drift) for drift in drifts)
        doubt = "" if certain or not _is_content(first) else ", or a program in the cluster changed it"
        yield drift_finding(
            *drifts,
            writer=first.writer,
            confidence=Confidence.HIGH if certain else Confidence.MEDIUM,
            verdict=f"the source renders {names} of {first.ref} differently each time{doubt}",
            evidence=(
                *both_sides(drifts[:5]),
                cite(case.application, "/status/sync/revision", says="the compared revision, already synced"),
            ),
            fixes=tuple(_fixes(case, drifts)),
        )


def _fixes(case: Case, drifts: tuple[Drift, ...]) -> Iterator[Fix]:
    """The value belongs where rendering does not generate it; a password that is in use is kept."""
    first, app = drifts[0], app_argument(case)
    names = field_names(drifts)
    restarts = _checksummed(case, first)
    keep = ignore_field(
        case,
        first.ref,
        *(drift.pointer for drift in drifts),
        title=f"Keep the live value: ignore {names} of this object, also during a sync",
        risk="a change of the value is no longer shown"
        + (f"; {restarts} still differs, if it has a checksum of the value" if restarts else ""),
    )
    compare = (
        f"argocd app manifests {app} --source git > one.yaml",
        f"argocd app get {app} --hard-refresh > /dev/null",
        f"argocd app manifests {app} --source git | diff one.yaml -",
    )
    if _is_content(first):
        yield _explicit(case, first)
        yield keep
        yield Fix.run(
            *compare,
            comment("set what differs explicitly as well, and commit"),
            title="To see what else is generated: render twice and compare",
        )
        return
    if all(_is_time(drift) for drift in drifts):
        yield Fix.remove(
            first.ref,
            *(drift.pointer for drift in drifts),
            title=f"Remove {names} from the template: it is the time of the rendering",
            risk="this sync restarts the Pods once; later ones restart them only if something else changes"
            if all("/template/" in drift.pointer for drift in drifts)
            else "",
        )
    yield keep
    yield Fix.run(
        *compare,
        comment("what differs: give it in the values, or as an existing Secret, and commit"),
        title="Render twice and compare; then set the value explicitly (Secret, values)",
    )


def _is_time(drift: Drift) -> bool:
    """Is it an annotation or label with a time, which every rendering sets to its own?"""
    values = (drift.desired_value, drift.live_value)
    is_metadata = {"annotations", "labels"}.intersection(split(drift.pointer))
    return bool(is_metadata) and all(_TIME.fullmatch(str(value)) for value in values)


def _explicit(case: Case, drift: Drift) -> Fix:
    """The value in use, given to the chart; self-heal is off meanwhile."""
    app = app_argument(case)
    off = with_comment(f"argocd app set {app} --self-heal=false", "until the value is fixed")
    on = with_comment(f"argocd app set {app} --self-heal", "when the app is Synced")
    look = with_comment(on_object("get", drift.ref, "-o", "yaml"), "the value in use")
    if drift.ref.kind != "Secret":
        steps: tuple[str, ...] = (look, comment("set it in the values; commit"))
        title, risk = "Set the value explicitly, with the one in use", ""
    else:
        steps = (
            look,
            comment("put it into a Secret of another name, and name that in the values of the chart"),
            comment("(often auth.existingSecret); or set it in the values; commit"),
        )
        title = "Give the chart the value in use: as an existing Secret, or in the values"
        risk = "programs read a renamed Secret only after a restart"
    return Fix.run(*((off, *steps, on) if case.self_heals else steps), title=title, risk=risk)


def _checksummed(case: Case, drift: Drift) -> str:
    """A workload of the app that is OutOfSync too: charts restart it by a checksum of the Secret."""
    if not _is_content(drift):
        return ""
    rows = [
        row.ref
        for row in case.app.status.resources
        if row.kind in _RESTARTED and row.status == "OutOfSync" and row.namespace == drift.ref.namespace
    ]
    return listed([str(ref) for ref in rows])


def _is_content(drift: Drift) -> bool:
    """Is it a value of a Secret or ConfigMap, which a person or a program may also change?"""
    return drift.ref.kind in ("Secret", "ConfigMap")


def _is_certain(case: Case, drift: Drift) -> bool:
    """Is the last applied value known, and does it come from the current commit and source?"""
    return changed_in_git_since_sync(case, drift) and rendered_differently(case, drift)
