"""`status.summary`: the images that run for an app, and the addresses it can be reached at.

Mirrors `ApplicationTree.GetSummary` with `populatePodInfo`, `populateServiceInfo` and `populateIngressInfo`,
Argo CD 3.6; differs: of addresses, only those that Ingresses and load balancers tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from whysync.json_tree import Json, Object, dig, fields, items, text


def summary_of(tree: Iterable[Object]) -> Object:
    images: set[str] = set()
    addresses: set[str] = set()
    for obj in tree:
        kind = obj.get("kind")
        if kind == "Pod":
            images.update(_images(obj))
        elif kind == "Ingress":
            addresses.update(_addresses(obj))
    summary: Object = {}
    if addresses:
        urls: list[Json] = [*sorted(addresses)]
        summary["externalURLs"] = urls
    if images:
        names: list[Json] = [*sorted(images)]
        summary["images"] = names
    return summary


def _images(pod: Object) -> Iterator[str]:
    for name in ("initContainers", "containers"):
        for container in items(dig(pod, "spec", name)):
            image = text(fields(container).get("image"))
            if image:
                yield image


def _addresses(ingress: Object) -> Iterator[str]:
    """None before a load balancer has taken the Ingress."""
    given = [fields(one) for one in items(dig(ingress, "status", "loadBalancer", "ingress"))]
    fallback = [text(one.get("hostname")) or text(one.get("ip")) for one in given]
    if not given:
        return
    secured = {
        text(host) for tl in items(dig(ingress, "spec", "tls")) for host in items(fields(tl).get("hosts"))
    }
    for rule in items(dig(ingress, "spec", "rules")):
        host = text(fields(rule).get("host"))
        for path in items(dig(fields(rule), "http", "paths")):
            where = text(fields(path).get("path")).removesuffix("*")
            for name in [host] if host else [one for one in fallback if one]:
                scheme = "https" if host and host in secured else "http"
                yield f"{scheme}://{name}{where}"
