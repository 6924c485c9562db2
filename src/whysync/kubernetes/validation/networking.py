"""Ingresses, IngressClasses, NetworkPolicies, EndpointSlices.

Mirrors `networking/validation` and `discovery/validation`, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Collection

from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.validation import metadata, names
from whysync.kubernetes.validation.equality import same_plain
from whysync.kubernetes.validation.field_error import (
    IMMUTABLE,
    Problems,
    duplicate,
    each,
    forbidden,
    invalid,
    required,
    too_long,
    too_many,
    unsupported,
)
from whysync.kubernetes.validation.scalars import (
    cidr,
    dns_label,
    domain_prefixed_path,
    endpoint_ip,
    ip_address,
    one_of,
    optional_one_of,
    parsed_cidr,
    parsed_ip,
)
from whysync.kubernetes.validation.selectors import label_selector

_CLASS_ANNOTATION = "kubernetes.io/ingress.class"
_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_BAD_PARTS = ("//", "/./", "/../", "%2f", "%2F")
_BAD_ENDS = ("/..", "/.")
_PROTOCOLS = ("TCP", "UDP", "SCTP")


def ingress(obj: Object) -> Problems:
    yield from metadata.on_create(obj, names.dns_subdomain)
    yield from _ingress_spec(fields(obj.get("spec")))


def ingress_on_create(obj: Object) -> Problems:
    yield from ingress(obj)
    old, new = (
        fields(metadata.meta(obj).get("annotations")).get(_CLASS_ANNOTATION),
        dig(obj, "spec", "ingressClassName"),
    )
    if old is not None and isinstance(new, str) and old != new:
        detail = "must match `ingressClassName` when both are specified"
        yield invalid(f"annotations.{_CLASS_ANNOTATION}", old, detail)


def ingress_on_update(old: Object, new: Object) -> Problems:
    yield from metadata.on_update(old, new)
    yield from ingress(new)


def ingress_class(obj: Object) -> Problems:
    yield from metadata.on_create(obj, names.dns_subdomain)
    spec = fields(obj.get("spec"))
    controller = text(spec.get("controller"))
    if len(controller) > 250:
        yield too_long("spec.controller", 250)
    yield from domain_prefixed_path(controller, "spec.controller")
    if isinstance(spec.get("parameters"), dict):
        yield from _class_parameters(fields(spec.get("parameters")), "spec.parameters")


def ingress_class_on_update(old: Object, new: Object) -> Problems:
    yield from metadata.on_update(old, new)
    controller = text(dig(new, "spec", "controller"))
    if controller != text(dig(old, "spec", "controller")):
        yield invalid("spec.controller", controller, IMMUTABLE)
    yield from ingress_class(new)


def network_policy(obj: Object) -> Problems:
    yield from metadata.on_create(obj, names.dns_subdomain)
    yield from _policy_spec(fields(obj.get("spec")), ())


def network_policy_on_update(old: Object, new: Object) -> Problems:
    yield from metadata.on_update(old, new)
    yield from _policy_spec(fields(new.get("spec")), _known_cidrs(fields(old.get("spec"))))


def endpoint_slice(obj: Object) -> Problems:
    yield from metadata.on_create(obj, names.dns_subdomain)
    yield from one_of(obj.get("addressType"), "addressType", ("FQDN", "IPv4", "IPv6"))
    yield from _endpoint_ports(items(obj.get("ports")))
    yield from _endpoints(obj)


def endpoint_slice_on_update(old: Object, new: Object) -> Problems:
    unchanged = same_plain(old.get("endpoints"), new.get("endpoints"))
    yield from endpoint_slice({**new, "endpoints": []} if unchanged else new)
    kind = text(new.get("addressType"))
    if kind != text(old.get("addressType")):
        yield invalid("addressType", kind, IMMUTABLE)


def _ingress_spec(spec: Object) -> Problems:
    rules = items(spec.get("rules"))
    if not rules and spec.get("defaultBackend") is None:
        shown = rules if isinstance(spec.get("rules"), list) else None
        yield invalid("spec", shown, "either `defaultBackend` or `rules` must be specified")
    if isinstance(spec.get("defaultBackend"), dict):
        yield from _backend(fields(spec.get("defaultBackend")), "spec.defaultBackend")
    for index, item in enumerate(rules):
        yield from _rule(fields(item), f"spec.rules[{index}]")
    for index, item in enumerate(items(spec.get("tls"))):
        path, entry = f"spec.tls[{index}]", fields(item)
        for number, host in enumerate(items(entry.get("hosts"))):
            yield from _host(text(host), f"{path}.hosts[{number}]")
        secret = text(entry.get("secretName"))
        if secret:
            yield from each(f"{path}.secretName", secret, names.dns_subdomain(secret))
    class_name = spec.get("ingressClassName")
    if class_name is not None:
        yield from each("spec.ingressClassName", text(class_name), names.dns_subdomain(text(class_name)))


def _rule(rule: Object, path: str) -> Problems:
    host = text(rule.get("host"))
    if host:
        if parsed_ip(host) is not None:
            yield invalid(f"{path}.host", host, "must be a DNS name, not an IP address")
        yield from _host(host, f"{path}.host")
    if not isinstance(rule.get("http"), dict):
        return
    paths = items(dig(rule, "http", "paths"))
    if not paths:
        yield required(f"{path}.http.paths")
    for index, item in enumerate(paths):
        yield from _path(fields(item), f"{path}.http.paths[{index}]")


def _host(host: str, path: str) -> Problems:
    yield from each(path, host, names.wildcard_subdomain(host) if "*" in host else names.dns_subdomain(host))


def _path(entry: Object, path: str) -> Problems:
    kind, value = entry.get("pathType"), text(entry.get("path"))
    if kind is None:
        yield required(f"{path}.pathType", "pathType must be specified")
        return
    if kind not in _PATH_TYPES:
        yield unsupported(f"{path}.pathType", kind, _PATH_TYPES)
    elif not value.startswith("/") and (value or kind != "ImplementationSpecific"):
        yield invalid(f"{path}.path", value, "must be an absolute path")
    if kind in ("Exact", "Prefix"):
        for part in _BAD_PARTS:
            if part in value:
                yield invalid(f"{path}.path", value, f"must not contain '{part}'")
        for end in _BAD_ENDS:
            if value.endswith(end):
                yield invalid(f"{path}.path", value, f"cannot end with '{end}'")
    yield from _backend(fields(entry.get("backend")), f"{path}.backend")


def _backend(backend: Object, path: str) -> Problems:
    service, resource = backend.get("service"), backend.get("resource")
    if isinstance(service, dict) and isinstance(resource, dict):
        yield invalid(path, "", "cannot set both resource and service backends")
    elif isinstance(resource, dict):
        yield from _typed_reference(resource, f"{path}.resource")
    elif isinstance(service, dict):
        yield from _service_backend(service, path)
    else:
        yield invalid(path, "", "resource or service backend is required")


def _service_backend(service: Object, path: str) -> Problems:
    name, port = text(service.get("name")), fields(service.get("port"))
    if name:
        yield from dns_label(name, f"{path}.service.name")
    else:
        yield required(f"{path}.service.name")
    port_name, port_number = text(port.get("name")), integer(port.get("number"))
    if port_name and port_number:
        yield invalid(path, "", "cannot set both port name & port number")
    elif port_name:
        yield from each(f"{path}.service.port.name", port_name, names.port_name(port_name))
    elif port_number:
        yield from each(f"{path}.service.port.number", port_number, names.port_number(port_number))
    else:
        yield required(path, "port name or number is required")


def _typed_reference(reference: Object, path: str) -> Problems:
    group = reference.get("apiGroup")
    if group is not None:
        yield from each(f"{path}.apiGroup", text(group), names.dns_subdomain(text(group)))
    for field in ("kind", "name"):
        value = text(reference.get(field))
        if value:
            yield from each(f"{path}.{field}", value, names.path_segment(value))
        else:
            yield required(f"{path}.{field}")


def _class_parameters(parameters: Object, path: str) -> Problems:
    yield from _typed_reference(parameters, path)
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    if scope is None:
        yield required(f"{path}.scope")
    elif scope not in ("Cluster", "Namespace"):
        yield unsupported(f"{path}.scope", scope, ("Cluster", "Namespace"))
    elif scope == "Cluster":
        if namespace is not None:
            yield forbidden(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'")
    elif namespace is None:
        yield required(f"{path}.namespace", "`parameters.scope` is set to 'Namespace'")
    else:
        yield from dns_label(text(namespace), f"{path}.namespace")


def _policy_spec(spec: Object, known: Collection[Json]) -> Problems:
    yield from label_selector(spec.get("podSelector"), "spec.podSelector")
    for direction, side in (("ingress", "from"), ("egress", "to")):
        for index, item in enumerate(items(spec.get(direction))):
            path = f"spec.{direction}[{index}]"
            for number, port in enumerate(items(fields(item).get("ports"))):
                yield from _policy_port(fields(port), f"{path}.ports[{number}]")
            for number, peer in enumerate(items(fields(item).get(side))):
                yield from _peer(fields(peer), f"{path}.{side}[{number}]", known)
    kinds = items(spec.get("policyTypes"))
    if len(kinds) > 2:
        yield invalid("spec.policyTypes", kinds, "may not specify more than two policyTypes")
        return
    for index, kind in enumerate(kinds):
        if kind not in ("Ingress", "Egress"):
            yield unsupported(f"spec.policyTypes[{index}]", kind, ("Ingress", "Egress"))


def _policy_port(policy_port: Object, path: str) -> Problems:
    yield from optional_one_of(policy_port.get("protocol"), f"{path}.protocol", _PROTOCOLS, sort=False)
    port, end = policy_port.get("port"), policy_port.get("endPort")
    if port is None:
        if end is not None:
            yield invalid(f"{path}.endPort", end, "may not be specified when `port` is not specified")
    elif isinstance(port, str):
        if end is not None:
            yield invalid(f"{path}.endPort", end, "may not be specified when `port` is non-numeric")
        yield from each(f"{path}.port", port, names.port_name(port))
    else:
        yield from each(f"{path}.port", integer(port), names.port_number(integer(port)))
        if end is not None:
            if integer(end) < integer(port):  # upstream prints the port here, not the end
                yield invalid(f"{path}.endPort", integer(port), "must be greater than or equal to `port`")
            yield from each(f"{path}.endPort", integer(end), names.port_number(integer(end)))


def _peer(peer: Object, path: str, known: Collection[Json]) -> Problems:
    selectors = [
        field for field in ("podSelector", "namespaceSelector", "ipBlock") if peer.get(field) is not None
    ]
    for field in selectors:
        if field == "ipBlock":
            yield from _ip_block(fields(peer.get(field)), f"{path}.ipBlock", known)
        else:
            yield from label_selector(peer.get(field), f"{path}.{field}")
    if not selectors:
        yield required(path, "must specify a peer")
    elif len(selectors) > 1 and "ipBlock" in selectors:
        yield forbidden(path, "may not specify both ipBlock and another peer")


def _ip_block(block: Object, path: str, known: Collection[Json]) -> Problems:
    block_cidr = text(block.get("cidr"))
    if not block_cidr:
        yield required(f"{path}.cidr")
        return
    yield from cidr(block_cidr, f"{path}.cidr", known)
    network = parsed_cidr(block_cidr)
    if network is None:
        return
    for index, item in enumerate(items(block.get("except"))):
        where = f"{path}.except[{index}]"
        yield from cidr(text(item), where, known)
        part = parsed_cidr(text(item))
        if part is None:
            continue
        inside = part.version == network.version and part.network_address in network
        if not inside or network.prefixlen >= part.prefixlen:
            yield invalid(where, text(item), "must be a strict subset of `cidr`")


def _known_cidrs(spec: Object) -> list[Json]:
    blocks = [
        fields(fields(peer).get("ipBlock"))
        for direction, side in (("ingress", "from"), ("egress", "to"))
        for item in items(spec.get(direction))
        for peer in items(fields(item).get(side))
    ]
    return [value for block in blocks for value in (block.get("cidr"), *items(block.get("except")))]


def _endpoint_ports(ports: list[Json]) -> Problems:
    seen: set[str] = set()
    for index, item in enumerate(ports):
        port, path = fields(item), f"ports[{index}]"
        name = text(port.get("name"))
        if name:
            yield from dns_label(name, f"{path}.name")
        if name in seen:
            yield duplicate(f"{path}.name", name)
        seen.add(name)
        yield from one_of(port.get("protocol"), f"{path}.protocol", _PROTOCOLS)
        protocol = port.get("appProtocol")
        if protocol is not None:
            yield from each(f"{path}.appProtocol", text(protocol), names.label_key(text(protocol)))


def _endpoints(obj: Object) -> Problems:
    kind, endpoints = text(obj.get("addressType")), items(obj.get("endpoints"))
    if len(endpoints) > 1000:
        yield too_many("endpoints", len(endpoints), 1000)
        return
    for index, item in enumerate(endpoints):
        path, addresses = f"endpoints[{index}].addresses", items(fields(item).get("addresses"))
        if not addresses:
            yield required(path, "must contain at least 1 address")
        elif len(addresses) > 100:
            yield too_many(path, len(addresses), 100)
        for number, address in enumerate(addresses):
            yield from _endpoint_address(text(address), kind, path, number)
        node, host = (fields(item).get(field) for field in ("nodeName", "hostname"))
        if node is not None:
            yield from each(f"endpoints[{index}].nodeName", text(node), names.dns_subdomain(text(node)))
        if host is not None:
            yield from dns_label(text(host), f"endpoints[{index}].hostname")


def _endpoint_address(address: str, kind: str, path: str, index: int) -> Problems:
    if kind not in ("IPv4", "IPv6"):
        return
    wrong = tuple(ip_address(address, f"{path}[{index}]"))
    if wrong:
        yield from wrong
        return
    parsed = parsed_ip(address)
    if parsed is not None and f"IPv{parsed.version}" != kind:
        yield invalid(path, address, f"must be an {kind} address")
    yield from endpoint_ip(address, f"{path}[{index}]")
