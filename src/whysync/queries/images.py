"""Container images: the registry's response to a pull, and other tags of an image that run."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import msgspec

from whysync.diagnosis.evidence import Evidence, cite
from whysync.diagnosis.pods import ContainerHistory
from whysync.diagnosis.sentences import both_ends
from whysync.json_tree import dig, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.messages.parse import understand
from whysync.messages.patterns.pods import ImagePull, PullProblem

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

_REASONS = {
    PullProblem.NOT_FOUND: "the image does not exist",
    PullProblem.UNAUTHORIZED: "the registry rejects the credentials",
    PullProblem.TOO_MANY_REQUESTS: "the registry's rate limit is exceeded",
    PullProblem.UNREACHABLE: "the registry cannot be reached",
    PullProblem.TLS: "the registry's certificate is not trusted",
    PullProblem.INVALID_NAME: "the image name is invalid",
    PullProblem.PLATFORM: "the image does not exist for the node's platform",
    PullProblem.NEVER_PULLED: "its pull policy is Never, and the image is not on the node",
    PullProblem.UNKNOWN: "",
}
# Reasons with several causes: the registry's response adds detail.
_ANSWERED = frozenset(
    {
        PullProblem.UNAUTHORIZED,
        PullProblem.TOO_MANY_REQUESTS,
        PullProblem.UNREACHABLE,
        PullProblem.TLS,
    }
)
_NEAR: Final = 0.75
_NO_SECRET: Final = "FailedToRetrieveImagePullSecret"
_TEMPLATE: Final = "/spec/template/spec"


class ImageRefusal(msgspec.Struct, frozen=True, kw_only=True):
    """`answer` is the registry's response, the last part of the error. `secrets` are the imagePullSecrets,
    `missing` those that do not exist."""

    reason: PullProblem = PullProblem.UNKNOWN
    answer: str = ""
    evidence: tuple[Evidence, ...] = ()
    secrets: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def reason_text(self) -> str:
        rejected = self.secrets and self.reason is PullProblem.UNAUTHORIZED
        used = f" (imagePullSecret {', '.join(self.secrets)})" if rejected else ""
        if rejected and self.missing:
            used = f" (imagePullSecret {', '.join(self.missing)} does not exist)"
        return registry_reason(self.reason, self.answer) + used

    @property
    def root(self) -> str:
        return self.answer if self.reason in _ANSWERED else ""


def image_refusal(case: Case, pod: Manifest, container: ContainerHistory) -> ImageRefusal:
    """The state of a container in back-off lacks the response; the event of the failed pull has it."""
    secrets = _pull_secrets(case, pod)
    missing = tuple(name for name in secrets if _is_missing(case, pod, name))
    for message, evidence in _texts(case, pod, container):
        for failure in _pull_failures(message, container):
            if isinstance(failure, ImagePull) and failure.reason is not PullProblem.UNKNOWN:
                return ImageRefusal(
                    reason=failure.reason,
                    answer=registry_answer(message, failure.image or container.image),
                    evidence=evidence,
                    secrets=secrets,
                    missing=missing,
                )
    return ImageRefusal(secrets=secrets, missing=missing)


def _pull_secrets(case: Case, pod: Manifest) -> tuple[str, ...]:
    """Those of the Pod; one that names none gets those of its service account at admission."""
    account = text(pod.spec.get("serviceAccountName")) or "default"
    source = case.live_named("ServiceAccount", pod.ref.namespace, account)
    entries = items(pod.spec.get("imagePullSecrets")) or (
        items(source.body.get("imagePullSecrets")) if source is not None else []
    )
    return tuple(name for entry in entries if (name := text(dig(entry, "name"))))


def _is_missing(case: Case, pod: Manifest, name: str) -> bool:
    """The kubelet reports it, or the Secrets of the namespace were listed, and it is not live."""
    if case.live_named("Secret", pod.ref.namespace, name) is not None:
        return False
    reported = any(event.reason == _NO_SECRET for _, event in case.events_about(pod.ref))
    return reported or bool(case.index.live_names.get(("Secret", pod.ref.namespace)))


def _pull_failures(message: str, container: ContainerHistory) -> Iterator[object]:
    """The state of a container has the error without what failed: its reason tells that it was the pull."""
    yield from understand(message).failures
    if message == container.waiting_message:
        yield from understand(f'Failed to pull image "{container.image}": {message}').failures


def _texts(
    case: Case, pod: Manifest, container: ContainerHistory
) -> Iterator[tuple[str, tuple[Evidence, ...]]]:
    if container.waiting_message:
        yield container.waiting_message, ()
    for manifest, event in reversed(case.events_about(pod.ref)):
        if event.type != "Normal" and container.image and container.image in event.says:
            pointer = "/message" if event.message else "/note"
            yield event.says, (cite(manifest, pointer, says="the registry's response"),)


def registry_reason(reason: PullProblem, answer: str) -> str:
    """The reason as text, with the registry's response if the reason has several causes."""
    detail = answer if reason in _ANSWERED else ""
    parts = [part for part in (_REASONS[reason], detail) if part]
    return f": {': '.join(parts)}" if parts else ""


