"""An image cannot be pulled.

## What happens
The node cannot pull the container's image: the tag does not exist, or the registry rejects the credentials,
limits the rate or cannot be reached. The Pod waits (`ErrImagePull`, `ImagePullBackOff`), and the rollout does
not progress. Old Pods keep running.

## How whysync knows
A container of the workload's Pods waits for that reason, or an event reports it; the message contains the
registry's response.

## Fix
For a tag that does not exist: set one that does. For credentials: an `imagePullSecrets` entry that the
registry accepts, in the same namespace. For rate limits: log in, or use a mirror.

## When it is something else
`ErrImageNeverPull` is the Pod's own pull policy. A digest instead of a tag in the diff is written by a
webhook.
"""

from collections.abc import Iterator
from shlex import quote

from msgspec.structs import replace

from whysync.diagnosis import Case, Confidence, Finding, Fix, Set, Severity, SymptomKind, cite, rule
from whysync.diagnosis.evidence_key import image_key
from whysync.diagnosis.owning_resource import owning_row_of
from whysync.diagnosis.symptom import SymptomId
from whysync.json_tree import text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.pods import ImagePull, PullProblem
from whysync.queries.already_fixed import sync_again
from whysync.queries.commands import comment, kubectl, on_object, with_comment
from whysync.queries.group_failures import pod_symptoms
from whysync.queries.images import (
    ImageRefusal,
    git_has_another_tag,
    image_pointers,
    image_refusal,
    pull_remedy,
    registry_answer,
    registry_reason,
    running_tag,
)
from whysync.queries.operator_remedies import in_short, remedy
from whysync.queries.previous_revision import with_revert
from whysync.queries.producers import producer_of
from whysync.queries.reason_chain import Link, chain_evidence, chain_of_producer, last_reason, symptoms_on
from whysync.queries.waiting_on import awaited_hook

_REASONS = frozenset({"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"})

_CORRECTED_IN_GIT = (
    PullProblem.NOT_FOUND,
    PullProblem.INVALID_NAME,
    PullProblem.PLATFORM,
    PullProblem.NEVER_PULLED,
    PullProblem.UNKNOWN,
)


@rule(cause="image-pull", since="0.1")
def image_pull_failed(case: Case) -> Iterator[Finding]:
    explained: set[str] = set()
    rows: set[Ref | None] = {awaited_hook(case)} - {None}
    for symptom in case.symptoms:
        if symptom.kind not in (SymptomKind.UNHEALTHY, SymptomKind.RESULT) or symptom.ref is None:
            continue
        for history in case.pods_of(symptom.ref):
            waiting = next((c for c in history.containers if c.waiting in _REASONS), None)
            if waiting is None:
                continue
            explained.add(symptom.id)
            rows.add(symptom.ref)
            refusal = image_refusal(case, history.pod, waiting)
            unmade = _unmade_secret(case, history.pod, refusal)
            finding = Finding(
                about=symptom.ref,
                explains=(
                    symptom.id,
                    *pod_symptoms(case, symptom.ref, ImagePull),
                    *symptoms_on(case, unmade),
                ),
                severity=Severity.CRITICAL,
                confidence=Confidence.HIGH,
                verdict=f"{history.pod.ref} cannot pull {waiting.image or 'its image'}{refusal.reason_text}"
                + _not_written(unmade),
                root=_last_text(unmade) or refusal.root or waiting.waiting_message or None,
                evidence=(
                    cite(history.pod, waiting.pointer, says=f"container {waiting.name} waits"),
                    *refusal.evidence,
                    *chain_evidence(unmade),
                ),
                fixes=tuple(_source_of_secret(case, unmade))
                or tuple(_credentials(history.pod, refusal))
                or _fixes(history.pod.ref, waiting.image, refusal.reason),
                key=image_key(case, waiting.image, refusal.reason, refusal.secrets),
            )
            yield with_revert(case, _with_running_tag(case, finding, waiting.image, refusal))
            break
    for report in case.failures(ImagePull):
        if report.ref is None or not explained.isdisjoint(report.symptoms):
            continue
        if owning_row_of(case, report.ref) in rows:
            continue  # already reported for the row, or by the hook
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
            evidence=(report.cite(says="the reported reason"),),
            fixes=_fixes(report.ref, image, report.failure.reason),
        )


