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

from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Set, Severity, cite, rule
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.pods import DependencyMissing
from whysync.queries.already_fixed import sync_again
from whysync.queries.commands import kubectl, on_object, sync, with_comment
from whysync.queries.container_errors import (
    container_errors,
    env_key_pointer,
    keys_of,
    missing_dependencies,
    plain_message,
    similar_key,
)
from whysync.queries.previous_revision import with_revert

NON_ROOT = "runAsNonRoot and image"
TEMPLATE = "/spec/template"
USER = f"{TEMPLATE}/spec/securityContext/runAsUser"


@rule(cause="config-error", since="0.1")
def create_container_error(case: Case) -> Iterator[Finding]:
    for error in container_errors(case):
        finding = Finding(
            about=error.about,
            explains=error.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"{error.container} cannot be made: {plain_message(error.message) or error.reason}",
            root=plain_message(error.message) or None,
            evidence=error.evidence,
            fixes=(_look(error.pod or error.about),),
        )
        yield _more_exactly(case, finding, error.message)


def _look(ref: Ref) -> Fix:
    return Fix.run(on_object("describe", ref), title="Mend what the message names in the manifest in Git")


def _more_exactly(case: Case, finding: Finding, message: str) -> Finding:
    if any(
        missing_dependency.key and missing_dependency.name
        for missing_dependency in missing_dependencies(message)
    ):
        return _about_its_key(case, finding, message)
    if NON_ROOT in message:
        return _about_its_user(case, finding)
    return with_revert(case, finding)


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
    set_user = Fix.change(
        finding.about,
        Set(pointer=USER, value=1000),
        title="Name a user who is not root, in Git, or in the image (USER 1000)",
        risk="the program may need files or ports that only root may use",
    )
    return with_revert(case, replace(finding, fixes=(set_user,)), first=False)


# --- keys ----------------------------------------------------------------------------------------


def _about_its_key(case: Case, finding: Finding, message: str) -> Finding:
    """Which keys there are instead, and whether one of them is meant."""
    missing = next(
        missing_dependency
        for missing_dependency in missing_dependencies(message)
        if missing_dependency.key and missing_dependency.name
    )
    namespace = missing.namespace or finding.about.namespace
    source = case.live_named(missing.kind, namespace, missing.name)
    keys = keys_of(source) if source is not None else ()
    workload = case.desired_of(finding.about.key)
    pointer = (
        env_key_pointer(workload, missing.kind, missing.name, missing.key) if workload is not None else ""
    )
    similar = similar_key(missing.key, keys)
    if (
        workload is not None
        and not pointer
        and similar
        and env_key_pointer(workload, missing.kind, missing.name, similar)
    ):
        return replace(
            finding,
            already_fixed=sync_again(
                case,
                True,
                f"Git asks for {similar} by now",
                f"Sync: Git asks for {similar} by now",
                *finding.fixes,
            ),
        )
    fixes = (
        *_renamed(workload, pointer, similar, missing),
        Fix.run(
            # described, not printed: values of Secrets do not belong on a screen
            with_comment(
                kubectl("describe", missing.kind.lower(), missing.name, namespace=namespace), "its keys"
            ),
            sync(case),
            title=f"Add key {missing.key} to {missing.kind} {missing.name} where that is made, then sync",
        ),
    )
    finding = replace(
        finding,
        field=pointer or None,
        evidence=(*_keys_there(source), *finding.evidence),
        fixes=fixes,
    )
    return finding if similar and pointer else with_revert(case, finding)


def _renamed(
    workload: Manifest | None, pointer: str, similar: str, missing: DependencyMissing
) -> Iterator[Fix]:
    if workload is not None and pointer and similar:
        yield Fix.change(
            workload.ref,
            Set(pointer=pointer, value=similar),
            title=f"Ask for key {similar}, which {missing.kind} {missing.name} has",
        )


def _keys_there(source: Manifest | None) -> Iterator[Evidence]:
    """Names only, also of a ConfigMap: what they hold does not matter here."""
    if source is not None:
        names = ", ".join(keys_of(source)[:10]) or "none"
        yield cite(source, "/metadata/name", says=f"the keys that it has: {names}")
