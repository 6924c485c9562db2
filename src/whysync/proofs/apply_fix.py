"""Apply a fix to a simulation as a user would: a commit, an edit, commands in their order.

Some refusals are replayed from messages because their reason is outside the simulation: a policy, an account
of another cluster. After each step, `lift` decides which of them no longer apply; what cannot be known is a
gap.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum, auto
from typing import Final

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
from whysync.kubernetes.apiserver.rbac_authorizer import AccessQuestion, may
from whysync.kubernetes.controllers.pod_control import is_ready
from whysync.messages.failure import Failure, Network
from whysync.messages.patterns.admission import AdmissionDenied, WebhookDown
from whysync.messages.patterns.apply import LimitRange, QuotaExceeded
from whysync.messages.patterns.rbac import Forbidden
from whysync.proofs.admission import Refusal
from whysync.proofs.assumed import asked_keys
from whysync.proofs.observations import Observer
from whysync.proofs.simulated_case import SimulatedCase
from whysync.queries.commands import is_read_only, without_flags
from whysync.queries.references import references_of
from whysync.queries.service_backends import is_selected

_LONGEST_WAIT: Final = timedelta(minutes=10)
_A_ROLLOUT: Final = timedelta(minutes=1)
_A_MOMENT: Final = timedelta(seconds=2)
_AWAITED: Final = ("sync", "wait", "terminate-op", "confirm-deletion")
_BESIDE_A_SYNC: Final = ("get", "wait", "terminate-op")
_RIGHTS: Final = frozenset({"Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"})
_UNKNOWN_VALUE: Final = "dW5rbm93bg=="


class Unplayable(Exception):
    """The fix cannot be carried out on a model; the text says why."""


class Refuted(Exception):
    """A step of the fix is refused; the text is what comes back."""


def touched_by(fix: Fix, case: Case) -> frozenset[Key]:
    """The app's resources that the fix is about, and those that it makes them name."""
    target = object_of(fix, case) if fix.kind is FixKind.MANIFEST else None
    if target is None or fix.target is None:
        return frozenset()
    changed = target.with_body(edited(target.body, fix.edits))
    named = {(reference.kind, reference.name) for reference in references_of(changed)}
    keys = {fix.target.key, target.key}
    keys |= {
        desired_object.key
        for desired_object in case.desired
        if (desired_object.ref.kind, desired_object.ref.name) in named
    }
    spaced = {key._replace(namespace=case.destination_namespace) for key in keys if not key.namespace}
    return frozenset(keys | spaced)


