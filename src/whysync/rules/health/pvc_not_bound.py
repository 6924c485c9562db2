"""A PersistentVolumeClaim is not bound to a volume.

## What happens
A claim is Pending until a volume is bound to it: its StorageClass does not exist, there is no default class,
the provisioner does not answer or has no capacity, or the class binds only when a Pod uses the claim
(`WaitForFirstConsumer`). Pods that use it are not scheduled. Argo CD reports the claim as Progressing; in a
wave of its own it waits forever, because the Pod that would bind it is in a later wave.

## How whysync knows
The claim's phase is Pending, and its class, the existing classes, or an event about it show why.

## Fix
Set a class that exists, set a default class, or fix the provisioner. For `WaitForFirstConsumer`: move the
claim to the same wave as the workload that uses it.

## When it is something else
A claim whose volume was deleted is Lost. A Pod that is unschedulable for other reasons: unschedulable.
"""

from collections.abc import Iterator
from datetime import timedelta

import msgspec

from whysync.diagnosis import (
    Case,
    Confidence,
    Evidence,
    Finding,
    Fix,
    Severity,
    SymptomKind,
    cite,
    cite_if,
    rule,
)
from whysync.diagnosis.sentences import one_line
from whysync.diagnosis.symptom import SymptomId
from whysync.json_tree import dig, fields, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Key, Ref
from whysync.messages.operator_errors import operator_error
from whysync.messages.parse import understand
from whysync.messages.patterns.pods import VolumePending
from whysync.queries.commands import comment, kubectl, on_object, sync, with_comment
from whysync.queries.operator_remedies import remedy
from whysync.queries.reasons import warning_of
from whysync.queries.timestamps import age_at
from whysync.queries.waiting_on import wait_of

CLASS = "/spec/storageClassName"
PHASE = "/status/phase"


