"""A container cannot be made from its spec.

## What happens
The image is there, and still the container cannot be created or started: its command does not exist, a
key is missing in a ConfigMap or Secret, it must not run as root and would, a mount is impossible. Kubernetes
tries again and again (`CreateContainerConfigError`, `CreateContainerError`, `RunContainerError`).

## How whysync knows
A container of the workload's Pods waits for such a reason, with the runtime's own message; or an event
says so. For a key, whysync looks which keys the object has.

## Fix
Mend what the message names, in the manifest: ask for a key that is there, or add the key; name a user who is
not root. If the version before still runs, going back to that is safe.

## When it is something else
A Secret or ConfigMap that does not exist at all is a missing dependency. An image that cannot be pulled has a
rule of its own.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Set, Severity, SymptomKind, cite, rule
from whysync.diagnosis.failures import ReportedFailure
from whysync.diagnosis.owning_resource import row_over, symptoms_about
from whysync.diagnosis.words import one_line
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.messages.parse import understand
from whysync.messages.patterns.pods import ContainerConfigInvalid, DependencyMissing
from whysync.queries.already_fixed import sync_again
from whysync.queries.commands import beside, kubectl, on_object, sync
from whysync.queries.config_keys import asked_at, key_alike, keys_of
from whysync.queries.group_failures import grouped
from whysync.queries.previous_revision import with_way_back

_REASONS = frozenset(
    {"CreateContainerConfigError", "CreateContainerError", "RunContainerError", "StartError"}
)
NON_ROOT = "runAsNonRoot and image"
TEMPLATE = "/spec/template"
USER = f"{TEMPLATE}/spec/securityContext/runAsUser"


@rule(cause="config-error", since="0.1")
def create_container_error(case: Case) -> Iterator[Finding]:
    told: set[str] = set()
    for ref in _troubled(case):
        for story in case.pods_of(ref):
            stuck = next((c for c in story.containers if c.waiting in _REASONS), None)
            if stuck is None or _lacks_an_object(stuck.waiting_message):
                continue
            explains = tuple(dict.fromkeys((*symptoms_about(case, ref), *_said_below(case, ref))))
            told.update(explains)
            why = _words(stuck.waiting_message) or stuck.waiting
            finding = Finding(
                about=ref,
                explains=explains,
                severity=Severity.CRITICAL,
                confidence=Confidence.HIGH,
                verdict=f"container {stuck.name} of {story.pod.ref} cannot be made: {why}",
                root=_words(stuck.waiting_message) or None,
                evidence=(cite(story.pod, f"{stuck.pointer}/state/waiting", says="the runtime says why"),),
                fixes=(_look(story.pod.ref),),
            )
            yield _more_exactly(case, finding, stuck.waiting_message)
            break
    for group in grouped(case, ContainerConfigInvalid, by=lambda f: f.detail):
        ref = group.ref
        about = (row_over(case, ref) if ref is not None else None) or ref or case.application.ref
        explains = tuple(dict.fromkeys((*group.explains, *symptoms_about(case, about))))
        if not told.isdisjoint(explains):
            continue
        told.update(explains)
        finding = Finding(
            about=about,
            explains=explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"a container of {about} cannot be made: {_words(group.failure.detail)}",
            root=_words(group.failure.detail) or None,
            evidence=group.cited(says="the node says so"),
            fixes=(_look(about),),
        )
        yield _more_exactly(case, finding, group.failure.detail)
    for group in grouped(case, DependencyMissing, by=lambda f: (f.kind, f.name, f.key)):
        ref, failure = group.ref, group.failure
        about = (row_over(case, ref) if ref is not None else None) or ref or case.application.ref
        explains = tuple(dict.fromkeys((*group.explains, *symptoms_about(case, about))))
        if not (failure.key and failure.name) or not told.isdisjoint(explains):
            continue
        finding = Finding(
            about=about,
            explains=explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"a container of {about} cannot be made: {_words(failure.text)}",
            root=_words(failure.text),
            evidence=group.cited(says="the node says so"),
            fixes=(_look(about),),
        )
        yield _more_exactly(case, finding, failure.text)


def _troubled(case: Case) -> Iterator[Ref]:
    """What is not well, and hooks that have not ended."""
    kinds = (SymptomKind.UNHEALTHY, SymptomKind.RESULT)
    unwell = [symptom.ref for symptom in case.symptoms if symptom.kind in kinds and symptom.ref is not None]
    hooks = [result.ref for result in case.results if result.hook_type and result.hook_phase == "Running"]
    yield from {ref.key: ref for ref in (*unwell, *hooks) if symptoms_about(case, ref)}.values()


def _said_below(case: Case, row: Ref) -> Iterator[str]:
    """Events about the Pods of a row say the same of each of them."""
    for report in (*case.failures(ContainerConfigInvalid), *_of_keys(case)):
        if report.ref is not None and row_over(case, report.ref) == row:
            yield from (id for id in report.symptoms if id in case.symptom_ids)


def _of_keys(case: Case) -> Iterator[ReportedFailure[DependencyMissing]]:
    return (report for report in case.failures(DependencyMissing) if report.failure.key)


def _missing(message: str) -> Iterator[DependencyMissing]:
    return (failure for failure in understand(message).failures if isinstance(failure, DependencyMissing))


def _lacks_an_object(message: str) -> bool:
    return any(not failure.key for failure in _missing(message))


def _words(message: str) -> str:
    """Without the Pod's full title, which the finding names already."""
    return one_line(message.partition(" (pod: ")[0].removeprefix("Error: "))


