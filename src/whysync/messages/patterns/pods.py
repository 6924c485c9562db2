"""Events, container states and the conditions of workloads."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from whysync.messages.failure import NO_OBJECT_NAME, Failure, ObjectName
from whysync.messages.object_names import named_object
from whysync.messages.pattern import Context, Pattern, compiled, fill, group_text, number


class DependencyMissing(Failure, frozen=True, kw_only=True):
    """`key`: the object exists, but lacks this entry; `referrer` is the object or volume that uses it."""

    kind: str = ""
    name: str = ""
    namespace: str = ""
    key: str = ""
    referrer: str = ""


class PullProblem(StrEnum):
    NOT_FOUND = "not-found"
    UNAUTHORIZED = "unauthorized"
    TOO_MANY_REQUESTS = "toomanyrequests"
    UNREACHABLE = "unreachable"
    TLS = "tls"
    INVALID_NAME = "invalid-name"
    PLATFORM = "platform"
    NEVER_PULLED = "never-pulled"
    UNKNOWN = ""


class ImagePull(Failure, frozen=True, kw_only=True):
    image: str = ""
    reason: PullProblem = PullProblem.UNKNOWN
    detail: str = ""


class CrashLoop(Failure, frozen=True, kw_only=True):
    container: str = ""
    pod: str = ""
    namespace: str = ""


class ContainerExited(Failure, frozen=True, kw_only=True):
    container: str = ""
    code: int | None = None


class OomKilled(Failure, frozen=True, kw_only=True):
    container: str = ""


class Unschedulable(Failure, frozen=True, kw_only=True):
    """`reasons`: each reason with the number of nodes it applies to (0 if the text has no number)."""

    nodes: int | None = None
    reasons: tuple[tuple[str, int], ...] = ()


class FailedMount(Failure, frozen=True, kw_only=True):
    volume: str = ""
    detail: str = ""

    @property
    def attached_elsewhere(self) -> bool:
        """Another node still has a volume that only one node can use."""
        return "Multi-Attach" in self.text

    @property
    def is_summary(self) -> bool:
        """Is it the kubelet's list of pending volumes? The reason is then in another event, if any."""
        return self.detail.startswith(",")

    @property
    def waits_for_cache(self) -> bool:
        """The kubelet's cache of ConfigMaps and Secrets is not filled yet; it tries again."""
        return "failed to sync " in self.detail

    @property
    def missing_kind(self) -> str:
        """`ConfigMap` or `Secret`: the kind of the volume's own object, if that does not exist."""
        missing = compiled(
            r"(?i)\b(?:(?P<secret>secrets?)|configmaps?)\b.{0,300}(?:not found|does not exist)"
            r"|references non-existent (?:(?P<of_secret>secret)|config) key"
        ).search(self.detail)
        if missing is None:
            return self._missing_kind_if_cut
        return "Secret" if missing["secret"] or missing["of_secret"] else "ConfigMap"

    @property
    def _missing_kind_if_cut(self) -> str:
        """Of a text that ends before `not found`: no other reason of the kubelet begins with a kind."""
        begun = compiled(r"(?P<word>[a-z]{4,9})(?: \"[^\"]{0,253}\"?[not fu]{0,9})?").fullmatch(self.detail)
        kinds = ("Secret", "ConfigMap") if begun is not None else ()
        return next((kind for kind in kinds if begun and kind.lower().startswith(begun["word"])), "")

    @property
    def used_by(self) -> str:
        """The name of the only Pod that still uses the volume; empty if there are several."""
        used = compiled(r"already used by pod\(s\) ([a-z0-9.-]{1,253})(?![\w, .-]*,)").search(self.detail)
        return used[1] if used else ""


class BudgetWithoutDisruptions(Failure, frozen=True, kw_only=True):
    """The Pods of a PodDisruptionBudget are just enough. Only Argo CD 2.13.0 reports that as Degraded."""


class DefinitionNotEstablished(Failure, frozen=True, kw_only=True):
    """The API server does not serve the kind yet. Argo CD 3.0 to 3.4 report that as Degraded.

    Later versions do so only if the reason is another one than the installation.
    """


