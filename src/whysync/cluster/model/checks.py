"""The checks behind code 422, in the words of the API server."""

from __future__ import annotations

from whysync.cluster.model.customs import Custom
from whysync.cluster.model.failures import Cause, invalid
from whysync.cluster.model.requests import Call
from whysync.contracts.tree import Object, fields, text


def check_create(obj: Object, call: Call) -> None:
    causes: list[Cause] = []
    meta = fields(obj.get("metadata"))
    if not meta.get("name"):
        causes.append(Cause("metadata.name", "Required value: name or generateName is required"))
    if isinstance(call.served, Custom):
        causes.extend(call.served.problems(obj, None))
    if causes:
        raise call.invalid(text(meta.get("name")), causes)


def check_update(obj: Object, live: Object, call: Call, *, given_version: str) -> None:
    if call.resource.custom and not given_version and call.request.verb == "update":
        cause = Cause("metadata.resourceVersion", "Invalid value: 0: must be specified for an update")
        raise invalid(call.resource.plural, call.resource.group, call.address.name, [cause])
    if isinstance(call.served, Custom):
        causes = call.served.problems(obj, live)
        if causes:
            raise call.invalid(call.address.name, causes)
