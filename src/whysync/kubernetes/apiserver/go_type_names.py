"""Names of Go types in the errors of its decoder: many string fields have a named type.

From the types of Kubernetes 1.36, without those of status fields.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

# Struct: its fields, each with the name of its type.
_NAMED: Final = """
    PersistentVolumeSpec: accessModes PersistentVolumeAccessMode, persistentVolumeReclaimPolicy
        PersistentVolumeReclaimPolicy, volumeMode PersistentVolumeMode
    PersistentVolumeClaimSpec: accessModes PersistentVolumeAccessMode, volumeMode PersistentVolumeMode
    HostPathVolumeSource: type HostPathType
    EmptyDirVolumeSource: medium StorageMedium
    AzureDiskVolumeSource: cachingMode AzureDataDiskCachingMode, kind AzureDataDiskKind
    ContainerPort: protocol Protocol
    VolumeMount: recursiveReadOnly RecursiveReadOnlyMode, mountPropagation MountPropagationMode
    HTTPGetAction: scheme URIScheme
    ContainerResizePolicy: resourceName ResourceName, restartPolicy ResourceResizeRestartPolicy
    Capabilities: add Capability, drop Capability
    Container: restartPolicy ContainerRestartPolicy, terminationMessagePolicy TerminationMessagePolicy,
        imagePullPolicy PullPolicy
    Lifecycle: stopSignal Signal
    ResourceHealth: resourceID ResourceID, health ResourceHealthStatus
    ContainerRestartRule: action ContainerRestartRuleAction
    ContainerRestartRuleOnExitCodes: operator ContainerRestartRuleOnExitCodesOperator
    NodeSelectorRequirement: operator NodeSelectorOperator
    Taint: effect TaintEffect
    Toleration: operator TolerationOperator, effect TaintEffect
    PodReadinessGate: conditionType PodConditionType
    PodSpec: restartPolicy RestartPolicy, dnsPolicy DNSPolicy, preemptionPolicy PreemptionPolicy
    PodOS: name OSName
    TopologySpreadConstraint: whenUnsatisfiable UnsatisfiableConstraintAction, nodeAffinityPolicy
        NodeInclusionPolicy, nodeTaintsPolicy NodeInclusionPolicy
    PodSecurityContext: supplementalGroupsPolicy SupplementalGroupsPolicy, fsGroupChangePolicy
        PodFSGroupChangePolicy, seLinuxChangePolicy PodSELinuxChangePolicy
    SeccompProfile: type SeccompProfileType
    AppArmorProfile: type AppArmorProfileType
    EphemeralContainerCommon: restartPolicy ContainerRestartPolicy, terminationMessagePolicy
        TerminationMessagePolicy, imagePullPolicy PullPolicy
    LoadBalancerIngress: ipMode LoadBalancerIPMode
    ServiceSpec: type ServiceType, sessionAffinity ServiceAffinity, externalTrafficPolicy
        ServiceExternalTrafficPolicy, ipFamilies IPFamily, ipFamilyPolicy IPFamilyPolicy,
        internalTrafficPolicy ServiceInternalTrafficPolicy
    ServicePort: protocol Protocol
    EndpointPort: protocol Protocol
    AttachedVolume: name UniqueVolumeName
    NodeAddress: type NodeAddressType
    NamespaceSpec: finalizers FinalizerName
    LimitRangeItem: type LimitType
    ResourceQuotaSpec: scopes ResourceQuotaScope
    ScopedResourceSelectorRequirement: scopeName ResourceQuotaScope, operator ScopeSelectorOperator
    Secret: type SecretType
    SecurityContext: procMount ProcMountType
    ImageVolumeSource: pullPolicy PullPolicy
    StatefulSetUpdateStrategy: type StatefulSetUpdateStrategyType
    StatefulSetPersistentVolumeClaimRetentionPolicy: whenDeleted PersistentVolumeClaimRetentionPolicyType,
        whenScaled PersistentVolumeClaimRetentionPolicyType
    StatefulSetSpec: podManagementPolicy PodManagementPolicyType
    DeploymentStrategy: type DeploymentStrategyType
    DaemonSetUpdateStrategy: type DaemonSetUpdateStrategyType
    PodFailurePolicyOnExitCodesRequirement: operator PodFailurePolicyOnExitCodesOperator
    PodFailurePolicyOnPodConditionsPattern: type PodConditionType, status ConditionStatus
    PodFailurePolicyRule: action PodFailurePolicyAction
    JobSpec: completionMode CompletionMode, podReplacementPolicy PodReplacementPolicy
    CronJobSpec: concurrencyPolicy ConcurrencyPolicy
    NetworkPolicySpec: policyTypes PolicyType
    NetworkPolicyPort: protocol Protocol
    HTTPIngressPath: pathType PathType
    MetricSpec: type MetricSourceType
    ResourceMetricSource: name ResourceName
    ContainerResourceMetricSource: name ResourceName
    HPAScalingRules: selectPolicy ScalingPolicySelect
    HPAScalingPolicy: type HPAScalingPolicyType
    MetricTarget: type MetricTargetType
    PodDisruptionBudgetSpec: unhealthyPodEvictionPolicy UnhealthyPodEvictionPolicyType
    PriorityClass: preemptionPolicy PreemptionPolicy
    StorageClass: reclaimPolicy PersistentVolumeReclaimPolicy, volumeBindingMode VolumeBindingMode
    CSIDriverSpec: volumeLifecycleModes VolumeLifecycleMode, fsGroupPolicy FSGroupPolicy
    Rule: scope ScopeType
    ValidatingAdmissionPolicySpec: failurePolicy FailurePolicyType
    Validation: reason StatusReason
    ValidatingAdmissionPolicyBindingSpec: validationActions ValidationAction
    ParamRef: parameterNotFoundAction ParameterNotFoundActionType
    MatchResources: matchPolicy MatchPolicyType
    ValidatingWebhook: failurePolicy FailurePolicyType, matchPolicy MatchPolicyType, sideEffects
        SideEffectClass
    MutatingWebhook: failurePolicy FailurePolicyType, matchPolicy MatchPolicyType, sideEffects
        SideEffectClass, reinvocationPolicy ReinvocationPolicyType
    MutatingAdmissionPolicySpec: failurePolicy FailurePolicyType, reinvocationPolicy ReinvocationPolicyType
    Mutation: patchType PatchType
    RuleWithOperations: operations OperationType
    EndpointSlice: addressType AddressType
    LabelSelectorRequirement: operator LabelSelectorOperator
    ManagedFieldsEntry: operation ManagedFieldsOperationType