class ProbeFailed(Failure, frozen=True, kw_only=True):
    probe: str = ""
    container: str = ""
    detail: str = ""

    @property
    def restarts(self) -> bool:
        """Is it the kubelet's event that it restarts the container, not that of a single failed probe?"""
        return "will be restarted" in self.text

    @property
    def is_refused(self) -> bool:
        """Nothing listens on the port of the probe."""
        return "refused" in self.detail

    @property
    def is_slow(self) -> bool:
        """The program did not answer within timeoutSeconds."""
        return any(words in self.detail for words in ("deadline exceeded", "Client.Timeout", "timed out"))

    @property
    def status(self) -> int:
        """The HTTP status that the program answered with; 0 if none."""
        answered = compiled(r"statuscode: (\d{3})").search(self.detail)
        return int(answered[1]) if answered else 0


class ContainerConfigInvalid(Failure, frozen=True, kw_only=True):
    """The container cannot be created: a missing key, root with runAsNonRoot, an invalid command."""

    detail: str = ""

    @property
    def runs_as_root(self) -> bool:
        """Does the image run as root, which runAsNonRoot forbids?"""
        return "runAsNonRoot and image" in self.detail


class SandboxFailed(Failure, frozen=True, kw_only=True):
    detail: str = ""


def is_claim_unbound(text: str) -> bool:
    """Does the scheduler wait for a claim that is not bound to a volume, or whose volume is lost?"""
    return "unbound immediate PersistentVolumeClaim" in text or bool(_LOST_CLAIM.search(text))


_LOST_CLAIM: Final = re.compile(
    r'persistentvolumeclaim "[^"]{1,253}" (?:bound to non-existent persistentvolume|is being deleted)'
)


class Evicted(Failure, frozen=True, kw_only=True):
    """`resource` is what the node is low on; `container` used more of it than it requests."""

    detail: str = ""
    resource: str = ""
    container: str = ""
    used: str = ""
    requested: str = ""


class ProgressDeadline(Failure, frozen=True, kw_only=True):
    resource: ObjectName = NO_OBJECT_NAME


class RolloutUnfinished(Failure, frozen=True, kw_only=True):
    detail: str = ""


class AnalysisFailed(Failure, frozen=True, kw_only=True):
    """A metric of an AnalysisRun of Argo Rollouts; the Rollout is aborted, or waits for a decision."""

    metric: str = ""
    detail: str = ""


class BackoffLimitExceeded(Failure, frozen=True, kw_only=True):
    """A Job whose pods failed as often as it allows."""


class DeadlineExceeded(Failure, frozen=True, kw_only=True):
    """A Job that ran longer than its `activeDeadlineSeconds`."""


class VolumePending(Failure, frozen=True, kw_only=True):
    """`first_consumer`: the volume is created when a Pod uses it (`WaitForFirstConsumer`)."""

    provisioner: str = ""
    first_consumer: bool = False
    detail: str = ""


class MetricsUnavailable(Failure, frozen=True, kw_only=True):
    """An autoscaler cannot compute the number of replicas.

    `container` and `pod` are the first without a request for the resource that it scales by.
    """

    resource: str = ""
    container: str = ""
    pod: str = ""
    detail: str = ""


class LoadBalancerFailed(Failure, frozen=True, kw_only=True):
    detail: str = ""


_KINDS = {
    "secret": "Secret",
    "secrets": "Secret",
    "configmap": "ConfigMap",
    "configmaps": "ConfigMap",
    "serviceaccount": "ServiceAccount",
    "serviceaccounts": "ServiceAccount",
    "persistentvolumeclaim": "PersistentVolumeClaim",
    "persistentvolumeclaims": "PersistentVolumeClaim",
    "storageclass.storage.k8s.io": "StorageClass",
    "storageclasses.storage.k8s.io": "StorageClass",
    "ingressclass.networking.k8s.io": "IngressClass",
    "priorityclass.scheduling.k8s.io": "PriorityClass",
    "priorityclasses.scheduling.k8s.io": "PriorityClass",
    "runtimeclass.node.k8s.io": "RuntimeClass",
    "issuer.cert-manager.io": "Issuer",
    "clusterissuer.cert-manager.io": "ClusterIssuer",
    "secretstore.external-secrets.io": "SecretStore",
    "clustersecretstore.external-secrets.io": "ClusterSecretStore",
    "ingressclasses.networking.k8s.io": "IngressClass",
    "secretproviderclass.secrets-store.csi.x-k8s.io": "SecretProviderClass",
    "service": "Service",
    "services": "Service",
}

