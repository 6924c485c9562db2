"""Request options and bodies: validated and decoded before a handler runs."""

from __future__ import annotations

from typing import Final

import msgspec

from whysync.golang.fmt import quoted
from whysync.json_tree import Json, Object, dig, fields, text
from whysync.kubernetes.apiserver.custom_resources import CustomResource
from whysync.kubernetes.apiserver.patches import bad_patch
from whysync.kubernetes.apiserver.request import RequestContext
from whysync.kubernetes.apiserver.resource_kind import cannot_handle
from whysync.kubernetes.apiserver.status_errors import Cause, bad_request, invalid
from whysync.kubernetes.schema import type_of

_MODES = ("", "Ignore", "Strict", "Warn")
_MAX_MANAGER_LENGTH = 128
_SCHEME = "pkg/api/legacyscheme/scheme.go:30"


def check_options(call: RequestContext, options: str) -> None:
    """Rejects invalid options in the URL (`CreateOptions`, `UpdateOptions`, `PatchOptions`)."""
    request = call.request
    causes: list[Cause] = []
    manager = request.manager
    if request.verb == "ssa" and not manager:
        causes.append(Cause("fieldManager", "Required value: is required for apply patch"))
    if manager is not None and len(manager) > _MAX_MANAGER_LENGTH:
        causes.append(Cause("fieldManager", f"Too long: may not be more than {_MAX_MANAGER_LENGTH} bytes"))
    for index, letter in enumerate(manager or ""):
        if not letter.isprintable():
            manager_text = quoted(manager or "")
            why = f"invalid character U+{ord(letter):04X} (at position {index})"
            causes.append(Cause("fieldManager", f"Invalid value: {manager_text}: {why}"))
    if request.force is not None and request.verb != "ssa" and request.verb.endswith("-patch"):
        causes.append(Cause("force", "Forbidden: may not be specified for non-apply patch"))
    if request.validation not in _MODES:
        supported = ", ".join(f'"{mode}"' for mode in _MODES)
        causes.append(
            Cause(
                "fieldValidation", f'Unsupported value: "{request.validation}": supported values: {supported}'
            )
        )
    if causes:
        raise invalid(options, "meta.k8s.io", "", causes)


def read_body(call: RequestContext) -> Object:
    body = call.request.body
    if not isinstance(body, dict):
        raise bad_request("the body of the request is no object")
    return body


def object_in_body(
    body: Object, call: RequestContext, live: Object | None = None
) -> tuple[Object, list[str]]:
    """The decoded object with its defaults, and its unknown fields."""
    resource = call.resource
    version, kind = text(body.get("apiVersion")), text(body.get("kind"))
    if version and kind == resource.kind and not resource.custom and type_of(version, kind) is None:
        why = f'no kind "{kind}" is registered for version "{version}" in scheme "{_SCHEME}"'
        body_version = version.rpartition("/")[2]
        raise bad_request(f'{kind} in version "{body_version}" cannot be handled as a {resource.kind}: {why}')
    if (resource.custom and not version) or (version and version != resource.api_version and kind):
        if isinstance(call.served, CustomResource) and version in call.served.versions:
            check_strict_decoding(call.served.versions[version].decode(body)[1], call)
        expected = f"the expected API version ({resource.api_version})"
        raise bad_request(f"the API version in the data ({version}) does not match {expected}")
    if kind and kind != resource.kind and not resource.custom:
        conversion = f"({resource.version}.{kind}) to ({resource.group or 'core'}.{resource.kind})"
        raise bad_request(
            f'{kind} in version "{resource.version}" cannot be handled as a {resource.kind}: '
            f"converting {conversion}: unknown conversion"
        )
    if resource.custom and kind != resource.kind:
        name = text(dig(body, "metadata", "name"))
        cause = Cause("kind", f'Invalid value: "{kind}": must be {resource.kind}')
        raise invalid(kind, resource.group, name, [cause])
    obj, unknown_fields = call.served.decode(body, live)
    obj = call.served.defaulted({**obj, "apiVersion": resource.api_version, "kind": resource.kind}, live)
    return in_request_namespace(obj, call), unknown_fields


def in_request_namespace(obj: Object, call: RequestContext) -> Object:
    """The object in the namespace of the URL; a different namespace in the body is rejected."""
    meta = fields(obj.get("metadata"))
    if not call.resource.namespaced:
        without_namespace: Object = {key: value for key, value in meta.items() if key != "namespace"}
        return {**obj, "metadata": without_namespace}
    namespace = text(meta.get("namespace"))
    if namespace and namespace != call.address.namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    return {**obj, "metadata": {**meta, "namespace": call.address.namespace}}


def check_strict_decoding(unknown: list[str], call: RequestContext, *, patch: Object | None = None) -> None:
    """Rejects unknown and duplicate fields if `fieldValidation` is Strict."""
    if not unknown or call.request.validation != "Strict":
        return
    why = f"strict decoding error: {', '.join(unknown)}"
    if patch is not None:
        raise bad_patch(why, patch, call)
    raise cannot_handle(call.resource, why)


_MAX_OBJECT_BYTES: Final = 3 * 2**19
MAX_REQUEST_BYTES: Final = 3 * 2**20


def is_object_too_large(obj: Object) -> bool:
    return _size(obj) > _MAX_OBJECT_BYTES


def is_request_too_large(body: Json) -> bool:
    return body is not None and _size(body) > MAX_REQUEST_BYTES


def _size(value: Json) -> int:
    try:
        return len(msgspec.json.encode(value))
    except (ValueError, OverflowError):  # not JSON; decoding rejects it
        return 0