class Player:
    """`gaps` is what was taken for granted on the way; `syncs`: a sync is among the fix's own steps."""

    def __init__(self, watch: Observer) -> None:
        self._watch = watch
        self._world = watch.world
        self.gaps: list[str] = []
        self.syncs = False
        self.only_syncs = False

    # --- the fix ---------------------------------------------------------------------------------

    def carry_out(self, fix: Fix) -> None:
        """Raises `Unplayable` and `Refuted`."""
        if fix.commands:
            self._run(fix.commands)
            return
        case = self._world.case
        if fix.line:
            self._settings(policy_edit(fix.line, case))
            self._watch.deed(f"policy.csv gets: {fix.line}")
        elif fix.create is not None:
            self._create(fix.create)
        else:
            self._edit(fix)
        self._world.simulation.argocd.refresh(self._world.app, hard=fix.kind is FixKind.SETTINGS)

    def follow(self, fix: Fix) -> None:
        """What has to be done once the change is synced."""
        if fix.afterwards:
            self._run(fix.afterwards)

    def _edit(self, fix: Fix) -> None:
        case = self._world.case
        target = object_of(fix, case)
        if target is None or fix.target is None:
            raise Unplayable(f"{fix.target or 'its object'} is not among the facts")
        match fix.kind:
            case FixKind.APPLICATION:
                if fix.target.name != case.app.name:
                    raise Unplayable(f"{fix.target} is another Application")
                self._world.edit(lambda body: edited(body, fix.edits))
                self._watch.deed(f"Application changed: {fix.title}")
            case FixKind.PROJECT:
                self._world.simulation.argocd.set_project(edited(target.body, fix.edits))
                self._watch.deed(f"AppProject changed: {fix.title}")
            case FixKind.SETTINGS:
                self._settings(fix)
                self._watch.deed(f"{fix.target.name} changed: {fix.title}")
            case FixKind.MANIFEST:
                changed = target.with_body(edited(target.body, fix.edits))
                left = [] if fix.drops else [changed]
                desired = [
                    new
                    for desired_object in case.desired
                    for new in (left if desired_object is target else [desired_object])
                ]
                self._push(desired, fix.title)
                written = would_be_written(case, changed)
                self.gaps += lift(self._world, touched_by(fix, case), written=written)
            case FixKind.POLICY | FixKind.COMMAND:
                raise Unplayable("it says nothing that could be done")

    def _settings(self, fix: Fix) -> None:
        target = object_of(fix, self._world.case)
        if target is None:
            raise Unplayable(f"{fix.target} is not among the facts")
        self._world.simulation.argocd.set_config_map(edited(target.body, fix.edits))

    def _push(self, desired: Iterable[Manifest | Object], title: str) -> None:
        commit = self._world.push(desired)
        self._watch.deed(f"commit {commit[:7]}: {title}")

    def _create(self, made: Object) -> None:
        """For Git; but projects are Argo CD's own, and rights of its account come from who may give them."""
        if made.get("kind") == "AppProject":
            self._world.simulation.argocd.set_project(copy_object(made))
            self._watch.deed(f"kubectl apply {ref_of(made)}")
            return
        objects = (
            [fields(item) for item in items(made.get("items"))] if made.get("kind") == "List" else [made]
        )
        rights = [obj for obj in objects if obj.get("kind") in _RIGHTS]
        if rights and len(rights) == len(objects):
            terminal = Kubectl(self._world.simulation.api_server)
            for right in rights:
                said, failed = terminal.create(copy_object(right), manager="kubectl-create")
                self._watch.deed(f"kubectl apply {ref_of(right)}", said if failed else "")
                if failed:
                    raise Refuted(said)
            self.gaps += lift(self._world)
            return
        names = ", ".join(str(ref_of(obj)) for obj in objects)
        self._push([*self._world.case.desired, *objects], f"add {names}")

    # --- commands --------------------------------------------------------------------------------

    def _run(self, commands: tuple[str, ...]) -> None:
        lines = lines_of(commands)
        persons = next((line for line in lines if line.sort is LineKind.PERSONS), None)
        if persons is not None:
            raise Unplayable(persons.why)
        played = [line for line in lines if line.sort is LineKind.PLAYED]
        if all(_is_wait(line) for line in played):
            raise Unplayable("it changes nothing: it only looks, or waits")
        self.syncs = any(_is_sync(line) for line in played)
        self.only_syncs = all(_is_sync(line) or _is_refresh(line) for line in played)
        for line in (line for line in lines if line.sort in (LineKind.PLAYED, LineKind.PAUSES)):
            if line.command is None:
                self._watch.run(_A_ROLLOUT)
                self._watch.deed(line.text)
                self.gaps += lift(self._world)
                continue
            try:
                self._play(line.text, line.command)
            except ValueError as problem:  # a patch that is no JSON, a number that is none
                raise Unplayable(f"`{line.text}` cannot be read: {problem}") from problem

    def _play(self, written: str, command: Command) -> None:
        world = self._world
        by = Actor(user="admin")
        if command.tool == "argocd":
            if command.noun == "app":
                self._check_app(command)
            said, failed = run_argocd(command, by, world.simulation.argocd)
            if command.noun == "cluster":
                self.gaps.append("whether Argo CD's account has the rights there")
        elif command.verb == "create" and command.words[:1] in (("secret",), ("configmap",)):
            said, failed = self._created_with_values(command)
        else:
            said, failed = Kubectl(world.simulation.api_server).run(command, by, world.simulation.argocd)
        self._watch.deed(written, said if failed else "")
        if failed and "not found" in said.lower():
            raise Unplayable(f"`{written}`: {said}")
        if failed:
            raise Refuted(said.rpartition("desc = ")[2] or said)
        self.gaps += lift(world)
        if command.tool == "argocd" and command.verb in _AWAITED:
            self._watch.run(_LONGEST_WAIT, lambda: self._watch.sync_ended)
        self._watch.run(_A_MOMENT)

    def _check_app(self, command: Command) -> None:
        name = command.words[0].rpartition("/")[2]
        if name != self._world.case.app.name:
            raise Unplayable(f"what Application {name} does is not part of this world")
        if command.verb == "delete":
            raise Unplayable("there would be no app left to look at")

    def _created_with_values(self, command: Command) -> tuple[str, bool]:
        """With all the keys that pods ask for: what the values are nobody asks on a model."""
        name = command.words[-1]
        kind = "Secret" if command.words[0] == "secret" else "ConfigMap"
        namespace = command.flag("--namespace", "default")
        objects = [
            desired_object.body for desired_object in (*self._world.part.desired, *self._world.part.live)
        ]
        keys = asked_keys(objects, kind, namespace, name, self._world.case.destination_namespace)
        made: Object = {
            "apiVersion": "v1",
            "kind": kind,
            "metadata": {"name": name, "namespace": namespace},
            "data": dict.fromkeys(keys, _UNKNOWN_VALUE),
        }
        self.gaps.append(f"which values {kind} {name} has to hold")
        return Kubectl(self._world.simulation.api_server).create(made)

    # --- what a person does beside it ------------------------------------------------------------

    def sync(self) -> str:
        """`argocd app sync`, to its end; gives why it was refused, where it was."""
        try:
            self._world.sync()
        except Denied as problem:
            why = str(problem).rpartition("desc = ")[2]
            self._watch.deed(f"argocd app sync {self._world.case.app.name}", why)
            return why
        self._watch.deed(f"argocd app sync {self._world.case.app.name}")
        self._watch.run(_LONGEST_WAIT, lambda: self._watch.sync_ended)
        return ""

    def terminate(self) -> None:
        self._world.simulation.argocd.terminate(self._world.app)
        self._watch.deed(f"argocd app terminate-op {self._world.case.app.name}")
        self._watch.run(_LONGEST_WAIT, lambda: self._watch.sync_ended)