_PULL: tuple[tuple[str, PullProblem], ...] = (
    ("toomanyrequests", PullProblem.TOO_MANY_REQUESTS),
    ("too many requests", PullProblem.TOO_MANY_REQUESTS),
    ("429", PullProblem.TOO_MANY_REQUESTS),
    ("no match for platform", PullProblem.PLATFORM),
    ("no matching manifest for", PullProblem.PLATFORM),
    ("x509:", PullProblem.TLS),
    ("server gave HTTP response to HTTPS client", PullProblem.TLS),
    ("pull access denied", PullProblem.UNAUTHORIZED),
    ("unauthorized", PullProblem.UNAUTHORIZED),
    ("Unauthorized", PullProblem.UNAUTHORIZED),
    ("no basic auth credentials", PullProblem.UNAUTHORIZED),
    ("authorization failed", PullProblem.UNAUTHORIZED),
    ("403 Forbidden", PullProblem.UNAUTHORIZED),
    ("denied:", PullProblem.UNAUTHORIZED),
    ("authentication required", PullProblem.UNAUTHORIZED),
    ("manifest unknown", PullProblem.NOT_FOUND),
    ("not found", PullProblem.NOT_FOUND),
    ("does not exist", PullProblem.NOT_FOUND),
    ("couldn't parse image", PullProblem.INVALID_NAME),
    ("InvalidImageName", PullProblem.INVALID_NAME),
    ("invalid reference format", PullProblem.INVALID_NAME),
    ("is not present with pull policy of Never", PullProblem.NEVER_PULLED),
    ("ErrImageNeverPull", PullProblem.NEVER_PULLED),
    ("no such host", PullProblem.UNREACHABLE),
    ("i/o timeout", PullProblem.UNREACHABLE),
    ("connection refused", PullProblem.UNREACHABLE),
    ("deadline exceeded", PullProblem.UNREACHABLE),
)


def image_pull(match: re.Match[str], context: Context) -> Failure:
    text = context.text[:8192]
    image = group_text(match, "image")
    if not image and (quoted := compiled(r'(?:image|reference) "(?P<image>[^"]{1,300})"').search(text)):
        image = quoted["image"]
    return ImagePull(text=context.text, image=image, reason=pull_problem(text), detail=text)


def pull_problem(text: str) -> PullProblem:
    """Why an image could not be pulled, from the message of a failed pull."""
    return next((problem for phrase, problem in _PULL if phrase in text), PullProblem.UNKNOWN)


def unschedulable(match: re.Match[str], context: Context) -> Failure:
    reasons: list[tuple[str, int]] = []
    body = group_text(match, "body").partition("preemption:")[0]
    for piece in re.split(r",\s+(?=\d)|[.;]\s+", body)[:30]:
        counted = compiled(r"^(?P<count>\d{1,6}) (?P<reason>.{1,300})").match(piece.strip())
        if counted:
            reasons.append((counted["reason"].rstrip(". "), int(counted["count"])))
        elif piece.strip(". "):
            reasons.append((piece.strip(". "), 0))
    return Unschedulable(text=context.text, nodes=number(match, "nodes"), reasons=tuple(reasons))


def missing(match: re.Match[str], context: Context) -> Failure | None:
    """The first object in a text that is `not found` and that others depend on."""
    for candidate in match.re.finditer(context.text[:4000]):
        if kind := _KINDS.get(group_text(candidate, "kind").lower()):
            break
    else:
        return None
    namespace, name = group_text(candidate, "namespace"), group_text(candidate, "name")
    if "/" in name:
        namespace, _, name = name.partition("/")
    elif not namespace:  # failed to get secretproviderclass shop/vault, error: … "vault" not found
        qualified = compiled(rf"\b([a-z0-9-]{{1,63}})/{re.escape(name)}[,:]").search(context.text[:2000])
        namespace = qualified[1] if qualified else ""
    forbidden = compiled(
        r'(?P<plural>[a-z]{2,60})(?:\.[a-z0-9.-]{1,200})? "(?P<name>[^"]{1,253})" is forbidden'
    ).search(context.text[:2000])
    volume = compiled(r'for volume "(?P<volume>[^"]{1,253})"').search(context.text[:2000])
    if forbidden:
        referrer = f"{forbidden['plural']} {forbidden['name']}"
    else:
        referrer = f"volume {volume['volume']}" if volume else ""
    return DependencyMissing(text=context.text, kind=kind, name=name, namespace=namespace, referrer=referrer)


