"""Ingresses, IngressClasses, NetworkPolicies, EndpointSlices, ServiceCIDRs, IPAddresses.

Mirrors `networking/validation` and `discovery/validation`, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Collection

from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.validation import metadata, names
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
from whysync.kubernetes.validation.internal_types import internal, same, same_plain
from whysync.kubernetes.validation.scalars import (
    parse_cidr_sloppy,
    parse_ip_sloppy,
    validate_cidr_for_legacy_field,
    validate_dns_label,
    validate_domain_prefixed_path,
    validate_endpoint_ip,
    validate_enum,
    validate_ip_for_legacy_field,
    validate_optional_enum,
    validate_required,
)
from whysync.kubernetes.validation.selectors import validate_label_selector

_CLASS_ANNOTATION = "kubernetes.io/ingress.class"
_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_BAD_PARTS = ("//", "/./", "/../", "%2f", "%2F")
_BAD_ENDS = ("/..", "/.")
_PROTOCOLS = ("TCP", "UDP", "SCTP")


def _validate_ingress(obj: Object) -> Problems:
    yield from metadata.validate_object_meta(obj, names.dns_subdomain)
    yield from _validate_ingress_spec(fields(obj.get("spec")))


def validate_ingress_create(obj: Object) -> Problems:
    yield from _validate_ingress(obj)
    annotation, class_name = (
        fields(metadata.meta(obj).get("annotations")).get(_CLASS_ANNOTATION),
        dig(obj, "spec", "ingressClassName"),
    )
    if annotation is not None and isinstance(class_name, str) and annotation != class_name:
        detail = "must match `ingressClassName` when both are specified"
        yield invalid(f"annotations.{_CLASS_ANNOTATION}", annotation, detail)


def validate_ingress_update(old: Object, new: Object) -> Problems:
    yield from metadata.validate_object_meta_update(old, new)
    yield from _validate_ingress(new)


def validate_ingress_class(obj: Object) -> Problems:
    yield from metadata.validate_object_meta(obj, names.dns_subdomain)
    spec = fields(obj.get("spec"))
    controller = text(spec.get("controller"))
    if len(controller) > 250:
        yield too_long("spec.controller", 250)
    yield from validate_domain_prefixed_path(controller, "spec.controller")
    if isinstance(spec.get("parameters"), dict):
        yield from _validate_ingress_class_parameters(fields(spec.get("parameters")), "spec.parameters")


def validate_ingress_class_update(old: Object, new: Object) -> Problems:
    yield from metadata.validate_object_meta_update(old, new)
    controller = text(dig(new, "spec", "controller"))
    if controller != text(dig(old, "spec", "controller")):
        yield invalid("spec.controller", controller, IMMUTABLE)
    yield from validate_ingress_class(new)


def validate_network_policy(obj: Object) -> Problems:
    yield from metadata.validate_object_meta(obj, names.dns_subdomain)
    yield from _validate_network_policy_spec(fields(obj.get("spec")), ())


def validate_network_policy_update(old: Object, new: Object) -> Problems:
    yield from metadata.validate_object_meta_update(old, new)
    yield from _validate_network_policy_spec(
        fields(new.get("spec")), _existing_cidrs(fields(old.get("spec")))
    )


def validate_endpoint_slice(obj: Object) -> Problems:
    yield from metadata.validate_object_meta(obj, names.dns_subdomain)
    yield from validate_enum(obj.get("addressType"), "addressType", ("FQDN", "IPv4", "IPv6"))
    yield from _validate_endpoint_ports(items(obj.get("ports")))
    yield from _validate_endpoints(obj)


def validate_endpoint_slice_update(old: Object, new: Object) -> Problems:
    unchanged = same_plain(old.get("endpoints"), new.get("endpoints"))
    yield from validate_endpoint_slice({**new, "endpoints": []} if unchanged else new)
    kind = text(new.get("addressType"))
    if kind != text(old.get("addressType")):
        yield invalid("addressType", kind, IMMUTABLE)


def validate_service_cidr(obj: Object) -> Problems:
    yield from metadata.validate_object_meta(obj, names.dns_subdomain)
    yield from _validate_cidrs(obj)


def validate_service_cidr_update(old: Object, new: Object) -> Problems:
    """A CIDR of the second address family may be added."""
    yield from metadata.validate_object_meta_update(old, new)
    path, old_cidrs, new_cidrs = (
        "spec.cidrs",
        items(dig(old, "spec", "cidrs")),
        items(dig(new, "spec", "cidrs")),
    )
    if len(old_cidrs) != len(new_cidrs) and (len(old_cidrs), len(new_cidrs)) != (1, 2):
        yield invalid(path, new_cidrs if isinstance(dig(new, "spec", "cidrs"), list) else None, IMMUTABLE)
        return
    for index, (old_cidr, new_cidr) in enumerate(zip(old_cidrs, new_cidrs, strict=False)):
        if old_cidr != new_cidr:
            yield invalid(f"{path}[{index}]", new_cidr, IMMUTABLE)
    if len(old_cidrs) < len(new_cidrs):
        yield from _validate_cidrs(new)


def validate_ip_address(obj: Object) -> Problems:
    """The name of an IPAddress is the address."""
    yield from metadata.validate_object_meta(obj, names.path_segment)
    if not isinstance(dig(obj, "spec", "parentRef"), dict):
        yield required("spec.parentRef")


def validate_ip_address_update(old: Object, new: Object) -> Problems:
    yield from metadata.validate_object_meta_update(old, new)
    kind, parent = "networking/v1.ParentReference", dig(new, "spec", "parentRef")
    if not same(dig(old, "spec", "parentRef"), parent, kind):
        yield invalid("spec.parentRef", internal(parent, kind), IMMUTABLE)


def _validate_cidrs(obj: Object) -> Problems:
    path, cidrs = "spec.cidrs", items(dig(obj, "spec", "cidrs"))
    if not cidrs:
        yield required(path, "at least one CIDR required")
        return
    for index, value in enumerate(cidrs):
        yield from validate_cidr_for_legacy_field(text(value), f"{path}[{index}]")


def _validate_ingress_spec(spec: Object) -> Problems:
    rules = items(spec.get("rules"))
    if not rules and spec.get("defaultBackend") is None:
        bad_value = rules if isinstance(spec.get("rules"), list) else None
        yield invalid("spec", bad_value, "either `defaultBackend` or `rules` must be specified")
    if isinstance(spec.get("defaultBackend"), dict):
        yield from _validate_ingress_backend(fields(spec.get("defaultBackend")), "spec.defaultBackend")
    for index, item in enumerate(rules):
        yield from _validate_ingress_rule(fields(item), f"spec.rules[{index}]")
    for index, item in enumerate(items(spec.get("tls"))):
        path, entry = f"spec.tls[{index}]", fields(item)
        for number, host in enumerate(items(entry.get("hosts"))):
            yield from _validate_host(text(host), f"{path}.hosts[{number}]")
        secret = text(entry.get("secretName"))
        if secret:
            yield from each(f"{path}.secretName", secret, names.dns_subdomain(secret))
    class_name = spec.get("ingressClassName")
    if class_name is not None:
        yield from each("spec.ingressClassName", text(class_name), names.dns_subdomain(text(class_name)))


def _validate_ingress_rule(rule: Object, path: str) -> Problems:
    host = text(rule.get("host"))
    if host:
        if parse_ip_sloppy(host) is not None:
            yield invalid(f"{path}.host", host, "must be a DNS name, not an IP address")
        yield from _validate_host(host, f"{path}.host")
    if not isinstance(rule.get("http"), dict):
        return
    paths = items(dig(rule, "http", "paths"))
    if not paths:
        yield required(f"{path}.http.paths")
    for index, item in enumerate(paths):
        yield from _validate_http_ingress_path(fields(item), f"{path}.http.paths[{index}]")


def _validate_host(host: str, path: str) -> Problems:
    yield from each(path, host, names.wildcard_subdomain(host) if "*" in host else names.dns_subdomain(host))


def _validate_http_ingress_path(entry: Object, path: str) -> Problems:
    kind, value = entry.get("pathType"), text(entry.get("path"))
    if kind is None:
        yield required(f"{path}.pathType", "pathType must be specified")
        return
    if kind not in _PATH_TYPES:
        yield unsupported(f"{path}.pathType", kind, _PATH_TYPES)
    elif not value.startswith("/") and (value or kind != "ImplementationSpecific"):
        yield invalid(f"{path}.path", value, "must be an absolute path")
    if kind in ("Exact", "Prefix"):
        for sequence in _BAD_PARTS:
            if sequence in value:
                yield invalid(f"{path}.path", value, f"must not contain '{sequence}'")
        for suffix in _BAD_ENDS:
            if value.endswith(suffix):
                yield invalid(f"{path}.path", value, f"cannot end with '{suffix}'")
    yield from _validate_ingress_backend(fields(entry.get("backend")), f"{path}.backend")


def _validate_ingress_backend(backend: Object, path: str) -> Problems:
    service, resource = backend.get("service"), backend.get("resource")
    if isinstance(service, dict) and isinstance(resource, dict):
        yield invalid(path, "", "cannot set both resource and service backends")
    elif isinstance(resource, dict):
        yield from _validate_typed_reference(resource, f"{path}.resource")
    elif isinstance(service, dict):
        yield from _validate_ingress_service_backend(service, path)
    else:
        yield invalid(path, "", "resource or service backend is required")


def _validate_ingress_service_backend(service: Object, path: str) -> Problems:
    name, port = text(service.get("name")), fields(service.get("port"))
    yield from validate_required(name, f"{path}.service.name", names.dns_label)
    port_name, port_number = text(port.get("name")), integer(port.get("number"))
    if port_name and port_number:
        yield invalid(path, "", "cannot set both port name & port number")
    elif port_name:
        yield from each(f"{path}.service.port.name", port_name, names.port_name(port_name))
    elif port_number:
        yield from each(f"{path}.service.port.number", port_number, names.port_number(port_number))
    else:
        yield required(path, "port name or number is required")


def _validate_typed_reference(reference: Object, path: str) -> Problems:
    group = reference.get("apiGroup")
    if group is not None:
        yield from each(f"{path}.apiGroup", text(group), names.dns_subdomain(text(group)))
    for field in ("kind", "name"):
        value = text(reference.get(field))
        yield from validate_required(value, f"{path}.{field}", names.path_segment)


def _validate_ingress_class_parameters(parameters: Object, path: str) -> Problems:
    yield from _validate_typed_reference(parameters, path)
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
        yield from validate_dns_label(text(namespace), f"{path}.namespace")


def _validate_network_policy_spec(spec: Object, existing_cidrs: Collection[Json]) -> Problems:
    yield from validate_label_selector(spec.get("podSelector"), "spec.podSelector")
    for direction, peers_field in (("ingress", "from"), ("egress", "to")):
        for index, item in enumerate(items(spec.get(direction))):
            path = f"spec.{direction}[{index}]"
            for number, port in enumerate(items(fields(item).get("ports"))):
                yield from _validate_network_policy_port(fields(port), f"{path}.ports[{number}]")
            for number, peer in enumerate(items(fields(item).get(peers_field))):
                yield from _validate_network_policy_peer(
                    fields(peer), f"{path}.{peers_field}[{number}]", existing_cidrs
                )
    kinds = items(spec.get("policyTypes"))
    if len(kinds) > 2:
        yield invalid("spec.policyTypes", kinds, "may not specify more than two policyTypes")
        return
    for index, kind in enumerate(kinds):
        if kind not in ("Ingress", "Egress"):
            yield unsupported(f"spec.policyTypes[{index}]", kind, ("Ingress", "Egress"))


def _validate_network_policy_port(policy_port: Object, path: str) -> Problems:
    yield from validate_optional_enum(policy_port.get("protocol"), f"{path}.protocol", _PROTOCOLS, sort=False)
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
            if integer(end) < integer(port):  # upstream prints `port` here, not `endPort`
                yield invalid(f"{path}.endPort", integer(port), "must be greater than or equal to `port`")
            yield from each(f"{path}.endPort", integer(end), names.port_number(integer(end)))


def _validate_network_policy_peer(peer: Object, path: str, existing_cidrs: Collection[Json]) -> Problems:
    selectors = [
        field for field in ("podSelector", "namespaceSelector", "ipBlock") if peer.get(field) is not None
    ]
    for field in selectors:
        if field == "ipBlock":
            yield from _validate_ip_block(fields(peer.get(field)), f"{path}.ipBlock", existing_cidrs)
        else:
            yield from validate_label_selector(peer.get(field), f"{path}.{field}")
    if not selectors:
        yield required(path, "must specify a peer")
    elif len(selectors) > 1 and "ipBlock" in selectors:
        yield forbidden(path, "may not specify both ipBlock and another peer")


def _validate_ip_block(block: Object, path: str, existing_cidrs: Collection[Json]) -> Problems:
    block_cidr = text(block.get("cidr"))
    if not block_cidr:
        yield required(f"{path}.cidr")
        return
    yield from validate_cidr_for_legacy_field(block_cidr, f"{path}.cidr", existing_cidrs)
    network = parse_cidr_sloppy(block_cidr)
    if network is None:
        return
    for index, item in enumerate(items(block.get("except"))):
        item_path = f"{path}.except[{index}]"
        yield from validate_cidr_for_legacy_field(text(item), item_path, existing_cidrs)
        exception = parse_cidr_sloppy(text(item))
        if exception is None:
            continue
        inside = exception.version == network.version and exception.network_address in network
        if not inside or network.prefixlen >= exception.prefixlen:
            yield invalid(item_path, text(item), "must be a strict subset of `cidr`")


def _existing_cidrs(spec: Object) -> list[Json]:
    blocks = [
        fields(fields(peer).get("ipBlock"))
        for direction, peers_field in (("ingress", "from"), ("egress", "to"))
        for item in items(spec.get(direction))
        for peer in items(fields(item).get(peers_field))
    ]
    return [value for block in blocks for value in (block.get("cidr"), *items(block.get("except")))]


def _validate_endpoint_ports(ports: list[Json]) -> Problems:
    seen: set[str] = set()
    for index, item in enumerate(ports):
        port, path = fields(item), f"ports[{index}]"
        name = text(port.get("name"))
        if name:
            yield from validate_dns_label(name, f"{path}.name")
        if name in seen:
            yield duplicate(f"{path}.name", name)
        seen.add(name)
        yield from validate_enum(port.get("protocol"), f"{path}.protocol", _PROTOCOLS)
        protocol = port.get("appProtocol")
        if protocol is not None:
            yield from each(f"{path}.appProtocol", text(protocol), names.qualified_name(text(protocol)))


def _validate_endpoints(obj: Object) -> Problems:
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
            yield from _validate_endpoint_address(text(address), kind, path, number)
        node, host = (fields(item).get(field) for field in ("nodeName", "hostname"))
        if node is not None:
            yield from each(f"endpoints[{index}].nodeName", text(node), names.dns_subdomain(text(node)))
        if host is not None:
            yield from validate_dns_label(text(host), f"endpoints[{index}].hostname")


def _validate_endpoint_address(address: str, kind: str, path: str, index: int) -> Problems:
    if kind not in ("IPv4", "IPv6"):
        return
    errors = tuple(validate_ip_for_legacy_field(address, f"{path}[{index}]"))
    if errors:
        yield from errors
        return
    parsed = parse_ip_sloppy(address)
    if parsed is not None and f"IPv{parsed.version}" != kind:
        yield invalid(path, address, f"must be an {kind} address")
    yield from validate_endpoint_ip(address, f"{path}[{index}]")
