"""A container cannot be created from its spec.

## What happens
The image is present, but the container cannot be created or started: its command does not exist, a key is
missing in a ConfigMap or Secret, it must not run as root but would, or a mount is impossible. Kubernetes
keeps retrying (`CreateContainerConfigError`, `CreateContainerError`, `RunContainerError`).

## How whysync knows
A container of the workload's Pods waits for such a reason, with the runtime's message; or an event reports
it. For a missing key, whysync lists the keys that the object has.

## Fix
Fix what the message names in the manifest: refer to an existing key, or add the key; set a non-root user. If
the previous version still runs, reverting to it is safe.

## When it is something else
A Secret or ConfigMap that does not exist is a missing dependency. An image that cannot be pulled has its own
rule.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Set, Severity, cite, rule
from whysync.kubernetes.api.manifest import Manifest
from whysync.messages.parse import understand
from whysync.messages.patterns.pods import ContainerConfigInvalid, DependencyMissing
from whysync.queries.already_fixed import sync_again
from whysync.queries.commands import kubectl, on_object, sync, with_comment
from whysync.queries.container_errors import (
    ContainerError,
    container_errors,
    env_key_pointer,
    keys_of,
    plain_message,
    similar_key,
)
from whysync.queries.previous_revision import with_revert

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
            verdict=f"{error.container} cannot be created: {plain_message(error.message) or error.reason}",
            root=plain_message(error.message) or None,
            evidence=error.evidence,
            fixes=(_inspect(error),),
        )
        yield _with_specific_fix(case, finding, error.message)


def _inspect(error: ContainerError) -> Fix:
    message = plain_message(error.message)
    return Fix.run(
        on_object("describe", error.pod or error.about),
        title=f"Correct it in the manifest of {error.about} in Git: {message}"
        if message
        else f"Find the runtime's error in the Pod's events, and correct {error.about} in Git",
        then_commit=True,
    )


def _with_specific_fix(case: Case, finding: Finding, message: str) -> Finding:
    parsed = understand(message)
    missing = next(
        (failure for failure in parsed.every(DependencyMissing) if failure.key and failure.name), None
    )
    if missing is not None:
        return _with_key_fix(case, finding, missing)
    if any(failure.runs_as_root for failure in parsed.every(ContainerConfigInvalid)):
        return _with_user_fix(case, finding)
    return with_revert(case, finding)


# --- users ---------------------------------------------------------------------------------------


def _with_user_fix(case: Case, finding: Finding) -> Finding:
    """Sets a non-root user; which one the program supports is unknown."""
    declared = case.desired_of(finding.about.key)
    if declared is None or not isinstance(declared.at(TEMPLATE), dict):
        return finding
    user = declared.at(USER)
    if isinstance(user, int) and user > 0:
        return replace(
            finding,
            already_fixed=sync_again(
                case, f"Git sets user {user} now", "Sync: Git sets a non-root user", *finding.fixes
            ),
        )
    set_user = Fix.change(
        finding.about,
        Set(pointer=USER, value=1000),
        title="Set a non-root user in Git, or in the image (USER 1000)",
        risk="the program may need files or ports that require root",
    )
    return with_revert(case, replace(finding, fixes=(set_user,)), first=False)


# --- keys ----------------------------------------------------------------------------------------


def _with_key_fix(case: Case, finding: Finding, missing: DependencyMissing) -> Finding:
    """Adds the keys that exist, and the one that is probably meant."""
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
                f"Git refers to key {similar} now",
                f"Sync: Git refers to key {similar} now",
                *finding.fixes,
            ),
        )
    fixes = (
        *_renamed(workload, pointer, similar, missing),
        Fix.run(
            # describe does not print the values of Secrets
            with_comment(
                kubectl("describe", missing.kind.lower(), missing.name, namespace=namespace), "its keys"
            ),
            sync(case),
            title=f"Add key {missing.key} to {missing.kind} {missing.name} at its source, or correct the key"
            f" that {finding.about} refers to",
        ),
    )
    finding = replace(
        finding,
        field=pointer or None,
        evidence=(*finding.evidence, *_existing_keys(source)),
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
            title=f"Refer to key {similar}, which exists in {missing.kind} {missing.name}",
        )


def _existing_keys(source: Manifest | None) -> Iterator[Evidence]:
    """The names of its keys, without values."""
    if source is not None:
        names = ", ".join(keys_of(source)[:10]) or "none"
        keys = cite(source, "/data", says=f"keys of {source.ref}")
        yield replace(keys, value=names)
