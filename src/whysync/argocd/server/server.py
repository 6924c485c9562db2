"""Argo CD's API server: RBAC and validation of requests for Applications and projects.

Mirrors `Get`, `UpdateSpec`, `Delete`, `Sync`, `Rollback` and `TerminateOperation` of the application service,
and `Update` of the project service, Argo CD 3.6, with RBAC.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import datetime

import msgspec

from whysync.argocd.api.application import Application
from whysync.argocd.app_controller.app_registry import AppRegistry
from whysync.argocd.app_controller.context import ControllerContext
from whysync.argocd.app_controller.deletion.finalizers import Finalizers
from whysync.argocd.app_controller.trace import TraceKind
from whysync.argocd.compare.app_status import go_time
from whysync.argocd.compare.sources import has_multiple_sources, source_of
from whysync.argocd.projects import rbac_object
from whysync.argocd.rbac import Asker, Request, decide, denial_text, read_policy
from whysync.argocd.repo_server.git_url import normalize_git_url
from whysync.argocd.repo_server.repository import RepoProblem
from whysync.argocd.sync_windows.windows import can_sync, matching
from whysync.json_tree import Json, Object, dig, fields, items, text
from whysync.kubernetes.api.decode import decode


class Denied(Exception):
    """Argo CD's API server denies a request; the text is the client's error message."""

    @property
    def description(self) -> str:
        """The message without the prefix of a gRPC status."""
        return str(self).rpartition("desc = ")[2]


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    at: datetime
    app: str
    user: str
    method: str
    text: str

    @property
    def log_line(self) -> str:
        """The message in the log of argocd-server."""
        code = self.text.partition("code = ")[2].partition(" ")[0] or "Unknown"
        return (
            f'time="{go_time(self.at)}" level=warning msg="finished call" error="{self.text}" '
            f"grpc.code={code} grpc.method={self.method} "
            f"grpc.service=application.ApplicationService application={self.app} protocol=grpc"
        )


class Server:
    def __init__(self, context: ControllerContext, registry: AppRegistry) -> None:
        self._context = context
        self._registry = registry
        self.refusals: list[Refusal] = []

    def get(self, name: str, *, user: str, groups: tuple[str, ...] = ()) -> None:
        """Checks `get`; an Application that the user may not read is reported as missing."""
        with self._refusals_kept(name, user, "Get"):
            self._admit(name, "get", _asker(user, groups))

    def update(self, name: str, *, user: str, groups: tuple[str, ...] = ()) -> None:
        """Checks whether the user may change the spec."""
        with self._refusals_kept(name, user, "UpdateSpec"):
            self._admit(name, "update", _asker(user, groups))

    def update_project(self, project: str, *, user: str, groups: tuple[str, ...] = ()) -> None:
        """Checks whether the user may change the project."""
        self._enforce(Request(resource="projects", action="update", object=project), _asker(user, groups))

    def sync(self, name: str, operation: Object, *, user: str, groups: tuple[str, ...] = ()) -> None:
        with self._refusals_kept(name, user, "Sync"):
            self._sync(name, operation, _asker(user, groups))

    def terminate(self, name: str, *, user: str, groups: tuple[str, ...] = ()) -> None:
        with self._refusals_kept(name, user, "TerminateOperation"):
            self._terminate(name, _asker(user, groups))

    def prepare_deletion(
        self, name: str, propagation: str | None, *, user: str, groups: tuple[str, ...] = ()
    ) -> None:
        """Checks whether the user may delete the Application, and sets its resources finalizer.

        With `foreground` and `background` its objects are deleted too, with `None` they stay.
        """
        with self._refusals_kept(name, user, "Delete"):
            asker = _asker(user, groups)
            app = self._admit(name, "get", asker)
            self._enforce_on(app, "delete", asker)
            self._set_cascading(name, propagation)

    def webhook(self, repo_url: str, refresh: Callable[[str], None]) -> None:
        pushed = _place(repo_url)
        for name, app in list(self._registry.applications.items()):
            spec = fields(app.get("spec"))
            sources = items(spec.get("sources")) if has_multiple_sources(spec) else [source_of(spec)]
            if any(_place(text(fields(source).get("repoURL"))) == pushed for source in sources):
                refresh(name)

    # --- requests --------------------------------------------------------------------------------

    def _sync(self, name: str, operation: Object, asker: Asker) -> None:
        typed = self._admit(name, "get", asker)
        app = self._registry.applications[name]
        project = self._context.decoded_projects().get(typed.project)
        windows = matching(project.spec.sync_windows, typed) if project is not None else ()
        verdict = can_sync(windows, self._context.clock.now, manual=True)
        if verdict.error:
            raise _denied("PermissionDenied", f"cannot sync: invalid sync window: {verdict.error}")
        if not verdict.allowed:
            raise _denied("PermissionDenied", "cannot sync: blocked by sync window")
        self._enforce_on(typed, "sync", asker)
        requested_sync = fields(operation.get("sync")) if "sync" in operation else operation
        if requested_sync.get("manifests"):
            self._enforce_on(typed, "override", asker)
        spec = fields(app.get("spec"))
        policy = fields(spec.get("syncPolicy"))
        if (
            requested_sync.get("manifests")
            and _is_automated(policy)
            and requested_sync.get("dryRun") is not True
        ):
            message = "cannot use local sync when Automatic Sync Policy is enabled unless for dry run"
            raise _denied("FailedPrecondition", message)
        self._check_alive(app)
        self._check_revision(requested_sync, spec, policy)
        sync: Object = {**requested_sync}
        if has_multiple_sources(spec):
            sources = [fields(source_entry) for source_entry in items(spec["sources"])]
            revisions = [text(revision) for revision in items(requested_sync.get("revisions"))] or [""] * len(
                sources
            )
            commits: list[Json] = [
                self._commit(*pair, requested_sync) for pair in zip(sources, revisions, strict=False)
            ]
            sync |= {"sources": spec["sources"], "revisions": commits}
        else:
            source = source_of(spec)
            sync.setdefault("source", source)
            sync["revision"] = self._commit(source, text(requested_sync.get("revision")), requested_sync)
        if policy.get("syncOptions"):
            sync.setdefault("syncOptions", policy["syncOptions"])
        retry = operation.get("retry", policy.get("retry"))
        new_operation: Object = {"sync": sync, "initiatedBy": {"username": asker.subject}}
        if isinstance(retry, dict):
            new_operation["retry"] = retry
        for key in ("info",):
            if key in operation:
                new_operation[key] = operation[key]
        self._start(name, new_operation)

    def _terminate(self, name: str, asker: Asker) -> None:
        app = self._registry.applications[name]
        self._admit(name, "sync", asker)
        status = fields(app.get("status"))
        state = status.get("operationState")
        if not isinstance(app.get("operation"), dict) or not isinstance(state, dict):
            raise _denied("InvalidArgument", "Unable to terminate operation. No operation is in progress")
        ended: Object = {**status, "operationState": {**state, "phase": "Terminating"}}
        self._registry.save(name, {**app, "status": ended})

    def _start(self, name: str, operation: Object) -> None:
        """Mirrors `SetAppOperation`: the state of the last operation is cleared."""
        app = self._registry.applications[name]
        if isinstance(app.get("operation"), dict):
            inner = _denied("FailedPrecondition", "another operation is already in progress")
            raise _denied("FailedPrecondition", f"error setting app operation: {inner}")
        status = {key: value for key, value in fields(app.get("status")).items() if key != "operationState"}
        self._registry.save(name, {**app, "operation": operation, "status": status})

    def _set_cascading(self, name: str, propagation: str | None) -> None:
        app = self._registry.applications[name]
        meta = fields(app.get("metadata"))
        finalizers = Finalizers.of(app)
        if propagation is None:
            finalizers.stop_cascading()
        elif not meta.get("deletionTimestamp"):  # Kubernetes does not allow new finalizers then
            finalizers.cascade(propagation)
        finalizer_names: list[Json] = [*finalizers.names]
        if finalizer_names != items(meta.get("finalizers")):
            self._registry.save(name, {**app, "metadata": {**meta, "finalizers": finalizer_names}})

    # --- checks ----------------------------------------------------------------------------------

    def _admit(self, name: str, action: str, asker: Asker) -> Application:
        """Mirrors `getAppEnforceRBAC`: without permission, the app is reported as missing."""
        app = decode(self._registry.applications[name], Application)[0] or Application()
        if not self._may(self._on(app, action), asker):
            raise _denied("PermissionDenied", "permission denied")
        return app

    def _enforce_on(self, app: Application, action: str, asker: Asker) -> None:
        self._enforce(self._on(app, action), asker)

    def _on(self, app: Application, action: str) -> Request:
        rbac_name = rbac_object(app.project, app.namespace, app.name, self._context.namespace)
        return Request(resource="applications", action=action, object=rbac_name)

    def _may(self, request: Request, asker: Asker) -> bool:
        policy = read_policy(self._context.data("argocd-rbac-cm"))
        return decide(policy, asker, request, self._context.decoded_projects()).allowed

    def _enforce(self, request: Request, asker: Asker) -> None:
        if not self._may(request, asker):
            claims: Object = {"sub": asker.subject, "iat": self._context.clock.now.timestamp()}
            raise Denied(denial_text((request.resource, request.action, request.object), claims))

    def _check_alive(self, app: Object) -> None:
        if dig(app, "metadata", "deletionTimestamp"):
            raise _denied("FailedPrecondition", "application is deleting")

    def _check_revision(self, requested_sync: Object, spec: Object, policy: Object) -> None:
        revision = text(requested_sync.get("revision"))
        target_revision = text(source_of(spec).get("targetRevision"))
        if (
            revision
            and _is_automated(policy)
            and requested_sync.get("dryRun") is not True
            and revision != (target_revision or "HEAD")
        ):
            raise _denied(
                "FailedPrecondition",
                f"Cannot sync to {revision}: auto-sync currently set to {target_revision}",
            )

    def _commit(self, source: Object, revision: str, requested_sync: Object) -> str:
        """The current commit of a revision, without the cache."""
        if requested_sync.get("manifests"):
            return ""
        try:
            target = revision or text(source.get("targetRevision"))
            return self._context.repo_server.commit(source, target, fresh=True)
        except RepoProblem as problem:
            inner = f"rpc error: code = {problem.code} desc = {problem.message}"
            raise _denied("FailedPrecondition", f"error resolving repo revision: {inner}") from problem

    @contextmanager
    def _refusals_kept(self, name: str, user: str, method: str) -> Generator[None]:
        try:
            yield
        except Denied as problem:
            bare = name.rpartition("/")[2]
            refusal = Refusal(
                at=self._context.clock.now, app=bare, user=user, method=method, text=str(problem)
            )
            self.refusals.append(refusal)
            self._registry.trace_event(name, TraceKind.DENIED, str(problem))
            raise


def _asker(user: str, groups: tuple[str, ...]) -> Asker:
    return Asker(subject=user, groups=groups, is_token=True)


def _place(url: str) -> str:
    """Host and path, because apps may use another URL of the same repository than a webhook."""
    bare = normalize_git_url(url).partition("://")[2] or normalize_git_url(url)
    return bare.rpartition("@")[2].replace(":", "/").removesuffix(".git").lower()


def _denied(code: str, message: str) -> Denied:
    return Denied(f"rpc error: code = {code} desc = {message}")


def _is_automated(policy: Object) -> bool:
    automated = policy.get("automated")
    return isinstance(automated, dict) and automated.get("enabled") is not False
