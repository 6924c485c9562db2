"""Failures of pods and the workloads above them, as events, conditions and container states tell them."""

from __future__ import annotations

from enum import StrEnum

from whysync.messages.failure import NOTHING, Failure, Named


class PullProblem(StrEnum):
    NOT_FOUND = "not-found"
    UNAUTHORIZED = "unauthorized"
    TOO_MANY_REQUESTS = "toomanyrequests"
    UNREACHABLE = "unreachable"
    TLS = "tls"
    INVALID_NAME = "invalid-name"
    PLATFORM = "platform"
    NEVER_PULLED = "never-pulled"
    UNTOLD = ""


class ImagePull(Failure, frozen=True, kw_only=True):
    image: str = ""
    reason: PullProblem = PullProblem.UNTOLD
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
    """`reasons` pairs each reason with the number of nodes it rules out (0 where the text gives none)."""

    nodes: int | None = None
    reasons: tuple[tuple[str, int], ...] = ()


class FailedMount(Failure, frozen=True, kw_only=True):
    volume: str = ""
    detail: str = ""


class ProbeFailed(Failure, frozen=True, kw_only=True):
    probe: str = ""
    container: str = ""
    detail: str = ""


class ContainerConfigInvalid(Failure, frozen=True, kw_only=True):
    """The container cannot even be made: a missing key, root where none may be, a bad command."""

    detail: str = ""


class SandboxFailed(Failure, frozen=True, kw_only=True):
    detail: str = ""


class Evicted(Failure, frozen=True, kw_only=True):
    detail: str = ""


class ProgressDeadline(Failure, frozen=True, kw_only=True):
    resource: Named = NOTHING


class RolloutUnfinished(Failure, frozen=True, kw_only=True):
    detail: str = ""


class BackoffLimitExceeded(Failure, frozen=True, kw_only=True):
    """A Job whose pods failed as often as it allows."""


class DeadlineExceeded(Failure, frozen=True, kw_only=True):
    """A Job that ran longer than its `activeDeadlineSeconds`."""


class VolumePending(Failure, frozen=True, kw_only=True):
    """`provisioner` is who should make the volume; `first_consumer` when it rightly waits for a pod."""

    provisioner: str = ""
    first_consumer: bool = False
    detail: str = ""


class MetricsUnavailable(Failure, frozen=True, kw_only=True):
    """An autoscaler cannot tell how many replicas are wanted.

    Where containers ask for none of the resource it scales by, `container` and `pod` are the first such one.
    """

    resource: str = ""
    container: str = ""
    pod: str = ""
    detail: str = ""


class LoadBalancerFailed(Failure, frozen=True, kw_only=True):
    detail: str = ""
