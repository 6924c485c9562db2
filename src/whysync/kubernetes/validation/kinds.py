"""Which checks a kind has. Kinds that are not listed have those of their metadata only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from whysync.json_tree import Object, text
from whysync.kubernetes.validation import api_extensions as extensions
from whysync.kubernetes.validation import (
    apps,
    batch,
    cluster_kinds,
    config,
    limits,
    metadata,
    names,
    networking,
    pod_updates,
    pods,
    rbac,
    scaling,
    services,
    storage,
)
from whysync.kubernetes.validation import other_kinds as rare_kinds
from whysync.kubernetes.validation import volume_claims as claims
from whysync.kubernetes.validation.field_error import FieldProblem, Problems


class _Checks(NamedTuple):
    create: Callable[[Object], Problems]
    update: Callable[[Object, Object], Problems]


_BY_KIND: Final[dict[tuple[str, str], _Checks]] = {
    ("", "Pod"): _Checks(pods.pod_on_create, pod_updates.pod_on_update),
    ("", "ReplicationController"): _Checks(
        apps.replication_controller, apps.replication_controller_on_update
    ),
    ("", "Service"): _Checks(services.service, services.service_on_update),
    ("", "ConfigMap"): _Checks(config.config_map, config.config_map_on_update),
    ("", "Secret"): _Checks(config.secret, config.secret_on_update),
    ("", "PersistentVolumeClaim"): _Checks(claims.claim, claims.claim_on_update),
    ("", "PersistentVolume"): _Checks(claims.volume, claims.volume_on_update),
    ("", "Namespace"): _Checks(cluster_kinds.namespace, cluster_kinds.namespace_on_update),
    ("", "ServiceAccount"): _Checks(cluster_kinds.service_account, cluster_kinds.service_account_on_update),
    ("", "ResourceQuota"): _Checks(limits.quota, limits.quota_on_update),
    ("", "LimitRange"): _Checks(limits.limit_range, limits.limit_range_on_update),
    ("", "Node"): _Checks(rare_kinds.node, rare_kinds.node_on_update),
    ("", "PodTemplate"): _Checks(rare_kinds.pod_template, rare_kinds.pod_template_on_update),
    ("apps", "Deployment"): _Checks(apps.deployment, apps.deployment_on_update),
    ("apps", "ReplicaSet"): _Checks(apps.replica_set, apps.replica_set_on_update),
    ("apps", "DaemonSet"): _Checks(apps.daemon_set, apps.daemon_set_on_update),
    ("apps", "StatefulSet"): _Checks(apps.stateful_set, apps.stateful_set_on_update),
    ("apps", "ControllerRevision"): _Checks(apps.controller_revision, apps.controller_revision_on_update),
    ("batch", "Job"): _Checks(batch.job, batch.job_on_update),
    ("batch", "CronJob"): _Checks(batch.cron_job, batch.cron_job_on_update),
    ("networking.k8s.io", "Ingress"): _Checks(networking.ingress_on_create, networking.ingress_on_update),
    ("networking.k8s.io", "IngressClass"): _Checks(
        networking.ingress_class, networking.ingress_class_on_update
    ),
    ("networking.k8s.io", "NetworkPolicy"): _Checks(
        networking.network_policy, networking.network_policy_on_update
    ),
    ("networking.k8s.io", "ServiceCIDR"): _Checks(rare_kinds.service_cidr, rare_kinds.service_cidr_on_update),
    ("networking.k8s.io", "IPAddress"): _Checks(rare_kinds.ip_address, rare_kinds.ip_address_on_update),
    ("discovery.k8s.io", "EndpointSlice"): _Checks(
        networking.endpoint_slice, networking.endpoint_slice_on_update
    ),
    ("rbac.authorization.k8s.io", "Role"): _Checks(rbac.role, rbac.role_on_update),
    ("rbac.authorization.k8s.io", "ClusterRole"): _Checks(rbac.cluster_role, rbac.cluster_role_on_update),
    ("rbac.authorization.k8s.io", "RoleBinding"): _Checks(rbac.role_binding, rbac.role_binding_on_update),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): _Checks(
        rbac.cluster_role_binding, rbac.cluster_role_binding_on_update
    ),
    ("autoscaling", "HorizontalPodAutoscaler"): _Checks(scaling.autoscaler, scaling.autoscaler_on_update),
    ("policy", "PodDisruptionBudget"): _Checks(
        scaling.disruption_budget, scaling.disruption_budget_on_update
    ),
    ("storage.k8s.io", "StorageClass"): _Checks(storage.storage_class, storage.storage_class_on_update),
    ("storage.k8s.io", "CSIDriver"): _Checks(storage.csi_driver, storage.csi_driver_on_update),
    ("storage.k8s.io", "CSINode"): _Checks(rare_kinds.csi_node, rare_kinds.csi_node_on_update),
    ("storage.k8s.io", "CSIStorageCapacity"): _Checks(
        storage.storage_capacity, storage.storage_capacity_on_update
    ),
    ("storage.k8s.io", "VolumeAttachment"): _Checks(
        storage.volume_attachment, storage.volume_attachment_on_update
    ),
    ("storage.k8s.io", "VolumeAttributesClass"): _Checks(
        storage.attributes_class, storage.attributes_class_on_update
    ),
    ("scheduling.k8s.io", "PriorityClass"): _Checks(
        cluster_kinds.priority_class, cluster_kinds.priority_class_on_update
    ),
    ("node.k8s.io", "RuntimeClass"): _Checks(
        cluster_kinds.runtime_class, cluster_kinds.runtime_class_on_update
    ),
    ("coordination.k8s.io", "Lease"): _Checks(cluster_kinds.lease, cluster_kinds.lease_on_update),
    ("resource.k8s.io", "ResourceClaim"): _Checks(
        cluster_kinds.resource_claim, cluster_kinds.resource_claim_on_update
    ),
    ("resource.k8s.io", "ResourceClaimTemplate"): _Checks(
        rare_kinds.claim_template, rare_kinds.claim_template_on_update
    ),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _Checks(
        extensions.definition, extensions.definition_on_update
    ),
    ("apiregistration.k8s.io", "APIService"): _Checks(
        extensions.api_service, extensions.api_service_on_update
    ),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): _Checks(
        extensions.webhooks, extensions.webhooks_on_update
    ),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): _Checks(
        extensions.webhooks, extensions.webhooks_on_update
    ),
}
# Names that are no DNS names: requests of any form, bundles with a colon, candidates with capitals.
_NAME_FORMS: Final[dict[tuple[str, str], metadata.NameForm]] = {
    ("certificates.k8s.io", "CertificateSigningRequest"): names.path_segment,
    ("certificates.k8s.io", "ClusterTrustBundle"): names.path_segment,
    ("coordination.k8s.io", "LeaseCandidate"): names.config_key,
}
# Questions that are answered, not kept: access and token reviews have neither name nor metadata.
_NEVER_STORED: Final = frozenset({"authorization.k8s.io", "authentication.k8s.io"})


def problems_on_create(obj: Object) -> tuple[FieldProblem, ...]:
    """What the server would refuse about a new object, which has its defaults already."""
    obj = _as_stored(obj)
    if _group_kind(obj)[0] in _NEVER_STORED:
        return ()
    checks = _BY_KIND.get(_group_kind(obj))
    early = _by_allocation(None, obj)
    if early:
        return early
    form = _NAME_FORMS.get(_group_kind(obj), names.dns_subdomain)
    problems = tuple(checks.create(obj) if checks else metadata.on_create_generic(obj, form))
    # Only then does the server look at what it asks of every object.
    return problems or tuple(metadata.on_create_generic(obj, names.path_segment)) or _by_admission(None, obj)


def problems_on_update(old: Object, new: Object) -> tuple[FieldProblem, ...]:
    """What it would refuse about a change from `old`, as it is stored, to `new`."""
    old, new = _as_stored(old), _as_stored(new)
    if _group_kind(new)[0] in _NEVER_STORED:
        return ()
    checks = _BY_KIND.get(_group_kind(old))  # a change cannot make another kind of it
    early = _by_allocation(old, new)
    if early:
        return early
    common = tuple(metadata.common_on_update(old, new))
    if checks is None:
        return common + tuple(metadata.on_update_generic(old, new))
    return common + tuple(checks.update(old, new)) or _by_admission(old, new)


def _by_allocation(old: Object | None, new: Object) -> tuple[FieldProblem, ...]:
    return tuple(services.service_allocation(old, new)) if _group_kind(new) == ("", "Service") else ()


def _by_admission(old: Object | None, new: Object) -> tuple[FieldProblem, ...]:
    if _group_kind(new) != ("", "Namespace"):
        return ()
    return tuple(cluster_kinds.pod_security_labels(old, new))


def _as_stored(obj: Object) -> Object:
    match _group_kind(obj):
        case ("", "Secret"):
            return config.with_string_data(obj)
        case ("", "Service"):
            return services.with_addresses(obj)
        case _:
            return obj


def _group_kind(obj: Object) -> tuple[str, str]:
    version = text(obj.get("apiVersion"))
    return (version.partition("/")[0] if "/" in version else "", text(obj.get("kind")))
