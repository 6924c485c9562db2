"""Handlers of `create`, `update` and patches: decode, mutate, prepare, validate, store, as the API server."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from whysync.json_tree import Json, Missing, Object, dig, fields, integer, items, text
from whysync.kubernetes.admission.builtin_plugins import check_account, check_resize, require_namespace
from whysync.kubernetes.admission.limit_range import check_limits, with_limits
from whysync.kubernetes.admission.pod_security import check_pod_security
from whysync.kubernetes.admission.policies import check_policies
from whysync.kubernetes.admission.resource_quota import charge, new_quota_usage
from whysync.kubernetes.admission.webhooks import Webhook, check_webhooks, mutated
from whysync.kubernetes.apiserver.builtin_kinds import Resource
from whysync.kubernetes.apiserver.crd_expressions import definition_problems
from whysync.kubernetes.apiserver.custom_resources import CustomResource, established
from whysync.kubernetes.apiserver.decoding import BadBody, decode
from whysync.kubernetes.apiserver.discovery import Discovery
from whysync.kubernetes.apiserver.managed_fields import (
    Managed,
    Writing,
    after_update,
    decode_managed,
    managed_or_empty,
    with_managed,
)
from whysync.kubernetes.apiserver.patches import (
    bad_patch,
    decoding_error,
    patched,
    unconvertible,
    undecodable,
    with_sorted_keys,
    with_whole_numbers,
)
from whysync.kubernetes.apiserver.rbac_authorizer import confirm_no_escalation
from whysync.kubernetes.apiserver.registry_strategies import (
    prepare_for_create,
    prepare_for_update,
    raises_generation,
)
from whysync.kubernetes.apiserver.request import Reply, RequestContext
from whysync.kubernetes.apiserver.request_body import (
    check_options,
    check_strict_decoding,
    is_object_too_large,
    object_in_body,
    read_body,
)
from whysync.kubernetes.apiserver.scale_subresource import scale_of, scale_schema
from whysync.kubernetes.apiserver.server_side_apply import apply_config, apply_scale
from whysync.kubernetes.apiserver.service_allocation import AddressAllocator, RegistryContext
from whysync.kubernetes.apiserver.status_errors import (
    Cause,
    Refused,
    already_exists,
    bad_request,
    forbidden,
    internal,
    invalid,
)
from whysync.kubernetes.apiserver.storage import ObjectKey, Store
from whysync.kubernetes.clock import Clock
from whysync.kubernetes.merge.errors import DiffError
from whysync.kubernetes.merge.structured import FieldSet
from whysync.kubernetes.validation import FieldProblem, problems_on_create, problems_on_update

_STATUS = FieldSet.of([("f:status",)])
_NO_FIELDS = FieldSet()
_CREATED_BY_UPDATE = frozenset(
    {
        "ClusterRole", "ClusterRoleBinding", "Endpoints", "Event", "Lease", "LimitRange", "Role",
        "RoleBinding", "Service",
    }
)  # fmt: skip
_QUOTA_ON_UPDATE = frozenset({"PersistentVolumeClaim", "Service"})
_REPLICAS = ("f:spec", "f:replicas")
_OPTIMISTIC_LOCK_ERROR = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


class WriteHandlers:
    def __init__(self, store: Store, discovery: Discovery, clock: Clock) -> None:
        self._store = store
        self._discovery = discovery
        self._clock = clock
        self._addresses = AddressAllocator(store)
        self.webhooks: dict[str, Webhook] = {}
        self._undefaulted_versions: dict[str, str] = {}
        """resourceVersion of objects that are stored without the defaults added on read, by uid."""

    # -- verbs ----------------------------------------------------------------------------------------

    def create(self, call: RequestContext) -> Reply:
        check_options(call, "CreateOptions")
        obj, unknown_fields = object_in_body(read_body(call), call)
        check_strict_decoding(unknown_fields, call)
        return Reply(201, self._create(obj, call))

    def update(self, call: RequestContext) -> Reply:
        check_options(call, "UpdateOptions")
        body = read_body(call)
        live = self._store.get(call.object_key)
        if call.address.subresource == "scale":
            return self._update_scale(call, body, live)
        obj, unknown_fields = object_in_body(body, call, live)
        check_strict_decoding(unknown_fields, call)
        require_name(obj, call)
        if live is None:
            if call.resource.kind in _CREATED_BY_UPDATE:
                return Reply(201, self._create(obj, call))
            raise call.missing()
        return Reply(200, self._update(obj, live, call))

    def patch(self, call: RequestContext) -> Reply:
        check_options(call, "PatchOptions")
        live = self._store.get(call.object_key)
        if call.request.verb == "ssa":
            return self._apply(call, live)
        if live is None:
            raise call.missing()
        if call.address.subresource == "scale":
            schema = None if call.resource.custom else scale_schema()
            scale = patched(scale_of(live, call.served), call, schema=schema)
            return self._update_scale(call, scale, live)
        current = call.served.read(live)
        body = patched(current, call, schema=call.served.schema)
        if call.request.verb == "strategic-patch":  # typed: the kind is not part of what is patched
            body = {**body, "apiVersion": current.get("apiVersion"), "kind": current.get("kind")}
        obj, unknown_fields = _decoded_patch(body, current, call)
        check_strict_decoding(unknown_fields, call, patch=body)
        check_same_object(obj, live, call)
        return Reply(200, self._update(call.served.defaulted(obj, current), live, call))

    # -- server-side apply ----------------------------------------------------------------------------

    def _apply(self, call: RequestContext, live: Object | None) -> Reply:
        config = fields(with_whole_numbers(read_body(call)))
        if live is None and call.address.subresource:
            raise call.missing()
        if live is not None and call.address.subresource == "scale":
            new, managed = apply_scale(call.served.read(live), config, call, self._writing(call))
            try:
                decode(config, scale_schema())
            except BadBody as problem:
                raise unconvertible(str(problem), config) from None
            return self._scaled(call, live, dig(new, "spec", "replicas"), managed)
        base = call.served.zero() if live is None else call.served.read(live)
        new, managed = apply_config(base, config, call, self._writing(call))
        # A custom resource is not decoded again here: its schema decides about nulls that the apply left.
        current = None if live is None else base
        obj = new if isinstance(call.served, CustomResource) else _decoded_apply(new, current, config, call)
        obj = call.served.defaulted(obj, current)
        obj = with_managed(obj, managed)
        if live is None:
            if call.resource.namespaced:
                meta: Object = {**fields(obj.get("metadata")), "namespace": call.address.namespace}
                placed: Object = {**obj, "metadata": meta}
                obj = placed
            return Reply(201, self._create(obj, call, owned=True))
        return Reply(200, self._update(obj, live, call, owned=True))

    # -- shared steps ---------------------------------------------------------------------------------

    def _writing(self, call: RequestContext) -> Writing:
        return Writing(
            manager=call.manager,
            subresource=call.address.subresource,
            api_version=call.resource.api_version,
            now=self._clock.stamp(),
            excluded=_excluded(call),
        )

    def _with_ownership(
        self, live: Object, new: Object, call: RequestContext, managed: Managed | None = None
    ) -> Object:
        managed = Managed({}, {}) if managed is None else managed
        managed = after_update(live, new, managed, self._writing(call), call.served.atom)
        return with_managed(new, managed)

    def _create(self, obj: Object, call: RequestContext, *, owned: bool = False) -> Object:
        resource = call.resource
        meta = dict(fields(obj.get("metadata")))
        if meta.get("resourceVersion") and not owned:
            raise internal("resourceVersion should not be set on objects to be created")
        for key in ("deletionTimestamp", "deletionGracePeriodSeconds", "resourceVersion", "selfLink", "uid"):
            meta.pop(key, None)
        requested_name = text(meta.get("name")) or text(meta.get("generateName"))
        if not meta.get("name") and meta.get("generateName"):
            meta["name"] = text(meta["generateName"])[:58] + self._store.suffix()
        obj = {**obj, "metadata": meta}
        if not owned:
            obj = self._with_ownership(call.served.zero(), obj, call, managed_or_empty(obj))
        require_namespace(call, text(meta.get("name")), self._store)
        check_account(obj, requested_name, call, self._store)
        if isinstance(call.served, CustomResource) and call.served.terminating:
            why = "create not allowed while custom resource definition is terminating"
            raise forbidden(resource.plural, resource.group, text(meta.get("name")), why)
        meta = dict(fields(obj.get("metadata")))
        meta["uid"] = self._store.uid()
        meta["creationTimestamp"] = self._clock.stamp()
        if resource.counted:
            meta["generation"] = 1
        identified: Object = {**obj, "metadata": meta}
        obj = prepare_for_create(
            self._mutate(with_limits(identified, call, self._store), call, "CREATE"),
            resource,
            call.served.zero(),
            self._registry_context(),
        )
        confirm_no_escalation(obj, None, call, self._store)
        check_priority_class(obj, resource, self._store)
        check_runtime_class(obj, resource, self._store)
        check_create(obj, call)
        check_limits(obj, call, self._store)
        check_pod_security(obj, call, self._store)
        check_policies(obj, None, call, "CREATE", self._store)
        check_webhooks(obj, None, call, "CREATE", self._store, self.webhooks)
        charges = new_quota_usage(obj, None, call, self._store) if resource.namespaced else []
        object_key = (resource.store, call.address.namespace, text(meta.get("name")))
        existing = self._store.get(object_key)
        if existing is not None:
            refusal = already_exists(resource.plural, resource.group, object_key[2])
            if dig(existing, "metadata", "deletionTimestamp"):
                refusal.message = f"object is being deleted: {refusal.message}"
            raise refusal
        self._addresses.check(obj, resource, object_key)
        if charges and not call.request.dry_run:
            charge(charges, self._store, self._clock.stamp())
        stored = self._store_object(object_key, obj, call)
        if resource.kind == "CustomResourceDefinition" and not call.request.dry_run:
            self._establish_definition(object_key, stored, call)
        return stored

    def _mutate(self, obj: Object, call: RequestContext, operation: str) -> Object:
        """The object after mutating admission, with defaults for what webhooks added."""
        new = mutated(obj, call, operation, self._store, self.webhooks)
        return obj if new is obj else call.served.defaulted(new)

    def _establish_definition(self, object_key: ObjectKey, definition: Object, call: RequestContext) -> None:
        """Sets the conditions NamesAccepted and Established, as the API server's controllers do."""
        others = [obj for _, obj in self._store.within(object_key[0])]
        new = established(definition, self._clock.stamp(), others)
        writing = Writing(
            manager="kube-apiserver",
            subresource="status",
            api_version=call.resource.api_version,
            now=self._clock.stamp(),
            excluded=_NO_FIELDS,
        )
        managed = after_update(definition, new, managed_or_empty(definition), writing, call.served.atom)
        self._store.put(object_key, with_managed(new, managed))

    def _update(self, obj: Object, live: Object, call: RequestContext, *, owned: bool = False) -> Object:
        resource = call.resource
        live = call.served.read(live)
        meta, live_meta = dict(fields(obj.get("metadata"))), fields(live.get("metadata"))
        version = text(meta.get("resourceVersion"))
        require_resource_version(call, version)
        uid = text(meta.get("uid"))
        if uid and uid != live_meta.get("uid") and call.request.verb == "update":
            raise call.conflict(uid_precondition_message(call, uid, text(live_meta.get("uid"))))
        if version and not version.isdecimal():
            raise internal(f'strconv.ParseUint: parsing "{version}": invalid syntax')
        if version and version not in ("0", live_meta.get("resourceVersion")):
            raise call.conflict(_OPTIMISTIC_LOCK_ERROR)
        if not owned:
            obj = self._with_managed_fields(obj, live, call)
            meta = dict(fields(obj.get("metadata")))
        meta = before_update(meta, live_meta)
        if resource.namespaced:
            meta.setdefault("namespace", call.address.namespace)
        with_metadata: Object = {**obj, "metadata": meta}
        obj = self._mutate(with_metadata, call, "UPDATE")
        if call.address.subresource == "status":
            obj = with_status_only(obj, live)
        else:
            obj = prepare_for_update(obj, live, resource, self._registry_context())
        unchanged = equal_except_managed_times(obj, live)
        if not unchanged:
            confirm_no_escalation(obj, live, call, self._store)
            check_update(obj, live, call)
            check_resize(obj, live, call, self._store)
        check_policies(obj, live, call, "UPDATE", self._store)
        check_webhooks(obj, live, call, "UPDATE", self._store, self.webhooks)
        if resource.namespaced and resource.kind in _QUOTA_ON_UPDATE:
            charges = new_quota_usage(obj, live, call, self._store)
            if charges and not call.request.dry_run:
                charge(charges, self._store, self._clock.stamp())
        if (
            (
                resource.counted or resource.kind == "CSIDriver"
            )  # whose generation starts with its first change
            and call.address.subresource != "status"
            and raises_generation(obj, live, resource)
        ):
            meta = fields(obj.get("metadata"))
            generation = integer(live_meta.get("generation")) + 1
            obj = {**obj, "metadata": {**meta, "generation": generation}}
        lacks_defaults = self._lacks_read_defaults(live)
        if unchanged and not lacks_defaults:
            return live
        return self._store_object(call.object_key, obj, call)

    def _lacks_read_defaults(self, live: Object) -> bool:
        """Does the stored object lack defaults added on read? Then even an unchanged write is stored."""
        meta = fields(live.get("metadata"))
        return self._undefaulted_versions.get(text(meta.get("uid"))) == meta.get("resourceVersion")

    def _with_managed_fields(self, obj: Object, live: Object, call: RequestContext) -> Object:
        """The object with its managedFields; a writer may clear them with one empty entry."""
        entries = items(fields(obj.get("metadata")).get("managedFields"))
        if entries == [{}] and not call.address.subresource:
            return with_managed(obj, Managed({}, {}))
        managed = managed_or_empty(live)
        if entries and not call.address.subresource:
            with suppress(DiffError):
                managed = decode_managed(obj)
        if not managed.claims:
            return with_managed(obj, managed)
        return self._with_ownership(live, obj, call, managed)

    def _store_object(self, object_key: ObjectKey, obj: Object, call: RequestContext) -> Object:
        if call.request.dry_run:
            return obj
        if is_ready_to_delete(obj, call.resource):
            self._store.drop(object_key)
            return obj
        live = self._store.get(object_key)
        new = call.served.settled(obj, live)
        if live is not None and new != obj and equal_except_managed_times(new, live):
            return live  # for example, an empty list is stored as none
        if is_object_too_large(new):
            raise internal("etcdserver: request is too large")
        stored = self._store.put(object_key, new)
        if live is None and (new != obj or call.resource.kind == "PersistentVolumeClaim"):
            self._undefaulted_versions[text(dig(stored, "metadata", "uid"))] = text(
                dig(stored, "metadata", "resourceVersion")
            )
        return stored

    def _registry_context(self) -> RegistryContext:
        return RegistryContext(self._store, self._addresses, self._clock.stamp())

    # -- subresources ---------------------------------------------------------------------------------

    def _update_scale(self, call: RequestContext, body: Object, live: Object | None) -> Reply:
        if live is None:
            raise call.missing()
        version = text(dig(body, "metadata", "resourceVersion"))
        if version and version != dig(live, "metadata", "resourceVersion"):
            raise call.conflict(_OPTIMISTIC_LOCK_ERROR)
        try:
            decode(body, scale_schema())
        except BadBody as problem:
            raise bad_patch(str(problem), body, call) from None
        # If no manager owns spec.replicas, the scale has no managedFields, and none are added.
        owned = any(claim.owned.has(_REPLICAS) for claim in managed_or_empty(live).claims.values())
        return self._scaled(call, live, dig(body, "spec", "replicas"), None, owned=not owned)

    def _scaled(
        self,
        call: RequestContext,
        live: Object,
        replicas: Json | Missing,
        managed: Managed | None,
        *,
        owned: bool = True,
    ) -> Reply:
        replicas = integer(replicas)
        if replicas < 0 and not call.resource.custom:
            why = f"Invalid value: {replicas}: must be greater than or equal to 0"
            raise invalid("Scale", "autoscaling", call.address.name, [Cause("spec.replicas", why)])
        new: Object = {**live, "spec": {**fields(live.get("spec")), "replicas": replicas}}
        if managed is not None:
            new = with_managed(new, managed)
        return Reply(200, scale_of(self._update(new, live, call, owned=owned), call.served))


