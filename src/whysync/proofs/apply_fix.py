"""A fix, carried out on a simulated world as a person would: a commit, an edit, commands in their order."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from whysync.argocd.server.server import Denied
from whysync.argocd.simulation.commands.actor import Actor
from whysync.argocd.simulation.commands.argocd_cli import run_argocd
from whysync.argocd.simulation.commands.command_line import Command
from whysync.argocd.simulation.commands.kubectl_cli import Terminal
from whysync.diagnosis.case import Case
from whysync.diagnosis.comparison import would_be_written
from whysync.diagnosis.fix import Fix, FixKind
from whysync.fixes.edit import edited
from whysync.fixes.files import policy_edit
from whysync.fixes.text import object_of
from whysync.json_tree import Object, copy_object, fields, items
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Key, ref_of
from whysync.proofs.assumed import asked_keys
from whysync.proofs.observer import Observer
from whysync.proofs.quota_changes import lift
from whysync.proofs.readonly_commands import CommandLine, LineKind, lines_of
from whysync.queries.references import references_of

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
            terminal = Terminal(self._world.simulation.model)
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
            said, failed = Terminal(world.simulation.model).run(command, by, world.simulation.argocd)
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
        return Terminal(self._world.simulation.model).create(made)

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