def registry_answer(message: str, image: str) -> str:
    """The registry's response: the end of a wrapped pull error, after the last mention of the image.

    An error that does not name the image is the response alone.
    """
    flat = " ".join(message.split())
    _, _, answer = flat.rpartition(image) if image else ("", "", "")
    return both_ends(answer.strip('":. ')) if image else ""


def running_tag(case: Case, image: str) -> tuple[str, Evidence] | None:
    """The only other tag that runs, or the one of several that is spelled similarly."""
    name, tag = _split_image(image)
    running: dict[str, Evidence] = {}
    for pod in case.live_of_kind("Pod"):
        for index, raw in enumerate(items(pod.status.get("containerStatuses"))):
            other = text(dig(raw, "image"))
            if dig(raw, "ready") is True and other != image and _split_image(other)[0] == name:
                says = "another tag that runs"
                running.setdefault(other, cite(pod, f"/status/containerStatuses/{index}/image", says=says))
    if len(running) > 1 and tag:
        near = [
            image_name for image_name in running if _similarity(tag, _split_image(image_name)[1]) >= _NEAR
        ]
        running = {image_name: running[image_name] for image_name in near}
    return next(iter(running.items())) if len(running) == 1 else None


def image_pointers(manifest: Manifest | None, image: str) -> Iterator[str]:
    """Pointers to the fields of a workload with this image."""
    for group in ("initContainers", "containers"):
        at = f"{_TEMPLATE}/{group}"
        for index, raw in enumerate(items(manifest.at(at) if manifest is not None else None)):
            if dig(raw, "image") == image:
                yield f"{at}/{index}/image"


def git_has_another_tag(desired: Manifest | None, live: Manifest | None, image: str) -> bool:
    """Does Git have another tag, while the live workload still has this one?

    The image of a Pod proves nothing: a webhook may have changed it.
    """
    images = [desired.at(pointer) for pointer in image_pointers(live, image)] if desired is not None else []
    name = _split_image(image)[0]
    return bool(images) and all(
        isinstance(image_name, str)
        and image_name != image
        and "@" not in image
        and _split_image(image_name)[0] == name
        for image_name in images
    )


def _similarity(tag: str, other: str) -> float:
    return difflib.SequenceMatcher(None, tag, other).ratio()


def _split_image(image: str) -> tuple[str, str]:
    """Name and tag; a colon before the last slash belongs to a port."""
    name, _, digest = image.partition("@")
    head, slash, last = name.rpartition("/")
    title, _, tag = last.partition(":")
    return f"{head}{slash}{title}", tag or digest


_PULL_REMEDIES = {
    PullProblem.NOT_FOUND: "Set an image that exists, in Git: this one is not in the registry",
    PullProblem.UNAUTHORIZED: "Add an imagePullSecret that the registry accepts",
    PullProblem.TOO_MANY_REQUESTS: "Pull with a login or from a mirror: the registry limits pulls",
    PullProblem.UNREACHABLE: "Make the registry reachable from the nodes (DNS, proxy, firewall)",
    PullProblem.TLS: "Let the nodes trust the registry's certificate, or renew it",
    PullProblem.INVALID_NAME: "Correct the image's name in Git: it is not a valid reference",
    PullProblem.PLATFORM: "Set an image in Git that is built for the nodes' architecture",
    PullProblem.NEVER_PULLED: "Set imagePullPolicy to IfNotPresent in Git: the node does not have the image",
}


def pull_remedy(reason: PullProblem) -> str:
    """What lets the node pull the image."""
    unknown = "Set an image that exists, in Git, or add credentials that the registry accepts"
    return _PULL_REMEDIES.get(reason, unknown)
