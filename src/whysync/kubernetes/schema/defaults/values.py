"""Defaults that are constants, by type.

Mirrors the `SetDefaults_*` functions of Kubernetes 1.36 that set fields to constants. A key has the types of
several versions; `spec.suspend` is a field of the struct `spec`, which is created if needed.
"""

from __future__ import annotations

from typing import Final

from whysync.json_tree import Object

_FILE_MODE: Final = 0o644
_WEBHOOK: Final[Object] = {
    "failurePolicy": "Fail",
    "matchPolicy": "Equivalent",
    "namespaceSelector": {},
    "objectSelector": {},
    "timeoutSeconds": 10,
}
_OLD_WEBHOOK: Final[Object] = {
    "failurePolicy": "Ignore",
    "matchPolicy": "Exact",
    "namespaceSelector": {},
    "objectSelector": {},
    "sideEffects": "Unknown",
    "timeoutSeconds": 30,
}

_VALUES: Final[dict[str, Object]] = {
    "core/v1.PodSpec": {
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": "Always",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
        "schedulerName": "default-scheduler",
    },
    "core/v1.HTTPGetAction": {"path": "/", "scheme": "HTTP"},
    "core/v1.ObjectFieldSelector": {"apiVersion": "v1"},
    "core/v1.SecretVolumeSource core/v1.ConfigMapVolumeSource": {"defaultMode": _FILE_MODE},
    "core/v1.DownwardAPIVolumeSource core/v1.ProjectedVolumeSource": {"defaultMode": _FILE_MODE},
    "core/v1.ServiceAccountTokenProjection": {"expirationSeconds": 3600},
    "core/v1.HostPathVolumeSource": {"type": ""},
    "core/v1.PersistentVolumeClaim": {"status.phase": "Pending"},
    "core/v1.PersistentVolumeClaimSpec": {"volumeMode": "Filesystem"},
    "core/v1.PersistentVolume": {
        "status.phase": "Pending",
        "spec.persistentVolumeReclaimPolicy": "Retain",
        "spec.volumeMode": "Filesystem",
    },
    "core/v1.Secret": {"type": "Opaque"},
    "core/v1.EndpointPort": {"protocol": "TCP"},
    "core/v1.NamespaceStatus": {"phase": "Active"},
    "apps/v1.ReplicaSet apps/v1beta2.ReplicaSet extensions/v1beta1.ReplicaSet": {"spec.replicas": 1},
    "batch/v1.CronJob batch/v1beta1.CronJob": {
        "spec.concurrencyPolicy": "Allow",
        "spec.suspend": False,
        "spec.successfulJobsHistoryLimit": 3,
        "spec.failedJobsHistoryLimit": 1,
    },
    "batch/v1.PodFailurePolicyOnPodConditionsPattern": {"status": "True"},
    "autoscaling/v1.HorizontalPodAutoscaler": {"spec.minReplicas": 1},
    "networking/v1.NetworkPolicyPort extensions/v1beta1.NetworkPolicyPort": {"protocol": "TCP"},
    "networking/v1.IngressClassParametersReference": {"scope": "Cluster"},
    "networking/v1beta1.HTTPIngressPath extensions/v1beta1.HTTPIngressPath": {
        "pathType": "ImplementationSpecific"
    },
    "rbac/v1.RoleRef rbac/v1beta1.RoleRef rbac/v1alpha1.RoleRef": {"apiGroup": "rbac.authorization.k8s.io"},
    "storage/v1.StorageClass storage/v1beta1.StorageClass": {
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "Immediate",
    },
    "storage/v1.CSIDriverSpec storage/v1beta1.CSIDriverSpec": {
        "attachRequired": True,
        "podInfoOnMount": False,
        "storageCapacity": False,
        "fsGroupPolicy": "ReadWriteOnceWithFSType",
        "requiresRepublish": False,
        "seLinuxMount": False,
    },
    "admissionregistration/v1.ValidatingWebhook": _WEBHOOK,
    "admissionregistration/v1.MutatingWebhook": {**_WEBHOOK, "reinvocationPolicy": "Never"},
    "admissionregistration/v1beta1.ValidatingWebhook": _OLD_WEBHOOK,
    "admissionregistration/v1beta1.MutatingWebhook": {**_OLD_WEBHOOK, "reinvocationPolicy": "Never"},
    "admissionregistration/v1.RuleWithOperations": {"scope": "*"},
    "admissionregistration/v1.NamedRuleWithOperations": {"scope": "*"},
    "admissionregistration/v1.ServiceReference admissionregistration/v1beta1.ServiceReference": {"port": 443},
    "admissionregistration/v1.ValidatingAdmissionPolicySpec": {"failurePolicy": "Fail"},
    "admissionregistration/v1.MutatingAdmissionPolicySpec": {"failurePolicy": "Fail"},
    "admissionregistration/v1beta1.ValidatingAdmissionPolicySpec": {"failurePolicy": "Fail"},
    "admissionregistration/v1beta1.MutatingAdmissionPolicySpec": {"failurePolicy": "Fail"},
    "admissionregistration/v1.MatchResources admissionregistration/v1beta1.MatchResources"
    " admissionregistration/v1alpha1.MatchResources": {
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
    },
    "discovery/v1.EndpointPort discovery/v1beta1.EndpointPort": {"name": "", "protocol": "TCP"},
    "flowcontrol/v1.ExemptPriorityLevelConfiguration flowcontrol/v1beta3.ExemptPriorityLevelConfiguration": {
        "nominalConcurrencyShares": 0,
        "lendablePercent": 0,
    },
    "flowcontrol/v1.LimitedPriorityLevelConfiguration"
    " flowcontrol/v1beta3.LimitedPriorityLevelConfiguration": {
        "nominalConcurrencyShares": 30,
        "lendablePercent": 0,
    },
    "scheduling/v1.PriorityClass scheduling/v1beta1.PriorityClass": {
        "preemptionPolicy": "PreemptLowerPriority"
    },
}
# Fields that are not pointers in Go: 0 and an empty list are replaced as well.
_NONZERO_VALUES: Final[dict[str, Object]] = {
    "core/v1.Probe": {
        "timeoutSeconds": 1,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": 3,
    },
    "storage/v1.CSIDriverSpec storage/v1beta1.CSIDriverSpec": {"volumeLifecycleModes": ["Persistent"]},
    "admissionregistration/v1beta1.ValidatingWebhook": {"admissionReviewVersions": ["v1beta1"]},
    "admissionregistration/v1beta1.MutatingWebhook": {"admissionReviewVersions": ["v1beta1"]},
    "flowcontrol/v1.FlowSchemaSpec flowcontrol/v1beta3.FlowSchemaSpec": {"matchingPrecedence": 1000},
    "flowcontrol/v1.QueuingConfiguration flowcontrol/v1beta3.QueuingConfiguration": {
        "handSize": 8,
        "queues": 64,
        "queueLengthLimit": 50,
    },
}

VALUES: Final = {name: values for names, values in _VALUES.items() for name in names.split()}
NONZERO_VALUES: Final = {name: values for names, values in _NONZERO_VALUES.items() for name in names.split()}