FIRST: tuple[Pattern, ...] = (
    # Before the patterns for pulls, which also match "not found".
    Pattern(
        "error looking up service account",
        r"error looking up service account (?P<namespace>[\w.-]{1,253})/"
        r"(?P<name>[\w.-]{1,253}): (?P<kind>serviceaccount) ",
        missing,
    ),
    Pattern(
        "error looking up service a",
        r"error looking up service a(?:ccount (?P<namespace>[\w.-]{1,253})/)?[^:]{0,300}$",
        lambda m, c: DependencyMissing(
            text=c.text, kind="ServiceAccount", namespace=group_text(m, "namespace")
        ),
    ),
    Pattern(
        "find key",
        r"couldn't find key (?P<key>\S{1,253}) in (?P<kind>Secret|ConfigMap) "
        r"(?P<namespace>[\w.-]{1,253})/(?P<name>[\w.-]{1,253})",
        fill(DependencyMissing),
    ),
    Pattern(
        "references non-existent",
        r"references non-existent (?:secret|config) key: (?P<key>\S{1,253})",
        fill(DependencyMissing),
    ),
    Pattern("pull", r'Failed to pull image "(?P<image>[^"]{1,300})"', image_pull),
    Pattern("Failed to pull image", r"Failed to pull image(?: (?P<image>[\w./:@-]{1,300}?))?: ", image_pull),
    Pattern("Back-off pulling image", r'Back-off pulling image "(?P<image>[^"]{1,300})"', image_pull),
    Pattern("ImagePullBackOff", r"ImagePullBackOff", image_pull),
    Pattern("ErrImagePull", r"ErrImagePull", image_pull),
    # The kubelet's response to a request for the log of a container that has not started.
    Pattern("is waiting to start", r"(?:trying and failing to pull image|image can't be pulled)", image_pull),
    Pattern("ErrImageNeverPull", r"ErrImageNeverPull", image_pull),
    Pattern(
        "Never",
        r'Container image "(?P<image>[^"]{1,300})" is not present with pull policy of Never',
        image_pull,
    ),
    Pattern("InvalidImageName", r"InvalidImageName", image_pull),
    Pattern(
        "failed to resolve reference", r'failed to resolve reference "(?P<image>[^"]{1,300})"', image_pull
    ),
    Pattern("default image tag", r'Failed to apply default image tag "(?P<image>[^"]{1,300})"', image_pull),
    Pattern(
        "failed to pull and unpack image",
        r'failed to pull and unpack image "(?P<image>[^"]{1,300})"',
        image_pull,
    ),
    Pattern(
        "nodes are available",
        r"nodes are available:.{0,200} (?P<kind>persistentvolumeclaim) "
        r"\"(?P<name>[^\"]{1,253})\" not found",
        missing,
    ),
    Pattern(
        "nodes are available", r"0/(?P<nodes>\d{1,6}) nodes are available:? ?(?P<body>.*)", unschedulable
    ),
    # The beginning was cut off.
    Pattern(
        "node(s) ",
        r"(?P<body>(?<!\d)\d{1,6} node\(s\) (?:didn't match|had|were unschedulable|didn't have|didn't satisfy"
        r"|exceed).*)",
        unschedulable,
    ),
    Pattern(
        "no nodes available to schedule", r"no nodes available to schedule pods(?P<body>)", unschedulable
    ),
    Pattern(
        "OOMKilled",
        r'(?:container "?(?P<container>[\w.-]{1,253})"? )?.{0,60}OOMKilled',
        fill(OomKilled),
    ),
    Pattern(
        "restarting failed container",
        r"restarting failed container[ =](?:\"?"
        r"(?P<container>[\w.-]{1,253}))?(?:(?: in)? pod[ =]\"?(?P<pod>[a-z0-9.-]{1,253})"
        r"(?:_(?P<namespace>[a-z0-9-]{1,63}))?)?",
        fill(CrashLoop),
    ),
    Pattern("CrashLoopBackOff", r"CrashLoopBackOff", fill(CrashLoop)),
    Pattern(
        "probe",
        r"(?P<probe>[Ll]iveness|[Rr]eadiness|[Ss]tartup) probe (?:failed|errored): (?P<detail>.*)",
        fill(ProbeFailed, probe=lambda match, _: group_text(match, "probe").lower()),
    ),
    Pattern(
        "failed ",
        r"Container (?P<container>[\w.-]{1,253}) failed (?P<probe>liveness|startup) probe",
        fill(ProbeFailed),
    ),
    Pattern(
        "reached the specified backoff limit",
        r"Job has reached the specified backoff limit",
        fill(BackoffLimitExceeded),
    ),
    Pattern("BackoffLimitExceeded", r"BackoffLimitExceeded", fill(BackoffLimitExceeded)),
    Pattern(
        "longer than specified deadline",
        r"active (?:on the node )?longer than (?:the )?specified deadline",
        fill(DeadlineExceeded),
    ),
    Pattern(
        "exceeded its progress deadline",
        r'(?P<kind>Deployment|ReplicaSet|Rollout) "'
        r'(?P<name>[^"]{1,253})" (?:exceeded its progress deadline|'
        r"has timed out progressing)",
        fill(ProgressDeadline, resource=named_object),
    ),
    Pattern(
        "has timed out progressing",
        r'(?P<kind>\w{1,63}) "(?P<name>[^"]{1,253})" has timed out progressing',
        fill(ProgressDeadline, resource=named_object),
    ),
    Pattern("ProgressDeadlineExceeded", r"ProgressDeadlineExceeded", fill(ProgressDeadline)),
    Pattern(
        "rollout to finish",
        r"[Ww]aiting for rollout to finish: (?P<detail>.*)",
        fill(RolloutUnfinished),
    ),
    Pattern(
        "minimum availability", r"does not have minimum availability", fill(RolloutUnfinished, whole="detail")
    ),
    Pattern(
        "assessed",
        r'[Mm]etric "?(?P<metric>[^"]{1,253}?)"? assessed '
        r"(?:Failed|Error|Inconclusive) due to (?P<detail>.*)",
        fill(AnalysisFailed),
    ),
    Pattern(
        "pods to be ready", r"Waiting for \d{1,6} pods to be ready", fill(RolloutUnfinished, whole="detail")
    ),
    Pattern(
        "failed with exit code",
        r'[Cc]ontainer "?(?P<container>[\w.-]{1,253})"? (?:for pod \S{1,300} )?'
        r"failed with exit code (?P<code>\d{1,5})",
        fill(ContainerExited),
    ),
    Pattern(
        "runAsNonRoot",
        r"container has runAsNonRoot and image .*",
        fill(ContainerConfigInvalid, whole="detail"),
    ),
    # The container was created; its own process reports that the kernel cannot run the program.
    Pattern("exec user process caused", r"exec user process caused", fill(CrashLoop)),
    Pattern(
        "exec format error",
        r"exec format error",
        fill(ContainerConfigInvalid, whole="detail"),
    ),
    Pattern(
        "executable file not found in",
        r"exec: .{1,300}executable file not found in .*",
        fill(ContainerConfigInvalid, whole="detail"),
    ),
    Pattern(
        "failed to create containerd task",
        r"failed to create containerd task: .*",
        fill(ContainerConfigInvalid, whole="detail"),
    ),
    Pattern(
        "failed to start container",
        r"failed to start container .*",
        fill(ContainerConfigInvalid, whole="detail"),
    ),
    Pattern(
        "OCI runtime create failed",
        r"OCI runtime create failed: .*",
        fill(ContainerConfigInvalid, whole="detail"),
    ),
    Pattern(
        "reate pod sandbox",
        r"(?:Failed to|failed to) create pod sandbox:? (?P<detail>.*)",
        fill(SandboxFailed),
    ),
    Pattern("Pod was rejected", r"Pod was rejected: .*", fill(Evicted, whole="detail")),
    Pattern(
        "low on resource",
        r"The node was low on resource: (?P<resource>[\w-]{1,60})(?:.{0,200}?\bContainer"
        r" (?P<container>[a-z0-9-]{1,63}) was using (?P<used>\w{1,30}),"
        r" request is (?P<requested>\w{1,30}))?.*",
        fill(Evicted, whole="detail"),
    ),
    Pattern(
        "ephemeral local storage usage exceeds",
        r".*ephemeral local storage usage exceeds.*",
        fill(Evicted, whole="detail"),
    ),
)

