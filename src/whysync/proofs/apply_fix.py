"""Apply a fix to a simulation as a user would: a commit, an edit, commands in their order.

Some refusals are replayed from messages because their reason is outside the simulation: a policy, an account
of another cluster. After each step, `lift_refusals` decides which of them no longer apply; what cannot be
known is a gap.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from datetime import timedelta
from enum import Enum, auto
from typing import Final

import msgspec

from whysync.argocd.server.server import Denied
from whysync.argocd.simulation.commands.actor import Actor
from whysync.argocd.simulation.commands.argocd_cli import run_argocd
from whysync.argocd.simulation.commands.command_line import BadCommand, Command, command_of
from whysync.argocd.simulation.commands.kubectl_cli import Kubectl
from whysync.diagnosis.case import Case
from whysync.diagnosis.comparison import would_be_written
from whysync.diagnosis.fix import Fix, FixKind
from whysync.fixes.edit import edited
from whysync.fixes.files import policy_edit
from whysync.fixes.patches import object_of
from whysync.json_tree import Object, copy_object, dig, fields, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Key, ref_of
from whysync.kubernetes.apiserver.rbac_authorizer import AuthorizationAttributes, is_authorized
from whysync.kubernetes.controllers.pod_control import is_ready
from whysync.messages.failure import Failure, Network
from whysync.messages.patterns.admission import AdmissionDenied, WebhookDown
from whysync.messages.patterns.apply import LimitRange, QuotaExceeded
from whysync.messages.patterns.rbac import Forbidden
from whysync.proofs.admission import Refusal
from whysync.proofs.assumed import referenced_keys
from whysync.proofs.observations import Observer
from whysync.proofs.simulated_case import SimulatedCase
from whysync.queries.commands import is_dry_run, is_read_only, without_flags, words_of
from whysync.queries.references import references_of
from whysync.queries.service_backends import is_selected

_MAX_OPERATION_TIME: Final = timedelta(minutes=10)
_ROLLOUT_TIME: Final = timedelta(minutes=1)
_REACTION_TIME: Final = timedelta(seconds=2)
_OPERATION_VERBS: Final = ("sync", "wait", "terminate-op", "confirm-deletion")
_SYNC_COMPANIONS: Final = ("get", "wait", "terminate-op")
_RBAC_KINDS: Final = frozenset({"Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"})
_UNKNOWN_VALUE: Final = "dW5rbm93bg=="


class NotExecutable(Exception):
    """The fix cannot be executed in a simulation; the text is the reason."""


class StepRefused(Exception):
    """A step of the fix is refused; the text is the error."""


def touched_by(fix: Fix, case: Case) -> frozenset[Key]:
    """The resources that the fix changes, and those that they reference with the fix."""
    target = object_of(fix, case) if fix.kind is FixKind.MANIFEST else None
    if target is None or fix.target is None:
        return frozenset()
    changed = target.with_body(edited(target.body, fix.edits))
    referenced = {(reference.kind, reference.name) for reference in references_of(changed)}
    keys = {fix.target.key, target.key}
    keys |= {
        desired_object.key
        for desired_object in case.desired
        if (desired_object.ref.kind, desired_object.ref.name) in referenced
    }
    namespaced = {key._replace(namespace=case.destination_namespace) for key in keys if not key.namespace}
    return frozenset(keys | namespaced)


class FixRunner:
    """Executes the steps of a fix. `gaps`: what was assumed; `syncs`: the fix itself includes a sync."""

    def __init__(self, watch: Observer) -> None:
        self._observer = watch
        self._world = watch.world
        self.gaps: list[str] = []
        self.syncs = False
        self.only_syncs = False

    # --- the fix ---------------------------------------------------------------------------------

    def apply(self, fix: Fix) -> None:
        """Raises `NotExecutable` and `StepRefused`."""
        if fix.commands:
            self._run(fix.commands)
            return
        case = self._world.case
        if fix.line:
            self._settings(policy_edit(fix.line, case))
            self._observer.record_action(f"policy.csv: add {fix.line}")
        elif fix.create is not None:
            self._create(fix.create)
        else:
            self._edit(fix)
        self._world.simulation.argocd.refresh(self._world.app, hard=fix.kind is FixKind.SETTINGS)

    def run_follow_up(self, fix: Fix) -> None:
        """Run the commands that must follow once the change is synced."""
        if fix.afterwards:
            self._run(fix.afterwards)

    def _edit(self, fix: Fix) -> None:
        case = self._world.case
        target = object_of(fix, case)
        if target is None or fix.target is None:
            raise NotExecutable(f"{fix.target or 'its object'} is not in the facts")
        match fix.kind:
            case FixKind.APPLICATION:
                if fix.target.name != case.app.name:
                    raise NotExecutable(f"{fix.target} is another Application")
                self._world.edit(lambda body: edited(body, fix.edits))
                self._observer.record_action(f"Application changed: {fix.title}")
            case FixKind.PROJECT:
                self._world.simulation.argocd.set_project(edited(target.body, fix.edits))
                self._observer.record_action(f"AppProject changed: {fix.title}")
            case FixKind.SETTINGS:
                self._settings(fix)
                self._observer.record_action(f"{fix.target.name} changed: {fix.title}")
            case FixKind.MANIFEST:
                changed = target.with_body(edited(target.body, fix.edits))
                replacement = [] if fix.drops else [changed]
                desired = [
                    new
                    for desired_object in case.desired
                    for new in (replacement if desired_object is target else [desired_object])
                ]
                self._push(desired, fix.title)
                written = would_be_written(case, changed)
                self.gaps += lift_refusals(self._world, touched_by(fix, case), written=written)
            case FixKind.POLICY | FixKind.COMMAND:
                raise NotExecutable("the fix has no executable step")

    def _settings(self, fix: Fix) -> None:
        target = object_of(fix, self._world.case)
        if target is None:
            raise NotExecutable(f"{fix.target} is not in the facts")
        self._world.simulation.argocd.set_config_map(edited(target.body, fix.edits))

    def _push(self, desired: Iterable[Manifest | Object], title: str) -> None:
        commit = self._world.push(desired)
        self._observer.record_action(f"commit {commit[:7]}: {title}")

    def _create(self, obj_to_create: Object) -> None:
        """Commit the object to Git; AppProjects and RBAC objects are applied with kubectl."""
        if obj_to_create.get("kind") == "AppProject":
            self._world.simulation.argocd.set_project(copy_object(obj_to_create))
            self._observer.record_action(f"kubectl apply {ref_of(obj_to_create)}")
            return
        objects = (
            [fields(item) for item in items(obj_to_create.get("items"))]
            if obj_to_create.get("kind") == "List"
            else [obj_to_create]
        )
        rights = [obj for obj in objects if obj.get("kind") in _RBAC_KINDS]
        if rights and len(rights) == len(objects):
            terminal = Kubectl(self._world.simulation.api_server)
            for right in rights:
                output, failed = terminal.create(copy_object(right), manager="kubectl-create")
                self._observer.record_action(f"kubectl apply {ref_of(right)}", output if failed else "")
                if failed:
                    raise StepRefused(output)
            self.gaps += lift_refusals(self._world)
            return
        names = ", ".join(str(ref_of(obj)) for obj in objects)
        self._push([*self._world.case.desired, *objects], f"add {names}")

    # --- commands --------------------------------------------------------------------------------

    def _run(self, commands: tuple[str, ...]) -> None:
        problem = why_not_executable(commands)
        if problem:
            raise NotExecutable(problem)
        lines = command_lines(commands)
        executed = [line for line in lines if line.kind is LineKind.EXECUTED]
        self.syncs = any(_is_sync(line) for line in executed)
        self.only_syncs = all(_is_sync(line) or _is_refresh(line) for line in executed)
        for line in (line for line in lines if line.kind in (LineKind.EXECUTED, LineKind.ROLLOUT_STATUS)):
            if line.command is None:
                self._observer.run(_ROLLOUT_TIME)
                self._observer.record_action(line.text)
                self.gaps += lift_refusals(self._world)
                continue
            try:
                self._execute(line.text, line.command)
            except ValueError as problem:  # for example an invalid JSON patch
                raise NotExecutable(f"`{line.text}` cannot be read: {problem}") from problem

    def _execute(self, written: str, command: Command) -> None:
        world = self._world
        actor = Actor(user="admin")
        if command.tool == "argocd":
            if command.noun == "app":
                self._check_app(command)
            output, failed = run_argocd(command, actor, world.simulation.argocd)
            if command.noun == "cluster":
                self.gaps.append("whether Argo CD's account has the permissions there")
        elif command.verb == "create" and command.words[:1] in (("secret",), ("configmap",)):
            output, failed = self._create_with_placeholders(command)
        else:
            output, failed = Kubectl(world.simulation.api_server).run(command, actor, world.simulation.argocd)
        self._observer.record_action(written, output if failed else "")
        if failed and "not found" in output.lower():
            raise NotExecutable(f"`{written}`: {output}")
        if failed:
            raise StepRefused(output.rpartition("desc = ")[2] or output)
        self.gaps += lift_refusals(world)
        if command.tool == "argocd" and command.verb in _OPERATION_VERBS:
            self._observer.run(_MAX_OPERATION_TIME, lambda: self._observer.sync_ended)
        self._observer.run(_REACTION_TIME)

    def _check_app(self, command: Command) -> None:
        name = command.words[0].rpartition("/")[2]
        if name != self._world.case.app.name:
            raise NotExecutable(f"Application {name} is not part of the simulation")
        if command.verb == "delete":
            raise NotExecutable("it deletes the Application")

    def _create_with_placeholders(self, command: Command) -> tuple[str, bool]:
        """Create the object with all keys that pods reference; the values do not matter in a simulation."""
        name = command.words[-1]
        kind = "Secret" if command.words[0] == "secret" else "ConfigMap"
        namespace = command.flag("--namespace", "default")
        objects = [
            desired_object.body for desired_object in (*self._world.scope.desired, *self._world.scope.live)
        ]
        keys = referenced_keys(objects, kind, namespace, name, self._world.case.destination_namespace)
        obj_to_create: Object = {
            "apiVersion": "v1",
            "kind": kind,
            "metadata": {"name": name, "namespace": namespace},
            "data": dict.fromkeys(keys, _UNKNOWN_VALUE),
        }
        self.gaps.append(f"which values {kind} {name} needs")
        return Kubectl(self._world.simulation.api_server).create(obj_to_create)

    # --- actions of a user in addition to the fix ------------------------------------------------

    def sync(self) -> str:
        """`argocd app sync` until the operation ends; returns the reason if it is refused."""
        try:
            self._world.sync()
        except Denied as problem:
            why = problem.description
            self._observer.record_action(f"argocd app sync {self._world.case.app.name}", why)
            return why
        self._observer.record_action(f"argocd app sync {self._world.case.app.name}")
        self._observer.run(_MAX_OPERATION_TIME, lambda: self._observer.sync_ended)
        return ""

    def terminate(self) -> None:
        self._world.simulation.argocd.terminate(self._world.app)
        self._observer.record_action(f"argocd app terminate-op {self._world.case.app.name}")
        self._observer.run(_MAX_OPERATION_TIME, lambda: self._observer.sync_ended)


def _is_sync(line: CommandLine) -> bool:
    command = line.command
    return command is not None and (command.tool, command.verb) == ("argocd", "sync")


def _is_wait(line: CommandLine) -> bool:
    command = line.command
    return command is not None and (command.tool, command.verb) == ("argocd", "wait")


def _is_refresh(line: CommandLine) -> bool:
    command = line.command
    # Argo CD runs one operation at a time: terminating it is part of a plain sync.
    return command is not None and command.tool == "argocd" and command.verb in _SYNC_COMPANIONS


_PREVIEWS: Final = (["argocd", "app", "diff"], ["argocd", "proj", "windows", "list"])
_WAITS: Final = (["kubectl", "rollout", "status"], ["kubectl", "wait"])
_PLACEHOLDER: Final = re.compile(r"[A-Z][A-Z0-9_]+")
_SECRET_LITERAL: Final = re.compile(r"--from-literal=[A-Za-z0-9._-]+=VALUE")


class LineKind(Enum):
    READ_ONLY = auto()
    PREVIEW = auto()
    """Read-only: shows the change that a later command of the fix makes."""
    EXECUTED = auto()
    ROLLOUT_STATUS = auto()
    """`kubectl rollout status` and `kubectl wait`: wait for a rollout."""
    MANUAL = auto()
    """Requires a user; `why` is the reason that it cannot be executed."""


_READING: Final = (LineKind.READ_ONLY, LineKind.PREVIEW)


class CommandLine(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    kind: LineKind
    command: Command | None = None
    why: str = ""


def why_not_executable(commands: tuple[str, ...]) -> str:
    """Why a simulation cannot execute the commands: a step requires a user, or they change nothing."""
    lines = command_lines(commands)
    manual = next((line for line in lines if line.kind is LineKind.MANUAL), None)
    if manual is not None:
        return manual.why
    executed = (line for line in lines if line.kind is LineKind.EXECUTED)
    return "it changes nothing: it only reads or waits" if all(_is_wait(line) for line in executed) else ""


def requires_human_decision(commands: tuple[str, ...]) -> bool:
    """Does the fix show something on which a user has to decide? Previews of the change do not count."""
    return any(line.kind is LineKind.READ_ONLY for line in command_lines(commands))


def only_waits(commands: tuple[str, ...]) -> bool:
    """Do the commands only wait (`argocd app wait`) and read?"""
    acting = [line for line in command_lines(commands) if line.kind not in _READING]
    return bool(acting) and all(_is_wait(line) for line in acting)


def changes_application(commands: tuple[str, ...]) -> bool:
    """Is `argocd app set` or `kubectl patch application` among the commands?"""
    return any(
        (command.tool, command.noun, command.verb) == ("argocd", "app", "set")
        or ((command.tool, command.verb) == ("kubectl", "patch") and command.words[:1] == ("application",))
        for line in command_lines(commands)
        if (command := line.command) is not None
    )


def command_lines(commands: tuple[str, ...]) -> list[CommandLine]:
    return [_classified(command) for written in commands for command in _split_chain(written)]


def _split_chain(written: str) -> list[str]:
    return (
        [command.strip() for command in written.split(" && ")] if not written.startswith("#") else [written]
    )


def _classified(written: str) -> CommandLine:
    if written.startswith("#"):
        output = written.lstrip("# ").removesuffix(", then")
        return CommandLine(text=written, kind=LineKind.MANUAL, why=f"a step requires a user: {output}")
    words = words_of(written)
    if not words:
        return CommandLine(text=written, kind=LineKind.READ_ONLY)
    if is_read_only(words):
        preview = any(without_flags(words)[: len(known)] == known for known in _PREVIEWS) or is_dry_run(words)
        return CommandLine(text=written, kind=LineKind.PREVIEW if preview else LineKind.READ_ONLY)
    if any(without_flags(words)[: len(known)] == known for known in _WAITS):
        return CommandLine(text=written, kind=LineKind.ROLLOUT_STATUS)
    blank = next((word for word in words if _is_placeholder(word)), "")
    if blank:
        return CommandLine(text=written, kind=LineKind.MANUAL, why=f"{blank} must be filled in by a user")
    if words[0] == "kubectl" and "edit" in words:
        return CommandLine(text=written, kind=LineKind.MANUAL, why=f"`{' '.join(words)}` requires a user")
    line = shlex.join(words)
    try:
        return CommandLine(text=line, kind=LineKind.EXECUTED, command=command_of(line))
    except BadCommand:
        return CommandLine(
            text=written, kind=LineKind.MANUAL, why=f"`{' '.join(words[:4])}` cannot be simulated"
        )


def _is_placeholder(word: str) -> bool:
    """`OTHER_PROJECT`, `KEY=VALUE`, `--name=NAME`: in capitals, unlike any object name."""
    if _SECRET_LITERAL.fullmatch(word):
        return False  # the value does not matter in a simulation
    value = word.rpartition("=")[2] if word.startswith("--") else word
    return bool(_PLACEHOLDER.fullmatch(value)) or any(
        _PLACEHOLDER.fullmatch(side) for side in value.split("=") if "=" in value
    )


def lift_refusals(world: SimulatedCase, changed: Iterable[Key] = (), *, written: bool = True) -> list[str]:
    """Lift refusals that no longer apply, and return what was assumed. `changed`: manifests that changed.

    A manifest that equals the live object is not `written`, so admission does not evaluate it.
    """
    touched = frozenset(changed)
    gaps: list[str] = []

    def is_resolved(refusal: Refusal) -> bool:
        failure = refusal.failure
        match failure:
            case Forbidden():
                return _is_permitted(world, failure)
            case WebhookDown():
                if _was_removed(world, failure.webhook):
                    return True
                if _is_answered(world, failure):
                    name = failure.webhook or "the webhook"
                    gaps.append(f"whether {name} accepts {refusal.ref} once it is available")
                    return True
                return False
            case _ if refusal.ref.key in touched:
                if written:
                    gaps.append(f"whether {_admission_name(failure)} accepts the changed {refusal.ref}")
                return True
            case _:
                return False

    world.writers.refusals.lift(is_resolved)
    return gaps


def _is_permitted(world: SimulatedCase, failure: Forbidden) -> bool:
    question = AuthorizationAttributes(
        user=failure.user,
        groups=(),
        verb=failure.verb,
        group=failure.group,
        plural=failure.resource,
        subresource="",
        namespace=failure.namespace,
        name=failure.name,
    )
    return bool(failure.user) and is_authorized(world.simulation.api_server.store, question)


def _is_answered(world: SimulatedCase, failure: WebhookDown) -> bool:
    """Does the webhook's Service, which had no endpoints, have a ready Pod now?"""
    if failure.reason is not Network.NO_ENDPOINTS:
        return False
    objects = [
        obj
        for obj in world.simulation.api_server.objects()
        if dig(obj, "metadata", "namespace") == failure.namespace
    ]
    service = next(
        (
            obj
            for obj in objects
            if obj.get("kind") == "Service" and dig(obj, "metadata", "name") == failure.service
        ),
        None,
    )
    selector = fields(dig(service, "spec", "selector")) if service is not None else {}
    return any(
        obj.get("kind") == "Pod"
        and is_ready(obj)
        and is_selected(fields(dig(obj, "metadata", "labels")), selector)
        for obj in objects
    )


def _was_removed(world: SimulatedCase, webhook: str) -> bool:
    """Was the webhook configured at the start, and is it not any more?

    A configuration that is not in the facts may well be in the cluster: nothing has removed it.
    """
    after = world.simulation.api_server.objects()
    return _is_configured(world.before.values(), webhook) and not _is_configured(after, webhook)


def _is_configured(objects: Iterable[Object], webhook: str) -> bool:
    return any(
        text(dig(entry, "name")) == webhook
        for obj in objects
        if text(obj.get("kind")).endswith("WebhookConfiguration")
        for entry in items(obj.get("webhooks"))
    )


def _admission_name(failure: Failure) -> str:
    match failure:
        case AdmissionDenied():
            return failure.policy or failure.webhook or "the admission policy"
        case QuotaExceeded():
            return f"quota {failure.quota}" if failure.quota else "the quota"
        case LimitRange():
            return "the LimitRange"
        case _:
            return "the API server"
