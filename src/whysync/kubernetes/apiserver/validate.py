"""Validation of an object on create and update: code 422, with the API server's messages.

Built-in kinds are checked by `kubernetes.validation`, custom resources by their schemas.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from whysync.json_tree import Object, dig, fields, items, text
from whysync.kubernetes.apiserver.builtin_kinds import Resource
from whysync.kubernetes.apiserver.crd_expressions import definition_problems
from whysync.kubernetes.apiserver.custom_resources import CustomResource
from whysync.kubernetes.apiserver.request import RequestContext
from whysync.kubernetes.apiserver.status_errors import Cause, forbidden, invalid
from whysync.kubernetes.apiserver.storage import Store
from whysync.kubernetes.validation import FieldProblem, problems_on_create, problems_on_update

_REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_CONDITIONAL: Final = frozenset(
    {
        "APIService", "CSIDriver", "CSINode", "CSIStorageCapacity", "CustomResourceDefinition", "Lease",
        "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration",
        "PodDisruptionBudget", "RuntimeClass", "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration", "VolumeAttachment",
    }
)  # fmt: skip


def check_create(obj: Object, call: RequestContext) -> None:
    """Raises `Refused` if a new object is invalid."""
    causes = list(_causes(problems_on_create(obj)))
    if isinstance(call.served, CustomResource):
        causes.extend(call.served.problems(obj, None))
    elif call.resource.kind == "CustomResourceDefinition" and not causes:
        causes.extend(definition_problems(obj))
    causes.extend(_policy_reason_causes(obj, call.resource))
    if causes:
        raise call.invalid(text(fields(obj.get("metadata")).get("name")), causes)


def check_runtime_class(obj: Object, resource: Resource, store: Store) -> None:
    """The RuntimeClass of a Pod must exist."""
    name = text(dig(obj, "spec", "runtimeClassName")) if resource.kind == "Pod" else ""
    if name and store.get((("node.k8s.io", "runtimeclasses"), "", name)) is None:
        pod = text(dig(obj, "metadata", "name"))
        raise forbidden("pods", "", pod, f'pod rejected: RuntimeClass "{name}" not found')


def check_priority_class(obj: Object, resource: Resource, store: Store) -> None:
    """The PriorityClass of a Pod must exist; the system classes always do."""
    name = text(dig(obj, "spec", "priorityClassName")) if resource.kind == "Pod" else ""
    if not name or name in {"system-cluster-critical", "system-node-critical"}:
        return
    if store.get((("scheduling.k8s.io", "priorityclasses"), "", name)) is None:
        pod = text(dig(obj, "metadata", "name"))
        raise forbidden("pods", "", pod, f"no PriorityClass with name {name} was found")


def require_resource_version(call: RequestContext, version: str) -> None:
    """Some kinds require `resourceVersion` in an update. Mirrors `AllowUnconditionalUpdate`."""
    if version or call.request.verb != "update":
        return
    if call.resource.custom or call.resource.kind in _CONDITIONAL:
        cause = Cause("metadata.resourceVersion", "Invalid value: 0: must be specified for an update")
        raise invalid(call.resource.plural, call.resource.group, call.address.name, [cause])


def check_update(obj: Object, live: Object, call: RequestContext) -> None:
    if call.address.subresource == "status":
        return
    causes = list(_causes(problems_on_update(live, obj)))
    if isinstance(call.served, CustomResource):
        causes.extend(call.served.problems(obj, live))
    elif call.resource.kind == "CustomResourceDefinition" and not causes and _are_versions_changed(obj, live):
        causes.extend(definition_problems(obj))
    if causes:
        raise call.invalid(call.address.name, causes)


def _policy_reason_causes(obj: Object, resource: Resource) -> Iterable[Cause]:
    """Unsupported reasons in the validations of a ValidatingAdmissionPolicy."""
    if resource.kind != "ValidatingAdmissionPolicy":
        return
    for index, raw in enumerate(items(dig(obj, "spec", "validations"))):
        reason = fields(raw).get("reason")
        if reason is not None and reason not in _REASONS:
            supported = ", ".join(f'"{known_reason}"' for known_reason in _REASONS)
            message = f'Unsupported value: "{text(reason)}": supported values: {supported}'
            yield Cause(f"spec.validations[{index}].reason", message)


def _are_versions_changed(definition: Object, live: Object) -> bool:
    return dig(definition, "spec", "versions") != dig(live, "spec", "versions")


def _causes(problems: Iterable[FieldProblem]) -> Iterable[Cause]:
    return (Cause(problem.path, problem.body, str(problem.kind)) for problem in problems)
