"""A field manager as a writer, and its text for messages."""

from __future__ import annotations

from datetime import datetime

import msgspec

from whysync.json_tree import Json, Missing, Object, text
from whysync.kubernetes.field_writers.known_managers import WriterKind, kind_of


class Writer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A field manager. `time` is when it last changed anything it owns, not when it wrote one field."""

    manager: str
    operation: str = ""
    subresource: str = ""
    time: datetime | None = None
    kind: WriterKind = WriterKind.UNKNOWN


def writer_from(entry: Object) -> Writer:
    """The writer of one managedFields entry; missing or invalid values are empty."""
    manager, operation = text(entry.get("manager")), text(entry.get("operation"))
    subresource = text(entry.get("subresource"))
    return Writer(
        manager=manager,
        operation=operation,
        subresource=subresource,
        time=_time(entry.get("time")),
        kind=kind_of(manager, operation=operation, subresource=subresource),
    )


def _time(value: Json | Missing) -> datetime | None:
    try:
        return datetime.fromisoformat(text(value))
    except ValueError:
        return None


_PHRASES = {
    WriterKind.ARGOCD: "Argo CD",
    WriterKind.KUBECTL_EDIT: "kubectl edit",
    WriterKind.KUBECTL_APPLY: "kubectl apply",
    WriterKind.KUBECTL_SCALE: "kubectl scale",
    WriterKind.KUBECTL_PATCH: "kubectl patch",
    WriterKind.KUBECTL_OTHER: "kubectl",
    WriterKind.CONSOLE: "a console",
    WriterKind.CONTROLLER: "a controller",
    WriterKind.AUTOSCALER: "an autoscaler",
    WriterKind.WEBHOOK: "an admission webhook's own software",
    WriterKind.API_SERVER: "the API server",
    WriterKind.HELM: "Helm",
    WriterKind.TERRAFORM: "infrastructure as code",
    WriterKind.OTHER_GITOPS: "another GitOps tool",
    WriterKind.OPERATOR: "an operator",
    WriterKind.UNKNOWN: "an unknown writer",
}


def phrase(writer: Writer) -> str:
    """`kubectl edit`, `an autoscaler (kube-controller-manager, subresource scale)`: words, then the name."""
    label = _PHRASES[writer.kind]
    if writer.manager == "before-first-apply":
        return "whoever wrote it before the API server began to keep a record (before-first-apply)"
    if writer.kind is WriterKind.KUBECTL_OTHER and writer.manager.startswith("kubectl-"):
        label = writer.manager.replace("-", " ", 1)
    detail = [] if label.replace(" ", "-") == writer.manager else [writer.manager or "no name"]
    if writer.subresource:
        detail.append(f"subresource {writer.subresource}")
    return f"{label} ({', '.join(detail)})" if detail else label
