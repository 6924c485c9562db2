"""Server-side apply: validates and merges the configuration, and updates field ownership."""

from __future__ import annotations

from typing import Final

import msgspec

from whysync.json_tree import Missing, Object, dig, fields, text
from whysync.kubernetes.api.ref import group_of, version_of
from whysync.kubernetes.apiserver.custom_resources import CustomResource
from whysync.kubernetes.apiserver.managed_fields import (
    BEFORE_FIRST_APPLY,
    Managed,
    Writing,
    after_apply,
    after_update,
    decode_managed,
)
from whysync.kubernetes.apiserver.request import RequestContext
from whysync.kubernetes.apiserver.scale_subresource import SCALE, SCALE_VERSION, scale_schema
from whysync.kubernetes.apiserver.status_errors import bad_request, internal
from whysync.kubernetes.merge.errors import DiffError
from whysync.kubernetes.merge.last_applied import (
    LAST_APPLIED,
    last_applied,
    last_applied_text,
    without_last_applied,
)
from whysync.kubernetes.merge.structured import (
    Atom,
    FieldSet,
    Manager,
    TypeErrors,
    atom_of,
    field_set,
    validate,
)
from whysync.kubernetes.merge.structured.merge import merge

_KUBECTL: Final = "kubectl"


def apply_config(
    live: Object, config: Object, call: RequestContext, writing: Writing
) -> tuple[Object, Managed]:
    """The live object after the apply, and its field ownership; raises `Refused`."""
    _check_config(config, call, call.resource.api_version, call.resource.kind)
    _check_types(config, call.served.atom)
    return _applied(live, config, call, writing)


def apply_scale(
    live: Object, config: Object, call: RequestContext, writing: Writing
) -> tuple[Object, Managed]:
    """As `apply_config`, for the `scale` subresource: its replicas are those of the object.

    Mirrors `ScaleHandler` of apimachinery `managedfields`, which translates the field ownership.
    """
    _check_config(config, call, SCALE_VERSION, SCALE)
    _check_types(config, atom_of(scale_schema()))
    replicas = dig(config, "spec", "replicas")
    of_object: Object = {
        "apiVersion": call.resource.api_version,
        "kind": call.resource.kind,
        "metadata": {"name": call.address.name},
    }
    if not isinstance(replicas, Missing):
        of_object["spec"] = {"replicas": replicas}
    return _applied(live, of_object, call, writing)


def _check_types(config: Object, atom: Atom) -> None:
    try:
        validate(config, atom)
    except TypeErrors as problem:
        group, version = group_of(text(config.get("apiVersion"))), version_of(text(config.get("apiVersion")))
        identity = f"{text(dig(config, 'metadata', 'namespace'))}/{text(dig(config, 'metadata', 'name'))}"
        gvk = f"{group}/{version}, Kind={text(config.get('kind'))}"
        raise internal(f"failed to create typed patch object ({identity}; {gvk}): {problem}") from None


def _applied(live: Object, config: Object, call: RequestContext, writing: Writing) -> tuple[Object, Managed]:
    atom = call.served.atom
    try:
        managed = decode_managed(live)
    except DiffError as problem:
        raise internal(f"failed to decode managed fields: {problem}") from None
    bare = _without_managed(live)
    if not managed.claims:
        first = Writing(
            manager=BEFORE_FIRST_APPLY,
            subresource=writing.subresource,
            api_version=writing.api_version,
            now=writing.now,
            excluded=writing.excluded,
        )
        managed = after_update(call.served.zero(), bare, managed, first, atom)
    config = _without_managed(config)
    _check_last_applied_version(bare, config, managed, call, writing)
    by_kubectl = writing.manager == _KUBECTL and last_applied_text(live) is not None
    try:
        new, owners = after_apply(
            bare,
            config,
            managed,
            writing,
            atom,
            force=bool(call.request.force),
            ignored_conflicts=_last_applied_fields(live, atom) if by_kubectl else FieldSet(),
        )
    except TypeErrors as problem:  # the patch has been through this: it is the live object
        raise internal(f"failed to create typed live object: {problem}") from None
    return (_with_last_applied(new, config) if by_kubectl else new), owners


def _check_last_applied_version(
    live: Object, config: Object, managed: Managed, call: RequestContext, writing: Writing
) -> None:
    """Validates against the version of the custom resource that the manager applied before."""
    last_claim = managed.claims.get(Manager(writing.manager, "Apply", writing.subresource, ""))
    if (
        last_claim is None
        or last_claim.api_version == writing.api_version
        or not isinstance(call.served, CustomResource)
    ):
        return
    last_version = call.served.versions.get(last_claim.api_version)
    if last_version is None:
        return
    merged = fields(merge(live, config, call.served.atom))
    try:
        validate({**merged, "apiVersion": last_claim.api_version}, last_version.atom)
    except TypeErrors as problem:
        stage = "failed to convert merged object to last applied version"
        raise internal(f"failed to prune fields: {stage}: {problem}") from None


def _last_applied_fields(live: Object, atom: Atom) -> FieldSet:
    """Fields of the last-applied annotation, which kubectl may take over without a conflict."""
    config = last_applied(live)
    return FieldSet() if config is None else field_set(config, atom)


def _with_last_applied(obj: Object, config: Object) -> Object:
    """Updates the last-applied annotation for clients that still use client-side apply."""
    annotation = msgspec.json.encode(without_last_applied(config), order="sorted").decode() + "\n"
    meta = fields(obj.get("metadata"))
    annotations: Object = {**fields(meta.get("annotations")), LAST_APPLIED: annotation}
    return {**obj, "metadata": {**meta, "annotations": annotations}}


def _check_config(config: Object, call: RequestContext, api_version: str, of_kind: str) -> None:
    version, kind = text(config.get("apiVersion")), text(config.get("kind"))
    if version != api_version or kind != of_kind:
        raise bad_request(f"invalid object type: {group_of(version)}/{version_of(version)}, Kind={kind}")
    meta = fields(config.get("metadata"))
    if meta.get("managedFields") is not None:
        raise bad_request("metadata.managedFields must be nil")
    name = text(meta.get("name"))
    if not name:
        name_text = f"the name of the object ({call.address.name} based on URL)"
        raise bad_request(f"{name_text} was undeterminable: name must be provided")
    if name != call.address.name:
        raise bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({call.address.name})"
        )
    namespace = text(meta.get("namespace"))
    if namespace and namespace != call.address.namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def _without_managed(obj: Object) -> Object:
    meta = fields(obj.get("metadata"))
    if "managedFields" not in meta:
        return obj
    without_managed = {key: value for key, value in meta.items() if key != "managedFields"}
    return {**obj, "metadata": without_managed}