class _Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A claim that waits. `manifest` is `None` where only events report it."""

    ref: Ref
    manifest: Manifest | None
    explains: list[SymptomId]


_PROVISIONING = timedelta(minutes=1)
"""A claim is commonly bound within this time, without anything to report."""

_WORKLOADS = frozenset({"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "Pod", "Rollout"})


@rule(cause="pvc-pending", since="0.1")
def pvc_not_bound(case: Case) -> Iterator[Finding]:
    for claim in _pending(case).values():
        why, evidence, first_use = _why(case, claim)
        wait = wait_of(case)
        blocks_sync = wait is not None and wait.ref.key == claim.ref.key
        is_young = _age(case, claim) < _PROVISIONING and not first_use
        is_silent = not evidence or _waits_for_provisioner(case, claim, evidence)
        is_normal = is_silent and (is_young or (case.synced_recently and not blocks_sync))
        if claim.manifest is None and not evidence and not _waits_for_volume(case, claim.ref):
            continue
        yield Finding(
            about=claim.ref,
            field=CLASS,
            explains=tuple(dict.fromkeys((*claim.explains, *_reported(case, claim.ref)))),
            severity=Severity.INFO if is_normal or (first_use and not blocks_sync) else Severity.CRITICAL,
            confidence=Confidence.HIGH if evidence else Confidence.MEDIUM,
            verdict=f"{claim.ref} {'has lost its volume' if _is_lost(claim) else 'is not bound to a volume'}"
            + (f": {why}" if why else "")
            + (_applied_later(case) if first_use and blocks_sync else ""),
            root=why or None,
            evidence=(
                *cite_if(claim.manifest, PHASE, says="its phase"),
                *evidence,
                *_cited_row(case, claim),
            ),
            fixes=tuple(_fixes(case, claim, why, first_use=first_use, blocks_sync=blocks_sync)),
        )


def _applied_later(case: Case) -> str:
    """Why a claim and the wave of its Pod wait for each other; its workload may be in another app."""
    rows = case.app.status.resources
    if any(row.kind in _WORKLOADS and row.status == "OutOfSync" for row in rows):
        return ", which this sync applies only after the claim is healthy"
    return "; if this app declares that Pod, the sync applies it only after the claim is healthy"


def _fixes(case: Case, claim: _Claim, why: str, *, first_use: bool, blocks_sync: bool) -> Iterator[Fix]:
    if _is_lost(claim):
        yield _restore(claim)
    elif first_use and not blocks_sync:
        pods = kubectl("get", "pods", namespace=claim.ref.namespace)
        yield Fix.run(
            on_object("describe", claim.ref) + "   # Used By: the Pods that mount it",
            with_comment(pods, "is one of them Pending, and why?"),
            title="Start a Pod that uses it: the claim is then bound; if nothing uses it, remove it from Git",
        )
    elif first_use:
        same_wave = (
            comment(f"set argocd.argoproj.io/sync-wave of {claim.ref} and of the workload"),
            comment("that uses it to the same wave in Git, and commit"),
            sync(case),
        )
        yield Fix.run(
            on_object("describe", claim.ref),
            *same_wave,
            title="Move the claim to the wave of the workload that uses it",
        )
    elif _missing_class(case, claim):
        yield from _other_class(case, claim)
    elif volume := text(claim.manifest.spec.get("volumeName")) if claim.manifest is not None else "":
        yield Fix.run(
            kubectl("get", "persistentvolume", volume, "-o", "yaml"),
            comment("a Released volume: remove its spec.claimRef, after a look at the data; it is then free"),
            on_object("get", claim.ref),
            title=f"Make PersistentVolume {volume} available for this claim, or name another one in Git",
            risk="the claim gets the data that is on the volume",
        )
    else:
        if operator_error(why) is not None:
            yield remedy(case, claim.ref, why)
        yield from _run_provisioner(case, claim)
        yield Fix.run(
            on_object("describe", claim.ref),
            kubectl("get", "storageclass"),
            title="Set a StorageClass that exists and works, or fix its provisioner",
            risk="the class is immutable: the claim, or its StatefulSet, must be recreated",
        )


_LOST = "Lost"


def _is_lost(claim: _Claim) -> bool:
    return claim.manifest is not None and claim.manifest.at(PHASE) == _LOST


def _restore(claim: _Claim) -> Fix:
    """Kubernetes does not bind a lost claim again: it is recreated, with a volume that has the data."""
    return Fix.run(
        on_object("describe", claim.ref),
        with_comment("kubectl get persistentvolumes,volumesnapshots -A", "is the data anywhere else?"),
        comment("create a PersistentVolume for the disk or the snapshot, then delete the claim and sync"),
        title="Find the data (a disk, a snapshot, a backup), restore its PersistentVolume, then recreate the"
        " claim",
        risk="an empty volume replaces the data if the claim is recreated before it is restored",
    )


def _run_provisioner(case: Case, claim: _Claim) -> Iterator[Fix]:
    """Where nothing reports an error, the provisioner most likely does not run."""
    if claim.manifest is None or warning_of(case, claim.ref) is not None:
        return
    provisioner = _provisioner(claim.manifest, _class(case, claim.manifest))
    if provisioner is not None:
        yield Fix.run(
            with_comment("kubectl get csidrivers,csinodes", f"is {provisioner.value} registered?"),
            with_comment(
                "kubectl get pods -A", f"does the Pod of {provisioner.value} run? Its log shows why not"
            ),
            title=f"Get provisioner {provisioner.value} running: it has not answered this claim",
        )


def _other_class(case: Case, claim: _Claim) -> Iterator[Fix]:
    """A claim that was never bound has no data, so it can be recreated with another class."""
    wanted, owner = _missing_class(case, claim), _owner(case, claim.ref)
    known = sorted(manifest.ref.name for manifest in case.live_of_kind("StorageClass"))
    place = f"volumeClaimTemplates of {owner.ref}" if owner is not None else str(claim.ref)
    pod = f"{owner.ref.name}-{claim.ref.name.rpartition('-')[2]}" if owner is not None else ""
    yield Fix.run(
        with_comment(kubectl("get", "storageclass", known[0], "-o", "yaml"), "as a template"),
        comment(f"create StorageClass {wanted} with the provisioner and parameters that it needs"),
        title=f"Create StorageClass {wanted}: the claim is then bound by itself",
    )
    yield Fix.run(
        comment(f"in Git: storageClassName {' or '.join(known)} in {place}; commit and push"),
        *((on_object("delete", owner.ref, "--cascade=orphan"),) if owner is not None else ()),
        on_object("delete", claim.ref),
        *(
            (
                with_comment(
                    kubectl("delete", "pod", pod, namespace=claim.ref.namespace), "it waits for the claim"
                ),
            )
            if owner is not None
            else ()
        ),
        sync(case),
        title=f"Or, in Git, set a class that exists ({', '.join(known)}), and recreate the claim",
        risk="the class is immutable, so the claim is recreated; it has no data, because it was never bound"
        + ("; running Pods of the StatefulSet stay" if owner is not None else ""),
        destroys=(
            f"{claim.ref}, which holds no data",
            *(
                (f"Pod {pod}", "the StatefulSet object, until the sync recreates it")
                if owner is not None
                else ()
            ),
        ),
    )


def _missing_class(case: Case, claim: _Claim) -> str:
    """The class of the claim, if the classes of the cluster are known and it is not one of them."""
    classes = {manifest.ref.name for manifest in case.live_of_kind("StorageClass")}
    name = text(claim.manifest.at(CLASS)) if claim.manifest is not None else ""
    return name if classes and name not in classes else ""


def _owner(case: Case, ref: Ref) -> Manifest | None:
    """The StatefulSet that creates the claim from a template: TEMPLATE-STATEFULSET-ORDINAL."""
    for manifest in case.live_of_kind("StatefulSet"):
        templates = (
            text(dig(fields(template), "metadata", "name"))
            for template in items(manifest.spec.get("volumeClaimTemplates"))
        )
        own = any(ref.name.rpartition("-")[0] == f"{template}-{manifest.ref.name}" for template in templates)
        if own and manifest.ref.namespace == ref.namespace:
            return manifest
    return None


def _waits_for_volume(case: Case, ref: Ref) -> bool:
    """Argo CD's health check reports a claim as Progressing only while its phase is Pending."""
    row = case.rows.get(ref.key)
    return row is not None and row.health is not None and row.health.status == "Progressing"