"""
_OF_CORE: Final = frozenset({"ResourceName"})  # `v1` also where version 2 of another group has it
_EMBEDDED: Final = (
    (re.compile(r"(?<=Probe)\.(?=(?:exec|grpc|httpGet|tcpSocket)\b)"), ".ProbeHandler."),
    (re.compile(r"(?<=\bvolumes)\.(?!name\b)"), ".VolumeSource."),
    (re.compile(r"(?<=\brules)\.(?=http\b)"), ".IngressRuleValue."),
    (re.compile(r"\b(configMap|(?:configMap|secret)(?:Key)?Ref|sources\.secret)\.name$"),
        r"\1.LocalObjectReference.name"),
)  # fmt: skip


def named_type(struct: str, field: str) -> str:
    """`v1.RestartPolicy` for a field of `core/v1.PodSpec`; empty where it is a plain string."""
    package, _, name = struct.rpartition(".")
    type_name = _table().get((name, field), "")
    version = "v1" if type_name in _OF_CORE else package.rpartition("/")[2]
    return f"{version}.{type_name}" if type_name else ""


def is_named_string(type: str) -> bool:
    return type.rpartition(".")[2] in _names()


def go_field_path(path: str) -> str:
    """The field path with the names of embedded structs, as Go's decoder prints it."""
    for pattern, instead in _EMBEDDED:
        path = pattern.sub(instead, path)
    return path


@cache
def _table() -> dict[tuple[str, str], str]:
    table: dict[tuple[str, str], str] = {}
    struct = field = ""
    for token in _NAMED.replace(",", "").split():
        if token.endswith(":"):
            struct = token[:-1]
        elif field:
            table[struct, field], field = token, ""
        else:
            field = token
    return table


@cache
def _names() -> frozenset[str]:
    return frozenset(_table().values())
