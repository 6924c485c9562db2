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
    named = Fix.change(
        finding.about,
        Set(pointer=USER, value=1000),
        title="Name a user who is not root, in Git, or in the image (USER 1000)",
        risk="the program may need files or ports that only root may use",
    )
    return with_revert(case, replace(finding, fixes=(named,)), first=False)


# --- keys ----------------------------------------------------------------------------------------


def _about_its_key(case: Case, finding: Finding, message: str) -> Finding:
    """Which keys there are instead, and whether one of them is meant."""
    lack = next(
        missing_dependency
        for missing_dependency in missing_dependencies(message)
        if missing_dependency.key and missing_dependency.name
    )
    namespace = lack.namespace or finding.about.namespace
    holder = case.live_named(lack.kind, namespace, lack.name)
    known = keys_of(holder) if holder is not None else ()
    user = case.desired_of(finding.about.key)
    pointer = env_key_pointer(user, lack.kind, lack.name, lack.key) if user is not None else ""
    alike = similar_key(lack.key, known)
    if user is not None and not pointer and alike and env_key_pointer(user, lack.kind, lack.name, alike):
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
            with_comment(kubectl("describe", lack.kind.lower(), lack.name, namespace=namespace), "its keys"),
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
    return finding if alike and pointer else with_revert(case, finding)


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