def _cited_row(case: Case, claim: _Claim) -> Iterator[Evidence]:
    row = case.rows.get(claim.ref.key)
    if claim.manifest is None and row is not None:
        yield case.cited_row(row, says="Progressing: its phase is Pending")


def _reported(case: Case, claim: Ref) -> Iterator[SymptomId]:
    """Events about the claim that report the same."""
    yield from (
        symptom.id
        for symptom in case.symptoms
        if symptom.kind is SymptomKind.EVENT and symptom.ref is not None and symptom.ref.key == claim.key
    )
    for report in case.failures(VolumePending):
        if report.ref is not None and report.ref.name == claim.name:
            yield from (symptom for symptom in report.symptoms if symptom in case.symptom_ids)


def _age(case: Case, claim: _Claim) -> timedelta:
    age = age_at(case, claim.manifest, "/metadata/creationTimestamp") if claim.manifest is not None else None
    return age if age is not None else timedelta.max


def _pending(case: Case) -> dict[Key, _Claim]:
    """Claims that are rows themselves, and those that Pods of unhealthy rows wait for."""
    result: dict[Key, _Claim] = {}
    for symptom in case.symptoms:
        if symptom.kind is not SymptomKind.UNHEALTHY or symptom.ref is None:
            continue
        for claim in _claims(case, symptom.ref):
            if claim.manifest is None or claim.manifest.at(PHASE) in ("Pending", _LOST):
                result.setdefault(claim.ref.key, claim).explains.append(symptom.id)
    return result


def _claims(case: Case, ref: Ref) -> Iterator[_Claim]:
    if ref.kind == "PersistentVolumeClaim":
        yield _Claim(ref=ref, manifest=case.live_of(ref.key), explains=[])
        return
    for history in case.pods_of(ref):
        for volume in items(history.pod.spec.get("volumes")):
            name = text(dig(fields(volume), "persistentVolumeClaim", "claimName"))
            key = Key("", "PersistentVolumeClaim", history.pod.ref.namespace, name)
            claim = case.live_of(key) if name else None
            if claim is not None:
                yield _Claim(ref=claim.ref, manifest=claim, explains=[])


def _why(case: Case, claim: _Claim) -> tuple[str, tuple[Evidence, ...], bool]:
    """The reason, its evidence, and whether the claim waits for its first Pod, which is not a failure."""
    for manifest, event in reversed(case.events_about(claim.ref)):
        for failure in understand(event.says).failures:
            if isinstance(failure, VolumePending):
                evidence = (cite(manifest, "/message", says="the event with the reason"),)
                if failure.first_consumer:
                    return "its class waits for the first Pod that uses it", evidence, True
                return one_line(failure.detail or failure.text), evidence, False
    if claim.manifest is None:
        return "", (), False
    if _is_lost(claim):
        return *_why_lost(case, claim.manifest), False
    classes = {manifest.ref.name: manifest for manifest in case.live_of_kind("StorageClass")}
    class_name = text(claim.manifest.at(CLASS))
    missing = _missing_class(case, claim)
    if class_name in classes and classes[class_name].body.get("volumeBindingMode") == "WaitForFirstConsumer":
        evidence = (cite(classes[class_name], "/volumeBindingMode", says="binds on first use"),)
        return "its class waits for the first Pod that uses it", evidence, True
    if volume := text(claim.manifest.spec.get("volumeName")):
        return *_of_volume(case, claim.manifest, volume), False
    if missing:
        names = ", ".join(sorted(classes))
        evidence = (cite(claim.manifest, CLASS, says=f"no such class (known: {names})"),)
        return f"StorageClass {missing} does not exist", evidence, False
    return *_unprovisioned(case, claim.manifest, classes.get(class_name)), False


