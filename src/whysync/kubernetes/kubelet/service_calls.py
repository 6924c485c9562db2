"""One container calls another through a Service: is there an answer, and if not, what does a client say?"""

from __future__ import annotations

from typing import Final

from whysync.json_tree import Object, dig, fields, integer, items, text
from whysync.kubernetes.kubelet.pod_dependencies import Find

_DNS: Final = "10.96.0.10:53"


def no_answer(call: str, namespace: str, find: Find) -> str:
    """Why `db:5432` does not answer somebody in this namespace, as Go words it; empty when it does."""
    host, _, port = call.partition(":")
    name, _, rest = host.partition(".")
    space = rest.partition(".")[0] or namespace
    service = find((("", "services"), space, name))
    unknown = f"dial tcp: lookup {host} on {_DNS}: no such host"
    if service is None:
        return unknown
    if dig(service, "spec", "type") == "ExternalName":
        return ""
    address = text(dig(service, "spec", "clusterIP"))
    answers = _has_ready(find((("", "endpoints"), space, name)))
    if address in ("", "None"):
        return "" if answers else unknown
    if port and not _has_port(service, port):
        return f"dial tcp {address}:{port}: i/o timeout"
    return "" if answers else f"dial tcp {address}:{port or 80}: connect: connection refused"


def _has_port(service: Object, port: str) -> bool:
    return any(
        port in (str(integer(fields(raw).get("port"))), fields(raw).get("name"))
        for raw in items(dig(service, "spec", "ports"))
    )


def _has_ready(endpoints: Object | None) -> bool:
    subsets = [] if endpoints is None else items(endpoints.get("subsets"))
    return any(items(fields(raw).get("addresses")) for raw in subsets)
