"""Failures on the way from a repository to manifests: what `repo-server` could not do."""

from __future__ import annotations

from enum import StrEnum

from whysync.messages.failure import Failure, Network, Peer


class AuthMethod(StrEnum):
    SSH = "ssh"
    HTTPS = "https"
    APP = "app"
    UNTOLD = ""


class RepoAuthFailed(Failure, frozen=True, kw_only=True):
    url: str = ""
    user: str = ""
    method: AuthMethod = AuthMethod.UNTOLD
    detail: str = ""


class RepoUnreachable(Failure, frozen=True, kw_only=True):
    """`reason` NOT_FOUND also covers a repository that hides itself from the wrong credentials."""

    host: str = ""
    url: str = ""
    reason: Network = Network.UNTOLD
    detail: str = ""


class Distrust(StrEnum):
    UNKNOWN_AUTHORITY = "unknown-authority"
    EXPIRED = "expired"
    NOT_YET_VALID = "not-yet-valid"
    WRONG_HOST = "wrong-host"
    HOST_KEY_UNKNOWN = "host-key-unknown"
    HOST_KEY_CHANGED = "host-key-changed"
    OTHER = "other"


class TlsUntrusted(Failure, frozen=True, kw_only=True):
    host: str = ""
    reason: Distrust = Distrust.OTHER
    peer: Peer = Peer.UNTOLD


class RevisionNotFound(Failure, frozen=True, kw_only=True):
    """`revision` is what was asked for; `chart` and `constraint` where it was one of these."""

    revision: str = ""
    constraint: str = ""
    chart: str = ""
    repo: str = ""
    ambiguous: bool = False


class RepoCopyBroken(Failure, frozen=True, kw_only=True):
    """The copy of the repository that `repo-server` keeps is locked or damaged."""

    detail: str = ""


class PathNotFound(Failure, frozen=True, kw_only=True):
    path: str = ""
    detail: str = ""


class SourceSpecInvalid(Failure, frozen=True, kw_only=True):
    """The Application's source or destination does not make sense as written."""

    detail: str = ""


class HelmRender(Failure, frozen=True, kw_only=True):
    """`value_path` as the template writes it (`.Values.image.tag`); `function` is `required`, `fail`, …"""

    template: str = ""
    line: int | None = None
    column: int | None = None
    value_path: str = ""
    values_file: str = ""
    function: str = ""
    chart: str = ""
    detail: str = ""


class HelmDependency(Failure, frozen=True, kw_only=True):
    chart: str = ""
    repo: str = ""
    version: str = ""
    detail: str = ""


class KustomizeBuild(Failure, frozen=True, kw_only=True):
    path: str = ""
    missing_file: str = ""
    patch_target: str = ""
    duplicate_id: str = ""
    remote: str = ""
    detail: str = ""


class PluginFailed(Failure, frozen=True, kw_only=True):
    plugin: str = ""
    detail: str = ""


class JsonnetFailed(Failure, frozen=True, kw_only=True):
    file: str = ""
    line: int | None = None
    detail: str = ""


class InvalidYaml(Failure, frozen=True, kw_only=True):
    file: str = ""
    line: int | None = None
    detail: str = ""


class GenerationTimeout(Failure, frozen=True, kw_only=True):
    """`command` is the tool that was cut off, empty where only the call to `repo-server` timed out."""

    command: str = ""
    after: str = ""


class SourceIntegrity(Failure, frozen=True, kw_only=True):
    revision: str = ""
    detail: str = ""


class HydratorFailed(Failure, frozen=True, kw_only=True):
    app: str = ""
    branch: str = ""
    detail: str = ""
