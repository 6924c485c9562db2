"""Containers that cannot be created: the runtime's reason, and the keys of ConfigMaps and Secrets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

import msgspec

from whysync.diagnosis import Case, Evidence, SymptomKind, cite
from whysync.diagnosis.failures import ReportedFailure
from whysync.diagnosis.owning_resource import owning_row_of, symptoms_about
from whysync.diagnosis.sentences import one_line
from whysync.diagnosis.symptom import SymptomId
from whysync.json_tree import Object, dig, fields, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.messages.parse import understand
from whysync.messages.patterns.pods import ContainerConfigInvalid, DependencyMissing
from whysync.queries.group_failures import FailureGroup, grouped

_KEY_SELECTORS = {"ConfigMap": "configMapKeyRef", "Secret": "secretKeyRef"}
_POD_SPECS = ("/spec/template/spec", "/spec/jobTemplate/spec/template/spec", "/spec")
_REASONS = frozenset(
    {"CreateContainerConfigError", "CreateContainerError", "RunContainerError", "StartError"}
)


class ContainerError(msgspec.Struct, frozen=True, kw_only=True):
    """A container that cannot be created; `reason` is the kubelet's code, where there is no message."""

    about: Ref
    explains: tuple[SymptomId, ...]
    container: str
    message: str
    evidence: tuple[Evidence, ...]
    reason: str = ""
    pod: Ref | None = None


def container_errors(case: Case) -> Iterator[ContainerError]:
    """From the states of containers, then from events about those whose Pod is not known.

    An object that does not exist at all is left to `missing_objects`; a missing key of one is not.
    """
    explained: set[str] = set()
    for error in _of_states(case):
        explained.update(error.explains)
        yield error
    for group in grouped(case, ContainerConfigInvalid, by=lambda f: f.detail):
        error = _of_event(case, group, group.failure.detail)
        if explained.isdisjoint(error.explains):
            explained.update(error.explains)
            yield error
    for group in grouped(case, DependencyMissing, by=lambda f: (f.kind, f.name, f.key)):
        error = _of_event(case, group, group.failure.text)
        if group.failure.key and group.failure.name and explained.isdisjoint(error.explains):
            yield error


def _of_states(case: Case) -> Iterator[ContainerError]:
    for ref in _unhealthy_or_running(case):
        for history in case.pods_of(ref):
            waiting = next((c for c in history.containers if c.waiting in _REASONS), None)
            if waiting is None or _lacks_object(waiting.waiting_message):
                continue
            yield ContainerError(
                about=ref,
                explains=tuple(dict.fromkeys((*symptoms_about(case, ref), *_reported_below(case, ref)))),
                container=f"container {waiting.name} of {history.pod.ref}",
                message=waiting.waiting_message,
                reason=waiting.waiting,
                evidence=(
                    cite(history.pod, f"{waiting.pointer}/state/waiting", says="the runtime's reason"),
                ),
                pod=history.pod.ref,
            )
            break


def _of_event(
    case: Case, group: FailureGroup[ContainerConfigInvalid] | FailureGroup[DependencyMissing], message: str
) -> ContainerError:
    ref = group.ref
    about = (owning_row_of(case, ref) if ref is not None else None) or ref or case.application.ref
    return ContainerError(
        about=about,
        explains=tuple(dict.fromkeys((*group.explains, *symptoms_about(case, about)))),
        container=f"a container of {about}",
        message=message,
        evidence=group.cited(says="the reported reason"),
    )


def _unhealthy_or_running(case: Case) -> Iterator[Ref]:
    """Unhealthy resources, and hooks that have not finished."""
    kinds = (SymptomKind.UNHEALTHY, SymptomKind.RESULT)
    unhealthy = [
        symptom.ref for symptom in case.symptoms if symptom.kind in kinds and symptom.ref is not None
    ]
    hooks = [result.ref for result in case.results if result.hook_type and result.hook_phase == "Running"]
    yield from {ref.key: ref for ref in (*unhealthy, *hooks) if symptoms_about(case, ref)}.values()


def _reported_below(case: Case, row: Ref) -> Iterator[SymptomId]:
    """Events about the row's Pods that report the same problem."""
    for report in (*case.failures(ContainerConfigInvalid), *_missing_keys(case)):
        if report.ref is not None and owning_row_of(case, report.ref) == row:
            yield from (id for id in report.symptoms if id in case.symptom_ids)


def _missing_keys(case: Case) -> Iterator[ReportedFailure[DependencyMissing]]:
    return (report for report in case.failures(DependencyMissing) if report.failure.key)


def _lacks_object(message: str) -> bool:
    return any(not failure.key for failure in understand(message).every(DependencyMissing))


def plain_message(message: str) -> str:
    """The message without the Pod's name, which the finding already contains."""
    return one_line(message.partition(" (pod: ")[0].removeprefix("Error: "))


def keys_of(manifest: Manifest) -> tuple[str, ...]:
    body: Object = manifest.body
    return tuple(sorted({*fields(body.get("data")), *fields(body.get("binaryData"))}))


def env_key_pointer(workload: Manifest, kind: str, name: str, key: str) -> str:
    """The pointer to the key in the environment of a container; empty if no container refers to it."""
    source = _KEY_SELECTORS.get(kind, "")
    for template in _POD_SPECS:
        for group in ("initContainers", "containers"):
            for number, container in enumerate(items(workload.at(f"{template}/{group}"))):
                for index, raw in enumerate(items(fields(container).get("env"))):
                    selector = fields(dig(raw, "valueFrom", source))
                    if (text(selector.get("name")), text(selector.get("key"))) == (name, key):
                        return f"{template}/{group}/{number}/env/{index}/valueFrom/{source}/key"
    return ""


def similar_key(key: str, keys: Iterable[str]) -> str:
    """The key that is probably meant: equal but for case and punctuation, else the closest match."""
    candidates = tuple(keys)
    same = [name for name in candidates if _letters(name) == _letters(key)]
    close = get_close_matches(key, candidates, n=1, cutoff=0.8)
    return (same or close or [""])[0]


def _letters(name: str) -> str:
    return "".join(char for char in name.lower() if char.isalnum())
