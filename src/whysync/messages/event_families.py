"""The family of each event reason that Kubernetes and common operators give to Warning events.

Reasons are those of the scheduler, the kubelet, the controllers of Kubernetes 1.36, cert-manager, External
Secrets, and ingress and load balancer controllers.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from whysync.messages.family import Family

_REASONS: dict[Family, str] = {
    Family.SCHEDULING: """
        FailedScheduling Preempted NotTriggerScaleUp NodeAffinity NodeSelectorMismatching OutOfcpu
        OutOfmemory OutOfpods OutOfephemeral-storage InsufficientFreeCPU InsufficientFreeMemory
        HostPortConflict UnexpectedAdmissionError TopologyAffinityError NodeNotSchedulable""",
    Family.VOLUME: """
        FailedMount FailedAttachVolume FailedMapVolume FailedMountOnFilesystemMismatch
        FailedPrepareDynamicResources ProvisioningFailed FailedBinding VolumeResizeFailed
        FileSystemResizeFailed ClaimLost ClaimMisbound VolumeConditionAbnormal AlreadyMountedVolume
        VolumeMismatch""",
    Family.IMAGE: """
        ErrImagePull ImagePullBackOff ErrImageNeverPull InspectFailed ImageInspectError InvalidImageName
        RegistryUnavailable SignatureValidationFailed FailedToRetrieveImagePullSecret""",
    Family.CONTAINER_START: """
        Failed FailedCreatePodSandBox FailedPodSandBoxStatus FailedCreatePodContainer
        CreateContainerConfigError CreateContainerError RunContainerError FailedPostStartHook
        FailedPreStopHook FailedToMakePodDataDirectories NetworkNotReady FailedSync FailedValidation
        FailedKillPod ExceededGracePeriod SysctlForbidden InvalidEnvironmentVariableNames""",
    Family.CONTAINER_RESTARTS: "BackOff CrashLoopBackOff",
    Family.PROBE: "Unhealthy ProbeWarning ProbeError",
    Family.MEMORY: "OOMKilling OOMKilled SystemOOM",
    Family.WORKLOAD: """
        FailedCreate FailedDelete FailedUpdate FailedDaemonPod ReplicaSetCreateError SelectorOverlap
        ReplicaSetNotFound DeploymentRollbackRevisionNotFound ProgressDeadlineExceeded
        BackoffLimitExceeded DeadlineExceeded FailedJob PodFailurePolicy TooManyActivePods UnexpectedJob
        MissSchedule TooManyMissedTimes UnparseableSchedule InvalidSchedule RecreatingFailedPod
        RecreatingTerminatedPod Evicted EvictionThresholdMet TaintManagerEviction Preempting NodeNotReady
        NodeControllerEviction FailedGetScale FailedRescale FailedGetResourceMetric
        FailedGetContainerResourceMetric FailedGetPodsMetric FailedGetObjectMetric FailedGetExternalMetric
        FailedComputeMetricsReplicas FailedConvertHPA InvalidMetricSourceType InvalidTargetRange
        InvalidSelector SelectorRequired AmbiguousSelector CalculateExpectedPodCountFailed FailedToScaleUp
        RolloutAborted AnalysisRunFailed AnalysisRunError InvalidSpec""",
    Family.LOAD_BALANCER: """
        SyncLoadBalancerFailed CreatingLoadBalancerFailed UpdateLoadBalancerFailed
        DeletingLoadBalancerFailed UnAvailableLoadBalancer UnavailableLoadBalancer AllocationFailed
        LoadBalancerUpdateFailed PortAlreadyAllocated PortOutOfRange ClusterIPNotAllocated
        ClusterIPOutOfRange""",
    Family.INGRESS: """
        FailedBuildModel FailedDeployModel FailedAddFinalizer FailedReconcile TranslationError Translate
        Rejected AddedOrUpdatedWithError UpdatedWithError ListenerNotReady NoMatchingListenerHostname
        BackendNotFound InvalidIngressClass""",
    Family.OPERATOR: """
        ErrInitIssuer ErrVerifyACMEAccount ErrRegisterACMEAccount ErrGetKeyPair ErrParsingCert BadConfig
        IssuerNotFound IssuerNotReady OrderFailed PresentError CertificateRequestFailed Denied
        RequestError CertificateError UpdateFailed InvalidProviderConfig ValidationFailed InvalidStoreRef
        ErrUnsealFailed SecretSyncError ReconcileError ReconcileFailed ReconciliationFailed InstallFailed
        UpgradeFailed InstallationFailed DependencyNotReady CannotConnectToProvider
        CannotObserveExternalResource CannotCreateExternalResource CannotUpdateExternalResource
        CannotResolveResourceReferences PolicyViolation KEDAScalerFailed ScaledObjectCheckFailed
        ScaleTargetNotFound TriggerAuthenticationFailed""",
}

EVENT_FAMILIES: Mapping[str, Family] = MappingProxyType(
    {reason: family for family, reasons in _REASONS.items() for reason in reasons.split()}
)
