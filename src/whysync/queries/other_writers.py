"""A program other than Argo CD writes a field: how to find and stop it, and what its next write means."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Final

from whysync.diagnosis.fix import Fix
from whysync.kubernetes.field_writers import WriterKind
from whysync.kubernetes.field_writers.known_managers import is_part_of_kubernetes
from whysync.queries.commands import comment, on_object, sync, with_comment
from whysync.queries.ignore_rules import changes_with_releases

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case
    from whysync.kubernetes.api.ref import Ref
    from whysync.kubernetes.field_writers import Writer

_MAY_BE_STOPPED: Final = frozenset({WriterKind.UNKNOWN, WriterKind.OPERATOR, WriterKind.CONTROLLER})
_WORKLOADS: Final = "deployments,statefulsets,daemonsets,cronjobs"
WRITES_AGAIN: Final = (
    "this ends one round only: with the writer's next value, Git and the cluster differ again"
)


def stop_writer(case: Case, ref: Ref, writer: Writer | None, pointer: str) -> tuple[Fix, ...]:
    """The fix if Git is right; none for parts of Kubernetes itself, which nobody stops."""
    if writer is None or not writer.manager or writer.kind not in _MAY_BE_STOPPED:
        return ()
    if is_part_of_kubernetes(writer.manager):
        return ()
    settings = _settings_of(case, ref, writer)
    releases = ", or let it write to Git" if changes_with_releases(case, ref, pointer) else ""
    told = f"remove {' and '.join(settings)} from its manifest in Git, or " if settings else ""
    return (
        Fix.run(
            with_comment(
                on_object("get", ref, "--show-managed-fields", "-o", "yaml"), "who wrote what, and when"
            ),
            with_comment(
                f"kubectl get {_WORKLOADS} -A | grep -i {quote(writer.manager)}",
                "many programs write under their own name",
            ),
            comment(f"{told}stop {writer.manager}, or take this field out of its configuration{releases}"),
            sync(case),
            title=f"Git is right: find and stop the other writer ({writer.manager}), then sync",
        ),
    )


def _settings_of(case: Case, ref: Ref, writer: Writer) -> list[str]:
    """Annotations and labels of the manifest that address the writer, such as `keel.sh/policy` for keel."""
    desired = case.desired_of(ref.key)
    if desired is None:
        return []
    names = (*desired.annotations, *desired.labels)
    prefixes = {name: name.partition("/")[0] for name in names if "/" in name}
    return [name for name, prefix in prefixes.items() if writer.manager.lower() in prefix.split(".")]
