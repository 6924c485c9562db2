"""Validation functions by kind. Of kinds that are not listed only the metadata is validated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

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
    pods,
    rbac,
    scaling,
    services,
    storage,
)
from whysync.kubernetes.validation import volume_claims as claims
from whysync.kubernetes.validation.field_error import FieldProblem, Problems

_Checks: TypeAlias = tuple[Callable[[Object], Problems], Callable[[Object, Object], Problems]]

# By group and kind: the checks of a new object and of a change.
_CHECKS: Final[dict[str, dict[str, _Checks]]] = {
    "": {
        "Pod": (pods.validate_pod_create, pods.validate_pod_update),
        "ReplicationController": (
            apps.validate_replication_controller,
            apps.validate_replication_controller_update,
        ),
        "Service": (services.validate_service_create, services.validate_service_update),
        "ConfigMap": (config.validate_config_map, config.validate_config_map_update),
        "Secret": (config.validate_secret, config.validate_secret_update),
        "PersistentVolumeClaim": (
            claims.validate_persistent_volume_claim,
            claims.validate_persistent_volume_claim_update,
        ),
        "PersistentVolume": (claims.validate_persistent_volume, claims.validate_persistent_volume_update),
        "Namespace": (cluster_kinds.validate_namespace, cluster_kinds.validate_namespace_update),
        "ServiceAccount": (
            cluster_kinds.validate_service_account,
            cluster_kinds.validate_service_account_update,
        ),
        "ResourceQuota": (limits.validate_resource_quota, limits.validate_resource_quota_update),
        "LimitRange": (limits.validate_limit_range, limits.validate_limit_range_update),
        "Node": (cluster_kinds.validate_node, cluster_kinds.validate_node_update),
        "PodTemplate": (cluster_kinds.validate_pod_template, cluster_kinds.validate_pod_template_update),
    },
    "apps": {
        "Deployment": (apps.validate_deployment, apps.validate_deployment_update),
        "ReplicaSet": (apps.validate_replica_set, apps.validate_replica_set_update),
        "DaemonSet": (apps.validate_daemon_set, apps.validate_daemon_set_update),
        "StatefulSet": (apps.validate_stateful_set, apps.validate_stateful_set_update),
        "ControllerRevision": (apps.validate_controller_revision, apps.validate_controller_revision_update),
    },
    "batch": {
        "Job": (batch.validate_job, batch.validate_job_update),
        "CronJob": (batch.validate_cron_job, batch.validate_cron_job_update),
    },
    "networking.k8s.io": {
        "Ingress": (networking.validate_ingress_create, networking.validate_ingress_update),
        "IngressClass": (networking.validate_ingress_class, networking.validate_ingress_class_update),
        "NetworkPolicy": (networking.validate_network_policy, networking.validate_network_policy_update),
        "ServiceCIDR": (networking.validate_service_cidr, networking.validate_service_cidr_update),
        "IPAddress": (networking.validate_ip_address, networking.validate_ip_address_update),
    },
    "discovery.k8s.io": {
        "EndpointSlice": (networking.validate_endpoint_slice, networking.validate_endpoint_slice_update),
    },
    "rbac.authorization.k8s.io": {
        "Role": (rbac.validate_role, rbac.validate_role_update),
        "ClusterRole": (rbac.validate_cluster_role, rbac.validate_cluster_role_update),
        "RoleBinding": (rbac.validate_role_binding, rbac.validate_role_binding_update),
        "ClusterRoleBinding": (rbac.validate_cluster_role_binding, rbac.validate_cluster_role_binding_update),
    },
    "autoscaling": {
        "HorizontalPodAutoscaler": (
            scaling.validate_horizontal_pod_autoscaler,
            scaling.validate_horizontal_pod_autoscaler_update,
        ),
    },
    "policy": {
        "PodDisruptionBudget": (
            scaling.validate_pod_disruption_budget,
            scaling.validate_pod_disruption_budget_update,
        ),
    },
    "storage.k8s.io": {
        "StorageClass": (storage.validate_storage_class, storage.validate_storage_class_update),
        "CSIDriver": (storage.validate_csi_driver, storage.validate_csi_driver_update),
        "CSINode": (storage.validate_csi_node, storage.validate_csi_node_update),
        "CSIStorageCapacity": (
            storage.validate_csi_storage_capacity,
            storage.validate_csi_storage_capacity_update,
        ),
        "VolumeAttachment": (storage.validate_volume_attachment, storage.validate_volume_attachment_update),
        "VolumeAttributesClass": (
            storage.validate_volume_attributes_class,
            storage.validate_volume_attributes_class_update,
        ),
    },
    "scheduling.k8s.io": {
        "PriorityClass": (
            cluster_kinds.validate_priority_class,
            cluster_kinds.validate_priority_class_update,
        ),
    },
    "node.k8s.io": {
        "RuntimeClass": (cluster_kinds.validate_runtime_class, cluster_kinds.validate_runtime_class_update),
    },
    "coordination.k8s.io": {
        "Lease": (cluster_kinds.validate_lease, cluster_kinds.validate_lease_update),
    },
    "resource.k8s.io": {
        "ResourceClaim": (
            cluster_kinds.validate_resource_claim,
            cluster_kinds.validate_resource_claim_update,
        ),
        "ResourceClaimTemplate": (
            cluster_kinds.validate_resource_claim_template,
            cluster_kinds.validate_resource_claim_template_update,
        ),
    },
    "apiextensions.k8s.io": {
        "CustomResourceDefinition": (
            extensions.validate_custom_resource_definition,
            extensions.validate_custom_resource_definition_update,
        ),
    },
    "apiregistration.k8s.io": {
        "APIService": (extensions.validate_api_service, extensions.validate_api_service_update),
    },
    "admissionregistration.k8s.io": {
        "ValidatingWebhookConfiguration": (
            extensions.validate_webhook_configuration,
            extensions.validate_webhook_configuration_update,
        ),
        "MutatingWebhookConfiguration": (
            extensions.validate_webhook_configuration,
            extensions.validate_webhook_configuration_update,
        ),
    },
}
# Kinds whose names need not be DNS names.
_NAME_VALIDATION: Final[dict[tuple[str, str], names.NameForm]] = {
    ("certificates.k8s.io", "CertificateSigningRequest"): names.path_segment,
    ("certificates.k8s.io", "ClusterTrustBundle"): names.path_segment,
    ("coordination.k8s.io", "LeaseCandidate"): names.config_key,
}
# Access and token reviews are answered but not stored; they have neither name nor metadata.
_REVIEW_GROUPS: Final = frozenset({"authorization.k8s.io", "authentication.k8s.io"})


def problems_on_create(obj: Object) -> tuple[FieldProblem, ...]:
    """Problems of a new object, whose defaults are already set."""
    group_kind = _group_kind(obj)
    if group_kind[0] in _REVIEW_GROUPS:
        return ()
    obj = _as_stored(obj, group_kind)
    checks = _checks_of(group_kind)
    early = _allocation_problems(None, obj, group_kind)
    if early:
        return early
    form = _NAME_VALIDATION.get(group_kind, names.dns_subdomain)
    problems = tuple(checks[0](obj) if checks else metadata.validate_object_meta_accessor(obj, form))
    # The checks of all kinds run only if those of the kind find nothing.
    return (
        problems
        or tuple(metadata.validate_object_meta_accessor(obj, names.path_segment))
        or _admission_problems(None, obj, group_kind)
    )


def problems_on_update(old: Object, new: Object) -> tuple[FieldProblem, ...]:
    """Problems of a change from the stored object `old` to `new`."""
    group_kind = _group_kind(old)  # an update cannot change the kind
    if group_kind[0] in _REVIEW_GROUPS:
        return ()
    old, new = _as_stored(old, group_kind), _as_stored(new, group_kind)
    checks = _checks_of(group_kind)
    early = _allocation_problems(old, new, group_kind)
    if early:
        return early
    common = tuple(metadata.validate_before_update(old, new))
    if checks is None:
        return common + tuple(metadata.validate_object_meta_accessor_update(old, new))
    return common + tuple(checks[1](old, new)) or _admission_problems(old, new, group_kind)


def _checks_of(group_kind: tuple[str, str]) -> _Checks | None:
    group, kind = group_kind
    return _CHECKS.get(group, {}).get(kind)


def _allocation_problems(
    old: Object | None, new: Object, group_kind: tuple[str, str]
) -> tuple[FieldProblem, ...]:
    if group_kind != ("", "Service"):
        return ()
    return tuple(services.validate_service_allocation(old, new))


def _admission_problems(
    old: Object | None, new: Object, group_kind: tuple[str, str]
) -> tuple[FieldProblem, ...]:
    if group_kind != ("", "Namespace"):
        return ()
    return tuple(cluster_kinds.validate_pod_security_labels(old, new))


def _as_stored(obj: Object, group_kind: tuple[str, str]) -> Object:
    match group_kind:
        case ("", "Secret"):
            return config.with_string_data(obj)
        case ("", "Service"):
            return services.normalize_cluster_ips(obj)
        case _:
            return obj


def _group_kind(obj: Object) -> tuple[str, str]:
    version = text(obj.get("apiVersion"))
    return (version.partition("/")[0] if "/" in version else "", text(obj.get("kind")))