def _excluded(call: RequestContext) -> FieldSet:
    if call.address.subresource == "status":
        if call.resource.custom:
            return FieldSet.of([("f:metadata",), ("f:spec",)])
        return FieldSet.of([("f:spec",), ("f:metadata", "f:labels")])
    return _STATUS if call.resource.status and not call.address.subresource else _NO_FIELDS


def _decoded_apply(new: Object, current: Object | None, config: Object, call: RequestContext) -> Object:
    try:
        return call.served.decode(new, current)[0]
    except Refused as refusal:
        raise unconvertible(decoding_error(refusal), config) from None


def _decoded_patch(body: Object, current: Object, call: RequestContext) -> tuple[Object, list[str]]:
    try:
        obj, unknown_fields = call.served.decode(body, current)
    except Refused as refusal:
        if call.resource.custom:
            raise
        if call.request.verb != "strategic-patch":
            raise undecodable(refusal, body, call) from None
        try:
            obj, unknown_fields = call.served.decode(fields(with_whole_numbers(body)), current)
        except Refused:
            raise undecodable(refusal, body, call) from None
    if len(unknown_fields) > 1:
        unknown_fields = call.served.decode(fields(with_sorted_keys(body)))[1]
    return obj, unknown_fields


# Metadata that the API server manages itself, and when a terminating object can be deleted.