def _with_running_tag(case: Case, finding: Finding, image: str, refusal: ImageRefusal) -> Finding:
    """Proposes another tag of a missing image that runs in this cluster, in any namespace."""
    desired = case.desired_of(finding.about.key)
    running = (
        running_tag(case, image) if refusal.reason is PullProblem.NOT_FOUND and desired is not None else None
    )
    if running is None:
        return finding
    if git_has_another_tag(desired, case.live_of(finding.about.key), image):
        return replace(
            finding,
            already_fixed=sync_again(
                case, "Git has another image now", "Sync: Git has another image now", *finding.fixes
            ),
        )
    pointers = tuple(image_pointers(desired, image))
    if not pointers:
        return finding  # the image of the Pods is not written like this in Git
    use_running_tag = Fix.change(
        finding.about,
        *(Set(pointer=pointer, value=running[0]) for pointer in pointers),
        title=f"If {running[0]} is meant, which runs in this cluster: set it in Git",
        risk="another version may be intended: check the tags in the registry",
    )
    return replace(finding, evidence=(*finding.evidence, running[1]), fixes=(use_running_tag, *finding.fixes))


def _unmade_secret(case: Case, pod: Manifest, refusal: ImageRefusal) -> tuple[Link, ...]:
    """From what creates a missing imagePullSecret to the last object that reports why it did not."""
    for name in refusal.secrets if refusal.reason is PullProblem.UNAUTHORIZED else ():
        if case.live_named("Secret", pod.ref.namespace, name) is None:
            producer = producer_of(case, "Secret", pod.ref.namespace, name)
            chain = chain_of_producer(case, producer.manifest.ref) if producer and producer.certain else ()
            if last_reason(chain) is not None:
                return chain
    return ()


def _not_written(chain: tuple[Link, ...]) -> str:
    source = next(iter(chain), None)
    if source is None:
        return ""
    reporter = f"{chain[-1].ref}: " if len(chain) > 1 else ""
    return f", which {source.ref} has not created: {reporter}{in_short(_last_text(chain))}"


def _last_text(chain: tuple[Link, ...]) -> str:
    reason = last_reason(chain)
    return reason.text if reason is not None else ""


def _source_of_secret(case: Case, chain: tuple[Link, ...]) -> Iterator[Fix]:
    if chain:
        created = with_comment(on_object("get", chain[0].ref), "it creates the Secret once that is fixed")
        yield remedy(case, chain[-1].ref, _last_text(chain), created)


def _credentials(pod: Manifest, refusal: ImageRefusal) -> Iterator[Fix]:
    """For a rejected login: the imagePullSecret that the kubelet used, if any."""
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
            title="Add an imagePullSecret that the registry accepts: the Pod has none",
        )
        return
    if refusal.missing:
        name = refusal.missing[0]
        yield Fix.run(
            with_comment(
                kubectl(
                    *("create", "secret", "docker-registry", name, "--docker-server=REGISTRY"),
                    *("--docker-username=USER", "--docker-password=TOKEN"),
                    namespace=namespace,
                ),
                "or declare what creates it",
            ),
            kubectl("delete", "pod", pod.ref.name, namespace=namespace) + "   # pulls again immediately",
            title=f"Create imagePullSecret {name}, or correct its name in Git",
        )
        return
    yield Fix.run(
        *(kubectl("describe", "secret", name, namespace=namespace) for name in refusal.secrets),
        comment(
            "renew it at its source; a registry token that expires needs a job or an operator that renews it"
        ),
        kubectl("delete", "pod", pod.ref.name, namespace=namespace) + "   # pulls again immediately",
        title=f"Renew the credentials in imagePullSecret {', '.join(refusal.secrets)}",
    )


def _fixes(ref: Ref, image: str, reason: PullProblem) -> tuple[Fix, ...]:
    inspect = with_comment(f"docker manifest inspect {quote(image)}", "does it exist, and can you read it?")
    return (
        Fix.run(
            *((inspect,) if image else ()),
            kubectl("describe", ref.kind.lower(), ref.name, namespace=ref.namespace or "default"),
            title=pull_remedy(reason),
            then_commit=reason in _CORRECTED_IN_GIT,
        ),
    )