def _why_lost(case: Case, claim: Manifest) -> tuple[str, tuple[Evidence, ...]]:
    volume = text(claim.spec.get("volumeName"))
    if volume and case.live_named("PersistentVolume", "", volume) is None:
        named = cite(claim, "/spec/volumeName", says="the volume that it was bound to")
        return f"PersistentVolume {volume} no longer exists", (named,)
    warning = warning_of(case, claim.ref)
    return (one_line(warning.text), (warning.evidence,)) if warning is not None else ("", ())


def _unprovisioned(case: Case, claim: Manifest, used: Manifest | None) -> tuple[str, tuple[Evidence, ...]]:
    """A warning about the claim, else who has to create the volume."""
    warning = warning_of(case, claim.ref)
    if warning is not None:
        return one_line(warning.text), (warning.evidence,)
    provisioner = _provisioner(claim, used)
    if provisioner is None:
        return "", ()
    return f"it waits for a volume from provisioner {provisioner.value}", (provisioner,)


def _waits_for_provisioner(case: Case, claim: _Claim, evidence: tuple[Evidence, ...]) -> bool:
    """Is all that is known who has to create the volume? Nothing reports a failure then."""
    if claim.manifest is None:
        return False
    provisioner = _provisioner(claim.manifest, _class(case, claim.manifest))
    return provisioner is not None and evidence == (provisioner,)


def _class(case: Case, claim: Manifest) -> Manifest | None:
    name = text(claim.at(CLASS))
    return next(
        (manifest for manifest in case.live_of_kind("StorageClass") if manifest.ref.name == name), None
    )


def _provisioner(claim: Manifest, used: Manifest | None) -> Evidence | None:
    """Kubernetes asks a provisioner by an annotation of the claim; its class names it, too."""
    says = "who has to create the volume"
    for pointer in _PROVISIONERS:
        if text(claim.at(pointer)):
            return cite(claim, pointer, says=says)
    named = used is not None and text(used.body.get("provisioner"))
    return cite(used, "/provisioner", says=says) if used is not None and named else None


_PROVISIONERS = (
    "/metadata/annotations/volume.kubernetes.io~1storage-provisioner",
    "/metadata/annotations/volume.beta.kubernetes.io~1storage-provisioner",
)


def _of_volume(case: Case, claim: Manifest, name: str) -> tuple[str, tuple[Evidence, ...]]:
    """Why the volume that the claim names does not become its own."""
    named = cite(claim, "/spec/volumeName", says="the volume that it asks for")
    volume = case.live_named("PersistentVolume", "", name)
    if volume is None:
        if any(case.live_of_kind("PersistentVolume")):
            return f"PersistentVolume {name}, which it names, does not exist", (named,)
        return "", ()
    holder = fields(volume.spec.get("claimRef"))
    place = f"{text(holder.get('namespace'))}/{text(holder.get('name'))}"
    is_own = place == claim.ref.place and text(holder.get("uid")) in ("", text(claim.meta.get("uid")))
    phase = text(volume.status.get("phase"))
    if holder and not is_own:
        same = " of the same name" if place == claim.ref.place else f" {place}"
        state = f"is {phase} and " if phase else ""
        evidence = (named, cite(volume, "/spec/claimRef", says="the claim that it belongs to"))
        return f"PersistentVolume {name} {state}still belongs to {_which(phase)} claim{same}", evidence
    if phase and phase not in ("Available", "Bound"):
        message = text(volume.status.get("message"))
        evidence = (named, cite(volume, "/status", says="its phase"))
        return f"PersistentVolume {name} is {phase}" + (f": {one_line(message)}" if message else ""), evidence
    return "", ()


def _which(phase: str) -> str:
    return "a deleted" if phase == "Released" else "another"