def _is_sync(line: CommandLine) -> bool:
    command = line.command
    return command is not None and (command.tool, command.verb) == ("argocd", "sync")


def _is_wait(line: CommandLine) -> bool:
    command = line.command
    return command is not None and (command.tool, command.verb) == ("argocd", "wait")


def _is_refresh(line: CommandLine) -> bool:
    command = line.command
    # No sync begins while another runs: to end that one is part of a plain sync.
    return command is not None and command.tool == "argocd" and command.verb in _BESIDE_A_SYNC


_LOOKS_AT_THE_DEED: Final = ("argocd app diff", "argocd proj windows list")
_ROLLOUT: Final = ["kubectl", "rollout", "status"]
_BLANK: Final = re.compile(r"[A-Z][A-Z0-9_]+")
_SECRET_LITERAL: Final = re.compile(r"--from-literal=[A-Za-z0-9._-]+=VALUE")


class LineKind(Enum):
    LOOKS = auto()
    PLAYED = auto()
    PAUSES = auto()
    """`kubectl rollout status`: until it is rolled out."""
    PERSONS = auto()
    """Only a person can do it; `why` says what stands against playing it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    text: str
    sort: LineKind
    command: Command | None = None
    why: str = ""


def leaves_a_deed(commands: tuple[str, ...]) -> bool:
    """Does it say where to look, and leave to a person what to do about what is seen there?"""
    looks = [line.text for line in lines_of(commands) if line.sort is LineKind.LOOKS]
    return any(not look.startswith(_LOOKS_AT_THE_DEED) and "--dry-run" not in look for look in looks)


def only_waits(commands: tuple[str, ...]) -> bool:
    """Is there nothing to be done but `argocd app wait`, and perhaps a look?"""
    acts = [line for line in lines_of(commands) if line.sort is not LineKind.LOOKS]
    return bool(acts) and all(
        act.command is not None and (act.command.tool, act.command.verb) == ("argocd", "wait") for act in acts
    )


def changes_application(commands: tuple[str, ...]) -> bool:
    """Is `argocd app set` or `kubectl patch application` among the commands?"""
    return any(
        (command.tool, command.noun, command.verb) == ("argocd", "app", "set")
        or ((command.tool, command.verb) == ("kubectl", "patch") and command.words[:1] == ("application",))
        for line in lines_of(commands)
        if (command := line.command) is not None
    )


def lines_of(commands: tuple[str, ...]) -> list[CommandLine]:
    return [_line(part) for written in commands for part in _parts(written)]


def _parts(written: str) -> list[str]:
    return [part.strip() for part in written.split(" && ")] if not written.startswith("#") else [written]


def _line(written: str) -> CommandLine:
    if written.startswith("#"):
        said = written.lstrip("# ").removesuffix(", then")
        return CommandLine(text=written, sort=LineKind.PERSONS, why=f"a step is for a person: {said}")
    try:
        words = shlex.split(written, comments=True)
    except ValueError:
        words = []
    if not words:
        return CommandLine(text=written, sort=LineKind.LOOKS)
    if is_read_only(words):
        return CommandLine(text=written, sort=LineKind.LOOKS)
    if without_flags(words)[:3] == _ROLLOUT:
        return CommandLine(text=written, sort=LineKind.PAUSES)
    blank = next((word for word in words if _is_blank(word)), "")
    if blank:
        return CommandLine(text=written, sort=LineKind.PERSONS, why=f"{blank} is for a person to fill in")
    if words[0] == "kubectl" and "edit" in words:
        return CommandLine(text=written, sort=LineKind.PERSONS, why=f"`{' '.join(words)}` is for a person")
    line = shlex.join(words)
    try:
        return CommandLine(text=line, sort=LineKind.PLAYED, command=command_of(line))
    except BadCommand:
        return CommandLine(
            text=written, sort=LineKind.PERSONS, why=f"`{' '.join(words[:4])}` cannot be played on a model"
        )


def _is_blank(word: str) -> bool:
    """`OTHER_PROJECT`, `KEY=VALUE`, `--name=NAME`: in capitals, as no object of a cluster is named."""
    if _SECRET_LITERAL.fullmatch(word):
        return False  # what it holds nobody asks on a model
    value = word.rpartition("=")[2] if word.startswith("--") else word
    return bool(_BLANK.fullmatch(value)) or any(
        _BLANK.fullmatch(part) for part in value.split("=") if "=" in value
    )


def lift(world: SimulatedCase, changed: Iterable[Key] = (), *, written: bool = True) -> list[str]:
    """Gives the gaps: what was taken for granted. `changed` are manifests that ask for something else now.

    What says the same as the live object is not `written`: nobody judges it.
    """
    touched = frozenset(changed)
    gaps: list[str] = []

    def is_over(refusal: Refusal) -> bool:
        failure = refusal.failure
        match failure:
            case Forbidden():
                return _is_permitted(world, failure)
            case WebhookDown():
                if failure.webhook and not _is_configured(world, failure.webhook):
                    return True
                if _is_answered(world, failure):
                    name = failure.webhook or "the webhook"
                    gaps.append(f"whether {name} accepts {refusal.ref} once it answers")
                    return True
                return False
            case _ if refusal.ref.key in touched:
                if written:
                    gaps.append(f"whether {_judge(failure)} accepts {refusal.ref} as it is then")
                return True
            case _:
                return False

    world.writers.refusals.lift(is_over)
    return gaps


def _is_permitted(world: SimulatedCase, failure: Forbidden) -> bool:
    asked = AccessQuestion(
        user=failure.user,
        groups=(),
        verb=failure.verb,
        group=failure.group,
        plural=failure.resource,
        subresource="",
        namespace=failure.namespace,
        name=failure.name,
    )
    return bool(failure.user) and may(world.simulation.api_server.store, asked)


def _is_answered(world: SimulatedCase, failure: WebhookDown) -> bool:
    """Nobody stood behind its Service, and a ready Pod does now."""
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
    chosen = fields(dig(service, "spec", "selector")) if service is not None else {}
    return any(
        obj.get("kind") == "Pod"
        and is_ready(obj)
        and is_selected(fields(dig(obj, "metadata", "labels")), chosen)
        for obj in objects
    )


def _is_configured(world: SimulatedCase, webhook: str) -> bool:
    return any(
        text(dig(one, "name")) == webhook
        for obj in world.simulation.api_server.objects()
        if text(obj.get("kind")).endswith("WebhookConfiguration")
        for one in items(obj.get("webhooks"))
    )


def _judge(failure: Failure) -> str:
    match failure:
        case AdmissionDenied():
            return failure.policy or failure.webhook or "the admission policy"
        case QuotaExceeded():
            return f"quota {failure.quota}" if failure.quota else "the quota"
        case LimitRange():
            return "the LimitRange"
        case _:
            return "the API server"
