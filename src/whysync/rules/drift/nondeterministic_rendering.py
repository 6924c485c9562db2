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
values if it is not secret, or with cert-manager for certificates. Until then keep the live values: ignore
these fields, also during a sync. Values of one rendering fit each other (a CA and the certificate that it
signed, a password and its hash), so ignore all of them in one change: if a sync keeps the CA but replaces the
certificate, the API server no longer trusts the webhook. Self-heal replaces the values otherwise, without a
new commit. Helm's `lookup` does not help, because Argo CD renders without access to the cluster.

## When it is something else
Another program may own the Secret (cert-manager, a reflector, External Secrets): managedFields, owner
references or annotations name it. If Git has changed since the last sync, the new commit has not been synced.
"""

import re
from collections.abc import Iterator, Sequence

from whysync.argocd.api.application import ResourceRow
from whysync.diagnosis import Case, Confidence, Drift, Fact, Finding, Fix, Mechanism, cite, rule
from whysync.diagnosis.drift.field_heuristics import is_ca_bundle
from whysync.diagnosis.drift.mechanism import changed_in_git_since_sync, rendered_differently
from whysync.diagnosis.sentences import listed
from whysync.diagnosis.symptom import SymptomId
from whysync.kubernetes.api.pointer import split
from whysync.kubernetes.api.ref import Ref
from whysync.queries.commands import app_argument, comment, on_object, with_comment
from whysync.queries.drift import both_sides, drift_finding, field_names
from whysync.queries.generated_values import (
    GENERATED_FIELDS,
    by_object,
    content_of,
    counterparts_not_provided,
    is_content,
    values_and_objects,
)
from whysync.queries.ignore_rules import NOT_APPLIED, ignore_together
from whysync.queries.local_rendering import render_twice

_TIME = re.compile(r"1\d{9}(\d{3})?|\d{4}-\d\d-\d\d[T _-]?\d\d.{0,40}")
_SUPPLY = "what differs: set it in the values, or in an existing Secret if it is secret, and commit"
_SUPPLY_CERTIFICATE = (
    "give the chart a certificate, its key and its CA in the values, or let cert-manager create them; commit"
)
_RESTARTED = frozenset({"Deployment", "StatefulSet", "DaemonSet", "Rollout"})


@rule(cause="nondeterministic", needs={Fact.DESIRED, Fact.LIVE}, since="0.1", on_absence=True)
def nondeterministic_rendering(case: Case) -> Iterator[Finding]:
    generated = case.drifts_by_object(Mechanism.GENERATED)
    values = [drift for drifts in generated if not _are_times(drifts) for drift in drifts]
    if values:
        yield _finding(case, values, counterparts_not_provided(case))
    for drifts in generated:
        if _are_times(drifts):
            yield _finding(case, drifts, ())


def _finding(case: Case, drifts: Sequence[Drift], counterparts: tuple[ResourceRow, ...]) -> Finding:
    first = drifts[0]
    certain = any(_is_certain(case, drift) for drift in drifts)
    doubt = "" if certain or not is_content(first) else ", or someone or something in the cluster changed it"
    several = len(by_object(drifts)) > 1
    also = f"; {_named(counterparts)} OutOfSync as well" if counterparts else ""
    return drift_finding(
        *drifts,
        writer=first.writer,
        confidence=Confidence.HIGH if certain else Confidence.MEDIUM,
        verdict=f"the source renders {values_and_objects(drifts)} differently each time"
        f"{'' if several else doubt}{also}",
        evidence=(
            *both_sides(_shown(drifts)),
            *(
                cite(
                    case.application, f"/status/resources/{index}", says="OutOfSync too, values not provided"
                )
                for index, row in enumerate(case.app.status.resources)
                if row in counterparts
            ),
            cite(case.application, "/status/sync/revision", says="the compared revision, already synced"),
        ),
        explains=tuple(SymptomId.differs(row.key) for row in counterparts),
        fixes=tuple(_fixes(case, drifts, counterparts)),
    )


def _named(counterparts: tuple[ResourceRow, ...]) -> str:
    return f"{listed([row.ref for row in counterparts])} {'is' if len(counterparts) == 1 else 'are'}"


def _shown(drifts: Sequence[Drift]) -> list[Drift]:
    """Of one object the first fields; of several objects, one field of each."""
    objects = by_object(drifts)
    if len(objects) == 1:
        return list(drifts[:5])
    return [fields[0] for fields in objects.values()][:5]


def _fixes(case: Case, drifts: Sequence[Drift], counterparts: tuple[ResourceRow, ...]) -> Iterator[Fix]:
    """The value belongs where rendering does not generate it; a value in use is kept with all that fit it.

    A certificate and its CA, or a password and its hash, come from one rendering: to keep one of them while
    a sync replaces the other breaks both, so that one change covers all of them.
    """
    compare = render_twice(case)
    if _are_times(drifts):
        yield Fix.remove(
            drifts[0].ref,
            *(drift.pointer for drift in drifts),
            title=f"Remove {field_names(drifts)} from the template: it is the time of the rendering",
            risk="this sync restarts the Pods once; later ones restart them only if something else changes"
            if all("/template/" in drift.pointer for drift in drifts)
            else "",
        )
        yield _keep(case, drifts, counterparts)
        yield Fix.run(
            *compare,
            comment(_SUPPLY),
            title="Render twice and compare; then set the value explicitly (Secret, values)",
        )
        return
    source = content_of(drifts)
    if source is None and not counterparts:
        yield Fix.run(
            *compare,
            comment(_SUPPLY_CERTIFICATE if any(is_ca_bundle(drift) for drift in drifts) else _SUPPLY),
            title="Render twice and compare; then set what differs explicitly",
        )
        yield _keep(case, drifts, counterparts)
        return
    yield _explicit(case, drifts, counterparts)
    yield _keep(case, drifts, counterparts)
    yield Fix.run(
        *compare,
        comment("set what differs explicitly as well, and commit"),
        title="To see what else is generated: render twice and compare",
    )


def _keep(case: Case, drifts: Sequence[Drift], counterparts: tuple[ResourceRow, ...]) -> Fix:
    """Ignore all generated values in one change, also those whose fields are not in the facts."""
    objects = by_object(drifts)
    values: dict[Ref, Sequence[str]] = {
        fields[0].ref: [drift.pointer for drift in fields] for fields in objects.values()
    }
    values |= {row.ref: GENERATED_FIELDS[row.kind] for row in counterparts}
    restarts = "" if any("/template/" in drift.pointer for drift in drifts) else _checksummed(case, drifts)
    risks = [NOT_APPLIED]
    if len(values) > 1:
        title = f"Keep the live values of these {len(values)} objects together, also during a sync"
        risks = [
            "later commits that change these values are not applied, and drift in them is not reported; they"
            " fit each other: never ignore only some of them"
        ]
    else:
        title = f"Keep the live value: ignore {field_names(drifts)} of this object, also during a sync"
        if any(is_ca_bundle(drift) for drift in drifts):
            risks.append(
                "the certificate that this CA signed must be kept too: a sync that replaces its Secret"
                " breaks the webhook"
            )
        if any("/template/" in drift.pointer and not _is_time(drift) for drift in drifts):
            risks.append("a changed configuration does not restart the Pods")
    if restarts:
        risks.append(f"{restarts} still differs, if it has a checksum of the value")
    return ignore_together(case, values, title=title, risk="; ".join(risks))


def _are_times(drifts: Sequence[Drift]) -> bool:
    return all(_is_time(drift) for drift in drifts)


def _is_time(drift: Drift) -> bool:
    """Is it an annotation or label with a time, which every rendering sets to its own?"""
    values = (drift.desired_value, drift.live_value)
    is_metadata = {"annotations", "labels"}.intersection(split(drift.pointer))
    return bool(is_metadata) and all(_TIME.fullmatch(str(value)) for value in values)


def _explicit(case: Case, drifts: Sequence[Drift], counterparts: tuple[ResourceRow, ...]) -> Fix:
    """The values in use, given to the chart; self-heal is off meanwhile."""
    app = app_argument(case)
    off = with_comment(f"argocd app set {app} --self-heal=false", "until the value is fixed")
    on = with_comment(f"argocd app set {app} --self-heal", "when the app is Synced")
    source = content_of(drifts)
    ref = (
        source.ref
        if source is not None
        else next((row.ref for row in counterparts if row.kind == "Secret"), drifts[0].ref)
    )
    in_certificate = ref.kind == "Secret" and any(is_ca_bundle(drift) for drift in drifts)
    look = with_comment(on_object("get", ref, "-o", "yaml"), "the value in use")
    risk = ""
    if in_certificate:
        steps: tuple[str, ...] = (
            look,
            comment("give it to the chart: its values for a certificate of your own (certificate, key and"),
            comment("CA together), or its cert-manager setting, which then owns them; commit"),
        )
        title = "Give the chart its certificate: the one in use, or one from cert-manager"
        risk = "with a new certificate the webhook refuses requests until its Pods have loaded it"
    elif ref.kind != "Secret":
        steps = (look, comment("set it in the values; commit"))
        title = "Set the value explicitly, with the one in use"
    else:
        steps = (
            look,
            comment("put it into a Secret of another name, and name that in the values of the chart"),
            comment("(often auth.existingSecret); commit. In plain values, Git would show it to all readers"),
        )
        title = "Give the chart the value in use, as an existing Secret"
        pruned = "auto-sync then prunes" if case.prunes else "a sync with --prune then deletes"
        risk = f"programs read a renamed Secret only after a restart; {pruned} the old one"
    return Fix.run(*((off, *steps, on) if case.self_heals else steps), title=title, risk=risk)


def _checksummed(case: Case, drifts: Sequence[Drift]) -> str:
    """A workload of the app that is OutOfSync too: charts restart it by a checksum of the Secret."""
    namespaces = {drift.ref.namespace for drift in drifts if is_content(drift)}
    rows = [
        row.ref
        for row in case.app.status.resources
        if row.kind in _RESTARTED and row.status == "OutOfSync" and row.namespace in namespaces
    ]
    return listed([str(ref) for ref in rows])


def _is_certain(case: Case, drift: Drift) -> bool:
    """Is the last applied value known, and does it come from the current commit and source?"""
    return changed_in_git_since_sync(case, drift) and rendered_differently(case, drift)