def before_update(meta: Object, live_meta: Object) -> Object:
    """The metadata of an update with the fields that the server sets. Mirrors `rest.BeforeUpdate`."""
    new = dict(meta)
    new.pop("selfLink", None)
    for key in ("uid", "deletionGracePeriodSeconds"):
        if new.get(key) is None and key in live_meta:
            new[key] = live_meta[key]
    for key in ("generation", "creationTimestamp", "deletionTimestamp", "resourceVersion"):
        if key in live_meta:
            new[key] = live_meta[key]
        elif key != "deletionTimestamp":
            new.pop(key, None)
    return new


def uid_precondition_message(call: RequestContext, required_uid: str, current: str) -> str:
    plural = {"services": "services/specs", "ingresses": "ingress"}.get(
        call.resource.plural, call.resource.plural
    )
    storage_key = "/".join(
        segment for segment in (plural, call.address.namespace, call.address.name) if segment
    )
    return (
        f"StorageError: invalid object, Code: 4, Key: /registry/{storage_key}, ResourceVersion: 0, "
        "AdditionalErrorMsg: Precondition failed: "
        f"UID in precondition: {required_uid}, UID in object meta: {current}"
    )


def with_status_only(obj: Object, live: Object) -> Object:
    """A write to the `status` subresource changes only the status and some metadata."""
    new = {key: value for key, value in live.items() if key not in {"status", "metadata"}}
    if "status" in obj:
        new["status"] = obj["status"]
    meta = dict(fields(obj.get("metadata")))
    labels = fields(live.get("metadata")).get("labels")
    if labels is None:
        meta.pop("labels", None)
    else:
        meta["labels"] = labels
    return {**new, "metadata": meta}


