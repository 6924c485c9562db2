"""The name of an object must be that of the URL it is sent to."""

from __future__ import annotations

from whysync.json_tree import Object, dig, text
from whysync.kubernetes.apiserver.request import RequestContext
from whysync.kubernetes.apiserver.status_errors import bad_request


def require_name(obj: Object, call: RequestContext) -> None:
    name, wanted = text(dig(obj, "metadata", "name")), call.address.name
    if not name:
        raise bad_request(
            f"the name of the object ({wanted} based on URL) was undeterminable: name must be provided"
        )
    if name != wanted:
        raise bad_request(f"the name of the object ({name}) does not match the name on the URL ({wanted})")


def same_name(obj: Object, live: Object, call: RequestContext) -> None:
    require_name(obj, call)
    space = text(dig(obj, "metadata", "namespace"))
    if space and space != text(dig(live, "metadata", "namespace")):
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