def _look(ref: Ref) -> Fix:
    return Fix.run(on_object("describe", ref), title="Mend what the message names in the manifest in Git")


def _more_exactly(case: Case, finding: Finding, message: str) -> Finding:
    if any(one.key and one.name for one in _missing(message)):
        return _about_its_key(case, finding, message)
    if NON_ROOT in message:
        return _about_its_user(case, finding)
    return with_way_back(case, finding)


# --- users ---------------------------------------------------------------------------------------


def _about_its_user(case: Case, finding: Finding) -> Finding:
    """Which user the program can do with nobody knows: any but root is let in."""
    declared = case.desired_of(finding.about.key)
    if declared is None or not isinstance(declared.at(TEMPLATE), dict):
        return finding
    user = declared.at(USER)
    if isinstance(user, int) and user > 0:
        return replace(
            finding,
            already_fixed=sync_again(
                case,
                True,
                f"Git names user {user} by now",
                "Sync: Git names a user who is not root",
                *finding.fixes,
            ),
        )
    named = Fix.change(
        finding.about,
        Set(pointer=USER, value=1000),
        title="Name a user who is not root, in Git, or in the image (USER 1000)",
        risk="the program may need files or ports that only root may use",
    )
    return with_way_back(case, replace(finding, fixes=(named,)), first=False)


# --- keys ----------------------------------------------------------------------------------------


def _about_its_key(case: Case, finding: Finding, message: str) -> Finding:
    """Which keys there are instead, and whether one of them is meant."""
    lack = next(one for one in _missing(message) if one.key and one.name)
    namespace = lack.namespace or finding.about.namespace
    holder = case.live_named(lack.kind, namespace, lack.name)
    known = keys_of(holder) if holder is not None else ()
    user = case.desired_of(finding.about.key)
    pointer = asked_at(user, lack.kind, lack.name, lack.key) if user is not None else ""
    alike = key_alike(lack.key, known)
    if user is not None and not pointer and alike and asked_at(user, lack.kind, lack.name, alike):
        return replace(
            finding,
            already_fixed=sync_again(
                case,
                True,
                f"Git asks for {alike} by now",
                f"Sync: Git asks for {alike} by now",
                *finding.fixes,
            ),
        )
    fixes = (
        *_renamed(user, pointer, alike, lack),
        Fix.run(
            # described, not printed: values of Secrets do not belong on a screen
            beside(kubectl("describe", lack.kind.lower(), lack.name, namespace=namespace), "its keys"),
            sync(case),
            title=f"Add key {lack.key} to {lack.kind} {lack.name} where that is made, then sync",
        ),
    )
    finding = replace(
        finding,
        field=pointer or None,
        evidence=(*_keys_there(holder), *finding.evidence),
        fixes=fixes,
    )
    return finding if alike and pointer else with_way_back(case, finding)


def _renamed(user: Manifest | None, pointer: str, alike: str, lack: DependencyMissing) -> Iterator[Fix]:
    if user is not None and pointer and alike:
        yield Fix.change(
            user.ref,
            Set(pointer=pointer, value=alike),
            title=f"Ask for key {alike}, which {lack.kind} {lack.name} has",
        )


def _keys_there(holder: Manifest | None) -> Iterator[Evidence]:
    """Names only, also of a ConfigMap: what they hold does not matter here."""
    if holder is not None:
        names = ", ".join(keys_of(holder)[:10]) or "none"
        yield cite(holder, "/metadata/name", says=f"the keys that it has: {names}")