TABLE: tuple[Pattern, ...] = (
    Pattern(
        " not found",
        r"(?<![\w.-])(?P<kind>[A-Za-z]{4,60}(?:\.[a-z0-9.-]{1,200})?) \"(?P<name>[^\"]{1,253})\" not found",
        missing,
    ),
    Pattern("no such secret", r"no such (?P<kind>secret|configmap):? (?P<name>\S{1,253})", missing),
    Pattern(
        "failed to get secretproviderclass",
        r"failed to get secretproviderclass\s{1,9}(?P<namespace>[\w.-]{1,63})/"
        r"(?:(?P<name>[\w.-]{1,253}),\s{0,9}(?:not found|e?r?r?o?r?$)|[\w.-]{0,253}$)",
        lambda m, c: DependencyMissing(
            text=c.text,
            kind="SecretProviderClass",
            namespace=group_text(m, "namespace"),
            name=group_text(m, "name"),
        ),
    ),
    Pattern(
        "failed to get secretproviderclass",
        r"(?P<kind>SecretProviderClass)\S{0,100} \"(?P<name>[^\"]{1,253})\" not found",
        fill(DependencyMissing),
    ),
    Pattern(
        "no PriorityClass with name",
        r"no (?P<kind>PriorityClass) with name (?P<name>\S{1,253}) was found",
        fill(DependencyMissing),
    ),
    Pattern(
        "RuntimeClass",
        r"pod rejected: (?P<kind>RuntimeClass) \"(?P<name>[^\"]{1,253})\" not found",
        fill(DependencyMissing),
    ),
    Pattern(
        "MountVolume",
        r"MountVolume\.\w{1,40} failed for volume \"(?P<volume>[^\"]{1,253})\" ?: (?P<detail>.*)",
        fill(FailedMount),
    ),
    Pattern(
        "Unable to attach or mount volumes",
        r"Unable to attach or mount volumes: unmounted volumes=\[(?P<volume>[^\]]{1,300})\](?P<detail>.*)",
        fill(FailedMount),
    ),
    Pattern(
        "AttachVolume",
        r"AttachVolume\.\w{1,40} failed for volume \"(?P<volume>[^\"]{1,253})\" ?: (?P<detail>.*)",
        fill(FailedMount),
    ),
    Pattern(
        "Multi-Attach error",
        r"Multi-Attach error for volume \"(?P<volume>[^\"]{1,253})\" ?(?P<detail>.*)",
        fill(FailedMount),
    ),
    Pattern(
        "PodDisruptionBudget has InsufficientPods",
        r"PodDisruptionBudget has InsufficientPods",
        fill(BudgetWithoutDisruptions),
    ),
    Pattern(
        "CRD is not established",
        r"CRD is not established",
        fill(DefinitionNotEstablished),
    ),
    Pattern(
        "first consumer to be created",
        r"waiting for first consumer to be created before binding",
        fill(VolumePending, first_consumer=True),
    ),
    Pattern(
        "waiting for a volume to be created",
        r"waiting for a volume to be created, either by (?:the )?external provisioner "
        r"['\"]?(?P<provisioner>[\w./-]{1,253})?",
        fill(VolumePending),
    ),
    Pattern(
        "no persistent volumes available",
        r"no persistent volumes available for this claim.*",
        fill(VolumePending, whole="detail"),
    ),
    Pattern(
        "failed to provision volume",
        r"failed to provision volume .*",
        fill(VolumePending, whole="detail"),
    ),
    Pattern("ProvisioningFailed", r"ProvisioningFailed.*", fill(VolumePending, whole="detail")),
    Pattern(
        "missing request for",
        r"missing request for (?P<resource>[a-z0-9./-]{1,253})"
        r"(?: in container (?P<container>[a-z0-9-]{1,63}))?(?: of Pod (?P<pod>[a-z0-9.-]{1,253}))?",
        fill(MetricsUnavailable, whole="detail"),
    ),
    Pattern(
        "no pods returned by selector",
        r"no pods returned by selector",
        fill(MetricsUnavailable, whole="detail"),
    ),
    Pattern(
        "load balancer",
        r"(?:Error syncing load balancer|[Ff]ailed to ensure load balancer): (?P<detail>.*)",
        fill(LoadBalancerFailed),
    ),
    Pattern("ContainerError", r"(?:Create|Run)ContainerError", fill(ContainerConfigInvalid, whole="detail")),
    Pattern(
        "ContainerConfigError", r"CreateContainerConfigError", fill(ContainerConfigInvalid, whole="detail")
    ),
)
