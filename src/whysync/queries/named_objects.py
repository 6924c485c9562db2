"""Objects that error messages name (`Deployment.apps "api"`), and whether a kind is namespaced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whysync.argocd.compare.kind_scopes import is_cluster_scoped_kind
from whysync.diagnosis.owning_resource import owning_row_of
from whysync.diagnosis.reported_texts import FAILED_PHASES
from whysync.kubernetes.api.ref import Key, Ref
from whysync.kubernetes.apiserver.builtin_kinds import built_in
from whysync.messages.failure import ObjectName
from whysync.queries.commands import app_argument, argocd_namespace, with_comment

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

_CREATORS = frozenset(
    {"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "ReplicationController", "Rollout"}
)
_OF_ARGOCD = frozenset({"Application", "ApplicationSet", "AppProject"})
UNKNOWN_NAMESPACE = "NAMESPACE"
_PODS = {"pods": "Pod", "pod": "Pod"}


def named_ref(case: Case, named: ObjectName, reported_on: Ref | None = None) -> Ref:
    """The object that a message names, completed from the facts; else the one it was reported for.

    A message without any object is reported on the Application, which is not what was applied: a text about
    it uses `object_text`, and its commands come from `find_object`.
    """
    reported_on = case.as_in_row(reported_on) if reported_on is not None else None
    if reported_on is not None and (not named.name or named.name == reported_on.name):
        return reported_on
    if not named.name:
        of_app = reported_on is None or reported_on.key == case.application.key
        return (_only_of_kind(case, named.kind) if of_app else None) or reported_on or case.application.ref
    for key in (*case.rows, *case.desired_by_key, *case.index.live_keys_by_name.get(named.name, ())):
        if key.name == named.name and named.kind in ("", key.kind) and named.namespace in ("", key.namespace):
            return Ref(group=key.group, kind=key.kind, namespace=_namespace(case, key), name=key.name)
    if (
        reported_on is not None
        and reported_on.kind in _CREATORS
        and "Pod" in (named.kind, _PODS.get(named.resource))
    ):
        return owning_row_of(case, reported_on) or reported_on  # a Pod that its controller could not create
    kind = named.kind or _kind_of(named.resource) or "object"
    return Ref(
        group=named.group,
        kind=kind,
        namespace=named.namespace if is_namespaced(case, kind) else "",
        name=named.name,
    )


def _only_of_kind(case: Case, kind: str) -> Ref | None:
    """The app's object of a kind that a message names without a name: its only one, or its only OutOfSync."""
    if not kind:
        return _only_out_of_sync(case)
    rows = [row for row in case.app.status.resources if row.kind == kind]
    candidates = rows if len(rows) == 1 else [row for row in rows if row.status != "Synced"]
    return candidates[0].ref if len(candidates) == 1 else None


def _only_out_of_sync(case: Case) -> Ref | None:
    """What a failed sync did not apply, if it is one object: the others are Synced."""
    failed = case.operation is not None and case.operation.phase in FAILED_PHASES
    rows = [row for row in case.app.status.resources if row.status != "Synced" and not row.hook]
    return rows[0].ref if failed and len(rows) == 1 else None


def _kind_of(resource: str) -> str:
    """`pods` is Pod; a resource that is not built in stays as it is."""
    return next((kind.kind for kind in built_in().values() if kind.plural == resource), resource)


def is_unnamed(case: Case, ref: Ref) -> bool:
    """Does the message name no object, so that only the Application is known that reports it?

    An Application that manages itself is one of its own resources.
    """
    return ref.key == case.application.ref.key and ref.key not in case.rows


def object_text(case: Case, ref: Ref, kind: str = "") -> str:
    """The object in a sentence: not the Application, if the message names no object."""
    if not is_unnamed(case, ref):
        return str(ref)
    article = "an" if kind[:1] in "AEIOU" else "a"
    return f"{f'{article} {kind}' if kind else 'an object'} of this app (the message does not name it)"


def find_object(case: Case, ref: Ref) -> tuple[str, ...]:
    """Commands that show which object a message means, if it names none."""
    if not is_unnamed(case, ref):
        return ()
    app = app_argument(case)
    return (
        with_comment(f"argocd app get {app}", "the object is the row with SyncFailed"),
        with_comment(
            f"argocd app manifests {app} | kubectl apply --dry-run=server -f -",
            "else: named in the error, or the one that is not listed",
        ),
    )


def placed(case: Case, ref: Ref) -> Ref:
    """The object as a command addresses it, with a namespace even if no fact has one.

    Argo CD applies an object without a namespace in the namespace of the destination. Without `-n`, kubectl
    would act on the namespace of whatever context is current.
    """
    live = case.live_of(ref.key)
    if ref.namespace or ref.key in case.rows or live is not None:
        return live.ref if live is not None else ref
    if not is_namespaced(case, ref.kind):
        return ref
    namespace = case.destination_namespace or UNKNOWN_NAMESPACE
    if ref.kind in _OF_ARGOCD:
        namespace = argocd_namespace(case)
    return Ref(group=ref.group, kind=ref.kind, namespace=namespace, name=ref.name)


def _namespace(case: Case, key: Key) -> str:
    """The namespace of a key; desired objects that were never applied have none yet."""
    if key.namespace or key in case.rows or key not in case.desired_by_key:
        return key.namespace
    return case.destination_namespace if is_namespaced(case, key.kind) else ""


def is_namespaced(case: Case, kind: str) -> bool:
    """Is the kind namespaced? From its live CRD, else from the table of cluster-scoped kinds."""
    for crd in case.index.snapshot.live:
        if crd.ref.kind == "CustomResourceDefinition" and crd.at("/spec/names/kind") == kind:
            return crd.at("/spec/scope") != "Cluster"
    return not is_cluster_scoped_kind(kind)
