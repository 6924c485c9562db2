"""`Family`: the component or step that failed, for messages whose exact reason is not known.

`EVENT_FAMILIES` maps reasons of Warning events to families: those of the scheduler, the kubelet, the
controllers of Kubernetes 1.36, cert-manager, External Secrets, and ingress and load balancer controllers.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class Family(StrEnum):
    # reading a source
    GIT = "git"
    SUBMODULE = "submodule"
    REVISION = "revision"
    REPO_COPY = "repo-copy"
    SIGNATURE = "signature"
    REPOSITORY = "repository"
    REPOSITORY_ACCESS = "repository-access"
    REPOSITORY_NETWORK = "repository-network"
    REPO_RATE_LIMIT = "repository-rate-limit"
    HELM_TEMPLATE = "helm-template"
    HELM_DEPENDENCY = "helm-dependency"
    KUSTOMIZE = "kustomize"
    JSONNET = "jsonnet"
    PLUGIN = "plugin"
    HYDRATOR = "hydrator"
    CACHED = "cached"
    GENERATION_TIMEOUT = "generation-timeout"
    SPEC_URL = "spec-url"
    SOURCE_FILES = "source-files"
    MANIFESTS = "manifests"
    UNWRAPPED = "unwrapped"
    # Argo CD itself
    OWN_PROCESS = "own-process"
    SETTINGS = "settings"
    OWN_STATE = "own-state"
    CREDENTIAL_SECRET = "credential-secret"
    SECRET_MALFORMED = "secret-malformed"
    ARGOCD_PERMISSION = "argocd-permission"
    LOGIN = "login"
    HEALTH_CONVERSION = "health-conversion"
    SCHEME = "scheme"
    DIFF = "diff"
    OWN_STATUS = "own-status"
    OWN_CACHE = "own-cache"
    OWN_PANIC = "own-panic"
    REPO_SERVER_PANIC = "repo-server-panic"
    OWN_START = "own-start"
    OWN_KUBECTL = "own-kubectl"
    OWN_INIT = "own-init"
    KEYRING = "keyring"
    SHARDS = "shards"
    REFRESH = "refresh"
    GIT_WEBHOOK = "git-webhook"
    WAITED = "waited"
    HEALTH_CHANGE = "health-change"
    APPLICATION_SET = "application-set"
    # the destination cluster
    CLUSTER = "cluster"
    CLUSTER_CONFIG = "cluster-config"
    CLUSTER_LOGIN = "cluster-login"
    API_SERVER = "api-server"
    AGGREGATED_API = "aggregated-api"
    WATCH = "watch"
    CRD_HANDLER = "crd-handler"
    # applying
    ADMISSION = "admission"
    INVALID_MANIFEST = "invalid-manifest"
    PERMISSION = "permission"
    CONFLICT = "conflict"
    TOO_LARGE = "too-large"
    DELETION = "deletion"
    PRUNING = "pruning"
    VALIDATION = "validation"
    # events
    SCHEDULING = "scheduling"
    VOLUME = "volume"
    IMAGE = "image"
    CONTAINER_START = "container-start"
    CONTAINER_STOP = "container-stop"
    DEPENDENCY = "dependency"
    CONTAINER_RESTARTS = "container-restarts"
    PROBE = "probe"
    MEMORY = "memory"
    WORKLOAD = "workload"
    LOAD_BALANCER = "load-balancer"
    INGRESS = "ingress"
    OPERATOR = "operator"


_REASONS: dict[Family, str] = {
    Family.SCHEDULING: """
        FailedScheduling FailedScaleUp NotTriggerScaleUp SchedulingGated SchedulerError
        Unschedulable NodeAffinity NodeSelectorMismatching OutOfcpu
        OutOfmemory OutOfpods OutOfephemeral-storage InsufficientFreeCPU InsufficientFreeMemory
        HostPortConflict UnexpectedAdmissionError TopologyAffinityError NodeNotSchedulable""",
    Family.VOLUME: """
        FailedMount FailedAttachVolume FailedMapVolume FailedMountOnFilesystemMismatch
        ProvisioningFailed ProvisioningCleanupFailed FailedBinding VolumeResizeFailed ExternalExpanding
        FileSystemResizeFailed ClaimLost ClaimMisbound VolumeConditionAbnormal AlreadyMountedVolume
        VolumeMismatch VolumeAttachmentLimitExceeded VolumePermissionChangeInProgress VolumeFailedDelete
        VolumeFailedRecycle VolumeUnknownReclaimPolicy MultipleSELinuxLabels""",
    Family.IMAGE: """
        ErrImagePull ImagePullBackOff ErrImageNeverPull InspectFailed ImageInspectError InvalidImageName
        RegistryUnavailable SignatureValidationFailed FailedToRetrieveImagePullSecret""",
    Family.CONTAINER_START: """
        Failed FailedCreatePodSandBox FailedPodSandBoxStatus FailedCreatePodContainer
        CreateContainerConfigError CreateContainerError RunContainerError FailedPostStartHook
        FailedToMakePodDataDirectories NetworkNotReady FailedSync FailedValidation
        SysctlForbidden InvalidEnvironmentVariableNames StartError
        ContainerCannotRun PreCreateHookError PreStartHookError PostStartHookError CreatePodSandboxError
        ConfigPodSandboxError AppArmor PodOSNotSupported
        FailedPrepareDynamicResources FailedResourceClaimCreation FailedNodeDeclaredFeaturesCheck""",
    Family.CONTAINER_STOP: "FailedPreStopHook FailedKillPod ExceededGracePeriod KillPodSandboxError",
    Family.CONTAINER_RESTARTS: "BackOff CrashLoopBackOff",
    Family.PROBE: "Unhealthy ProbeWarning ProbeError",
    Family.MEMORY: "OOMKilling OOMKilled SystemOOM",
    Family.WORKLOAD: """
        FailedCreate FailedDelete FailedUpdate FailedDaemonPod ReplicaSetCreateError SelectorOverlap
        ReplicaSetNotFound DeploymentRollbackRevisionNotFound ProgressDeadlineExceeded
        BackoffLimitExceeded DeadlineExceeded FailedJob PodFailurePolicy TooManyActivePods UnexpectedJob
        MissSchedule TooManyMissedTimes UnparseableSchedule UnParseableCronJobSchedule
        UnknownTimeZone InvalidSchedule FailedPlacement SelectingAll ConflictingController
        RecreatingFailedPod RecreatingTerminatedPod Preempted Evicted EvictionThresholdMet
        TaintManagerEviction Preempting NodeNotReady
        NodeControllerEviction FailedGetScale FailedRescale FailedGetResourceMetric
        FailedGetContainerResourceMetric FailedGetPodsMetric FailedGetObjectMetric FailedGetExternalMetric
        FailedComputeMetricsReplicas FailedConvertHPA InvalidMetricSourceType InvalidTargetRange
        InvalidSelector SelectorRequired AmbiguousSelector CalculateExpectedPodCountFailed FailedToScaleUp
        RolloutAborted AnalysisRunFailed AnalysisRunError InvalidSpec ClusterIPAlreadyAllocated
        ClusterIPOutOfRange ClusterIPNotValid ServiceCIDRFull PortAlreadyAllocated PortOutOfRange
        PortRangeFull FailedToListPods FailedToListEndpointSlices FailedToUpdateEndpointSlices
        FailedToCreateEndpoint FailedToUpdateEndpoint FailedUpdateStatus NoPods UnmanagedPods NotDeleted
        MultiplePodDisruptionBudgets FailedGet UnknownStrategy UnknownCompletionMode TooManySucceededPods
        FailedWorkloadCompilation FailedWorkloadCreate ResizeError CertificateExpired
        CertificateOverdueForRefresh MissingClusterDNS""",
    Family.LOAD_BALANCER: """
        SyncLoadBalancerFailed CreatingLoadBalancerFailed UpdateLoadBalancerFailed
        DeletingLoadBalancerFailed DeleteLoadBalancerFailed UnAvailableLoadBalancer
        UnavailableLoadBalancer AllocationFailed LoadBalancerUpdateFailed""",
    Family.INGRESS: """
        FailedLoadGroupID FailedBuildModel FailedDeployModel FailedAddFinalizer FailedReconcile
        TranslationError Translate Rejected AddedOrUpdatedWithError UpdatedWithError ListenerNotReady
        NoMatchingListenerHostname BackendNotFound InvalidIngressClass""",
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
