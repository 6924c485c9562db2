"""Annotations that cloud and load-balancer controllers write on objects, as they document them.

Settings that a person writes for such a controller to read stand under other names and do not count.
"""

from __future__ import annotations

import re

# Written by a controller of Kubernetes or of a cloud, never meant for Git.
_WRITTEN = (
    "autoscaling.alpha.kubernetes.io/",
    "cloud.google.com/neg-status",
    "cloud.google.com/load-balancer-",
    "control-plane.alpha.kubernetes.io/leader",
    "deployment.kubernetes.io/revision",
    "deprecated.daemonset.template.generation",
    "endpoints.kubernetes.io/",
    "field.cattle.io/publicEndpoints",
    "ingress.kubernetes.io/backends",
    "ingress.kubernetes.io/forwarding-rule",
    "ingress.kubernetes.io/https-",
    "ingress.kubernetes.io/ssl-cert",
    "ingress.kubernetes.io/static-ip",
    "ingress.kubernetes.io/target-proxy",
    "ingress.kubernetes.io/url-map",
    "kubernetes.digitalocean.com/load-balancer-id",
    "load-balancer.hetzner.cloud/id",
    "loadbalancer.openstack.org/load-balancer-id",
    "loadbalancer.openstack.org/load-balancer-address",
    "metallb.io/ip-allocated-from-pool",
    "metallb.universe.tf/ip-allocated-from-pool",
    "networking.gke.io/last-reconcile",
    "pv.kubernetes.io/",
    "service.beta.kubernetes.io/ibm-load-balancer-cloud-provider-enable",
    "service.kubernetes.io/ibm-ingress",
    "volume.beta.kubernetes.io/storage-provisioner",
    "volume.kubernetes.io/storage-provisioner",
    "volume.kubernetes.io/selected-node",
)
_NAMES_A_TIME = re.compile(
    r"([Tt]imestamp|[Tt]ime|[Dd]ate|[Uu]pdated|[Mm]odified|[Ss]ynced|[Rr]efreshed|[a-z]-at|[a-z]At)$"
)
_INSTANT = re.compile(r"\d{4}-\d\d-\d\d[T_ -]\d\d[:_-]?\d\d.*|1\d{9}(\d{3})?")


def is_written_by_cloud(annotation: str) -> bool:
    return annotation.startswith(_WRITTEN)


def is_instant(annotation: str, value: object) -> bool:
    """The name speaks of a time, and the value is one."""
    name = annotation.rpartition("/")[2]
    return isinstance(value, str) and bool(_NAMES_A_TIME.search(name)) and bool(_INSTANT.fullmatch(value))