def is_ready_to_delete(obj: Object, resource: Resource) -> bool:
    """Is the object terminating without finalizers and grace period?"""
    meta = fields(obj.get("metadata"))
    if "deletionTimestamp" not in meta or items(meta.get("finalizers")):
        return False
    if resource.kind == "Namespace" and not resource.group:
        return not items(dig(obj, "spec", "finalizers"))
    return not integer(meta.get("deletionGracePeriodSeconds"))


def equal_except_managed_times(new: Object, old: Object) -> bool:
    """Are the objects equal apart from the times in managedFields? Such a write is not stored."""
    if new == old:
        return True
    return _timeless(new) == _timeless(old)


def _timeless(obj: Object) -> Object:
    meta = fields(obj.get("metadata"))
    entries: list[Json] = [
        {key: value for key, value in fields(entry).items() if key != "time"}
        for entry in items(meta.get("managedFields"))
    ]
    return {**obj, "metadata": {**meta, "managedFields": entries}}


def require_name(obj: Object, call: RequestContext) -> None:
    name, expected = text(dig(obj, "metadata", "name")), call.address.name
    if not name:
        raise bad_request(
            f"the name of the object ({expected} based on URL) was undeterminable: name must be provided"
        )
    if name != expected:
        raise bad_request(f"the name of the object ({name}) does not match the name on the URL ({expected})")


def check_same_object(obj: Object, live: Object, call: RequestContext) -> None:
    require_name(obj, call)
    space = text(dig(obj, "metadata", "namespace"))
    if space and space != text(dig(live, "metadata", "namespace")):
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


# Validation of an object on create and update: code 422, with the API server's messages.
#
# Built-in kinds are checked by `kubernetes.validation`, custom resources by their schemas.


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
