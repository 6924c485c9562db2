"""The values of a parsed scenario: the initial cluster, Git, settings, and actions with their times.

All durations and times are simulated and relative to the scenario's start.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec

from whysync.json_tree import Json, Object
from whysync.kubernetes.controllers.behavior import Behavior

DEFAULT_REPO = "https://git.example.com/platform/deploy.git"


class Rendering(msgspec.Struct, frozen=True, kw_only=True):
    """What a chart or an overlay renders to: manifests as text, or the tool's error.

    With `random`, the word RANDOM is replaced by a different text on each rendering.
    """

    manifests: str = ""
    error: str = ""
    random: bool = False


class Commit(msgspec.Struct, frozen=True, kw_only=True):
    """New or changed files, deleted paths, and the rendering of paths from now on."""

    message: str = ""
    id: str = ""
    files: Mapping[str, str] = {}
    removes: tuple[str, ...] = ()
    renders: Mapping[str, Rendering] = {}


class Repo(msgspec.Struct, frozen=True, kw_only=True):
    url: str
    branch: str = "main"
    commits: tuple[Commit, ...] = ()


class Webhook(msgspec.Struct, frozen=True, kw_only=True):
    """An admission webhook: it changes or denies a request, or cannot be reached."""

    name: str
    configuration: str
    resources: tuple[str, ...]
    service: str = ""
    operations: tuple[str, ...] = ("CREATE", "UPDATE")
    namespaces: tuple[str, ...] = ()
    labels: Mapping[str, str] = {}
    changes: Json = None
    containers: tuple[Object, ...] = ()
    denies: str = ""
    unless: str = ""
    unreachable: str = ""
    ignored_when_down: bool = False

    @property
    def mutates(self) -> bool:
        return self.changes is not None or bool(self.containers)


class Writer(msgspec.Struct, frozen=True, kw_only=True):
    """A program that keeps setting fields of an object to its own values."""

    name: str
    object: str
    namespace: str
    holds: Json
    after: float = 10.0
    starts: float = 0.0


class ClusterSetup(msgspec.Struct, frozen=True, kw_only=True):
    """The initial state of the cluster."""

    objects: tuple[Object, ...] = ()
    webhooks: tuple[Webhook, ...] = ()
    writers: tuple[Writer, ...] = ()
    behavior: Behavior = Behavior()
    nodes: int = 3
    server: str = ""
    """The cluster's URL in Argo CD; by default the cluster that Argo CD runs in."""
    name: str = ""
    namespaces: tuple[str, ...] = ()
    """The only namespaces that Argo CD manages; empty means all."""


class ArgoCDSettings(msgspec.Struct, frozen=True, kw_only=True):
    version: str = "v3.6.0"
    settings: Mapping[str, Mapping[str, str]] = {}
    objects: tuple[Object, ...] = ()
    """Repository and cluster Secrets as Argo CD stores them."""


class Push(msgspec.Struct, frozen=True, kw_only=True):
    commit: Commit
    repo: str = ""
    branch: str = ""
    webhook: bool = False
    """The Git host notifies Argo CD immediately."""


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A command line."""

    command: str
    user: str = ""
    groups: tuple[str, ...] = ()
    input: tuple[Object, ...] = ()


class ChangeSettings(msgspec.Struct, frozen=True, kw_only=True):
    settings: Mapping[str, Mapping[str, str | None]]


class ChangeRepo(msgspec.Struct, frozen=True, kw_only=True):
    """A Git host becomes unreachable (with the error that Argo CD gets) or reachable again."""

    url: str
    error: str = ""


class DeleteBranch(msgspec.Struct, frozen=True, kw_only=True):
    repo: str
    branch: str


class ChangeApiServer(msgspec.Struct, frozen=True, kw_only=True):
    """The error that Argo CD gets instead of a response of the cluster; without one it works again."""

    error: str = ""


class ChangeController(msgspec.Struct, frozen=True, kw_only=True):
    """Argo CD's application controller stops or continues."""

    stopped: bool


class ChangeRendering(msgspec.Struct, frozen=True, kw_only=True):
    """A tool fails for reasons outside Git, such as an unreachable chart registry."""

    path: str
    error: str = ""


class ChangeWebhook(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    unreachable: str = ""


Act = (
    Push
    | Run
    | ChangeSettings
    | ChangeRepo
    | DeleteBranch
    | ChangeRendering
    | ChangeWebhook
    | ChangeApiServer
    | ChangeController
)


class Step(msgspec.Struct, frozen=True, kw_only=True):
    at: float
    act: Act
    note: str = ""


class ExpectedFix(msgspec.Struct, frozen=True, kw_only=True):
    """The first fix that is offered: its title, and the status of its proof.

    `why` is the gap or the assumption that the proof names.
    """

    proof: str
    why: str | None = None
    title: str | None = None


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """The expected result; fields that are `None` are not checked."""

    app: str
    gone: bool = False
    """The Application has been deleted; nothing else can be expected."""
    phase: str | None = None
    message: str | None = None
    sync: str | None = None
    health: str | None = None
    conditions: Mapping[str, str] | None = None
    cause: str | None = None
    rule: str | None = None
    about: str | None = None
    field: str | None = None
    writer: str | None = None
    root: str | None = None
    safety: str | None = None
    fix: ExpectedFix | None = None


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    title: str
    story: str
    source: str = ""
    starts: datetime
    argocd: ArgoCDSettings
    projects: tuple[Object, ...] = ()
    applications: tuple[Object, ...] = ()
    cluster: ClusterSetup
    repos: tuple[Repo, ...] = ()
    happens: tuple[Step, ...] = ()
    ends: float
    expects: tuple[Expected, ...] = ()
    text: str = ""
    origin: str = ""

    @property
    def causes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(expect.cause for expect in self.expects if expect.cause))
