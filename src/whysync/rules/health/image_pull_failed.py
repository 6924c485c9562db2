"""An image cannot be pulled.

## What happens
The node cannot get the container's image: the tag does not exist, the registry refuses the credentials,
limits the rate, or cannot be reached. The Pod waits (`ErrImagePull`, `ImagePullBackOff`), the rollout
stands still. Old Pods go on running.

## How whysync knows
A container of the workload's Pods waits for that reason, or an event says so; the registry's answer is in
its message.

## Fix
For a tag that does not exist: set one that does. For credentials: an `imagePullSecrets` entry that the
registry accepts, in the same namespace. For rate limits: log in, or use a mirror.

## When it is something else
`ErrImageNeverPull` is the Pod's own policy. A digest instead of a tag in the diff is a webhook's work.
"""

from collections.abc import Iterator
from shlex import quote

from msgspec.structs import replace

from whysync.diagnosis import Case, Confidence, Finding, Fix, Set, Severity, SymptomKind, cite, rule
from whysync.diagnosis.owning_resource import owning_row_of
from whysync.diagnosis.symptom import SymptomId
from whysync.json_tree import text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.pods import ImagePull, PullProblem
from whysync.queries.already_fixed import sync_again
from whysync.queries.commands import comment, kubectl, with_comment
from whysync.queries.images import (
    ImageRefusal,
    git_has_another_tag,
    image_pointers,
    image_refusal,
    registry_answer,
    registry_reason,
    running_tag,
)
from whysync.queries.previous_revision import with_revert
from whysync.queries.waiting_on import awaited_hook

_REASONS = frozenset({"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"})


@rule(cause="image-pull", since="0.1")
def image_pull_failed(case: Case) -> Iterator[Finding]:
    explained: set[str] = set()
    rows: set[Ref | None] = {awaited_hook(case)} - {None}
    for symptom in case.symptoms:
        if symptom.kind not in (SymptomKind.UNHEALTHY, SymptomKind.RESULT) or symptom.ref is None:
            continue
        for story in case.pods_of(symptom.ref):
            waiting = next((c for c in story.containers if c.waiting in _REASONS), None)
            if waiting is None:
                continue
            explained.add(symptom.id)
            rows.add(symptom.ref)
            refusal = image_refusal(case, story.pod, waiting)
            reason = f": {refusal.reason}" if refusal.reason else ""
            finding = Finding(
                about=symptom.ref,
                explains=(symptom.id, *_said_below(case, symptom.ref)),
                severity=Severity.CRITICAL,
                confidence=Confidence.HIGH,
                verdict=f"{story.pod.ref} cannot pull {waiting.image or 'its image'}{refusal.reason_text}",
                root=refusal.root or waiting.waiting_message or None,
                evidence=(
                    cite(story.pod, waiting.pointer, says=f"container {waiting.name} waits"),
                    *refusal.evidence,
                ),
                fixes=(*_credentials(story.pod, refusal), *_fixes(story.pod.ref, waiting.image)),
            )
            yield with_revert(case, _with_tag_that_runs(case, finding, waiting.image, reason))
            break
    for report in case.failures(ImagePull):
        if report.ref is None or not explained.isdisjoint(report.symptoms):
            continue
        if owning_row_of(case, report.ref) in rows:
            continue  # the Pod itself has told it, or the hook that it belongs to
        unhealthy = [s for s in (SymptomId.unhealthy(report.ref.key),) if s in case.symptom_ids]
        if not explained.isdisjoint(unhealthy):
            continue
        image = report.failure.image
        yield Finding(
            about=report.ref,
            explains=tuple(dict.fromkeys([*unhealthy, *report.symptoms])),
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"{report.ref} cannot pull {image or 'its image'}"
            + registry_reason(report.failure.reason, registry_answer(report.failure.text, image)),
            root=report.failure.text,
            evidence=(report.cite(says="the node says so"),),
            fixes=_fixes(report.ref, image),
        )


def _with_tag_that_runs(case: Case, finding: Finding, image: str, reason: str) -> Finding:
    """Where this one does not exist, and another tag of it runs: in this cluster, whatever the namespace."""
    desired = case.desired_of(finding.about.key)
    running = running_tag(case, image) if "not-found" in reason and desired is not None else None
    if running is None:
        return finding
    if git_has_another_tag(desired, case.live_of(finding.about.key), image):
        return replace(
            finding,
            already_fixed=sync_again(
                case,
                True,
                "Git names another image by now",
                "Sync: Git names another image by now",
                *finding.fixes,
            ),
        )
    pointers = tuple(image_pointers(desired, image))
    if not pointers:
        return finding  # whoever makes the Pods writes the image in another way
    use_running_tag = Fix.change(
        finding.about,
        *(Set(pointer=pointer, value=running[0]) for pointer in pointers),
        title=f"Is {running[0]} meant, which runs here? Then name it in Git",
        risk="another version may be wanted: see which tags the registry has",
    )
    return replace(finding, evidence=(*finding.evidence, running[1]), fixes=(use_running_tag, *finding.fixes))


def _said_below(case: Case, row: Ref) -> tuple[SymptomId, ...]:
    """Events about the Pods of a row say the same of each of them."""
    reports = (report for report in case.failures(ImagePull) if report.ref is not None)
    below = (report for report in reports if report.ref and owning_row_of(case, report.ref) == row)
    return tuple(dict.fromkeys(id for one in below for id in one.symptoms if id in case.symptom_ids))


def _credentials(pod: Manifest, refusal: ImageRefusal) -> Iterator[Fix]:
    """A registry that refuses the login: the Secret that the kubelet logged in with, if any."""
    if refusal.reason is not PullProblem.UNAUTHORIZED:
        return
    namespace = pod.ref.namespace or "default"
    account = text(pod.spec.get("serviceAccountName")) or "default"
    if not refusal.secrets:
        yield Fix.run(
            with_comment(
                kubectl("get", "serviceaccount", account, "-o", "yaml", namespace=namespace),
                "its pull secrets",
            ),
            title="Give the Pod an imagePullSecret that the registry accepts: it has none",
        )
        return
    yield Fix.run(
        *(kubectl("describe", "secret", name, namespace=namespace) for name in refusal.secrets),
        comment(
            "renew it where it is created; a registry token that expires needs a job or an operator for that"
        ),
        kubectl("delete", "pod", pod.ref.name, namespace=namespace) + "   # pulls again at once",
        title=f"Renew the credentials in imagePullSecret {', '.join(refusal.secrets)}",
    )


def _fixes(ref: Ref, image: str) -> tuple[Fix, ...]:
    inspect = with_comment(f"docker manifest inspect {quote(image)}", "does it exist, and may you read it?")
    return (
        Fix.run(
            *((inspect,) if image else ()),
            kubectl("describe", ref.kind.lower(), ref.name, namespace=ref.namespace or "default"),
            title="Set an image in Git that exists, or give the Pod credentials that the registry accepts",
        ),
    )
