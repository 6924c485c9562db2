"""A Fix in the formats of `fix -o`: a patch, the complete object in YAML, commands."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

import msgspec

from whysync.diagnosis.case import Case
from whysync.diagnosis.fix import Edit, Fix, FixKind, Remove
from whysync.errors import Refused
from whysync.fixes.edit import edited
from whysync.fixes.files import policy_edit
from whysync.fixes.follow_up import following, is_in_git
from whysync.fixes.generated_app import application_set_of, parent_of, place_in_set
from whysync.fixes.patches import (
    RESOURCES,
    cluster_patch,
    for_git,
    holds_a_mask,
    new_file_name,
    object_of,
    patch_text,
)
from whysync.json_tree import Object
from whysync.kubernetes.api.yaml import dump
from whysync.queries.commands import comment, kubectl

EMPTY_LIST: Object = {"apiVersion": "v1", "kind": "List", "items": []}


def as_patch(fix: Fix, case: Case) -> str:
    """The patch for `kubectl patch`, or the fields to change in Git."""
    if fix.commands:
        raise Refused(
            what=f"this fix is not a patch: {fix.title}",
            why="it consists of commands",
            next="-o commands shows them; --pick N chooses another fix",
        )
    text = patch_text(_as_edit(fix, case), case)
    if not text:
        raise _not_in_facts(fix)
    return text


def as_yaml(fix: Fix, case: Case) -> str:
    """The complete object after the fix, without server-side fields.

    Commands change no object: then it is an empty List.
    """
    if fix.commands:
        return dump(EMPTY_LIST)
    if fix.create is not None:
        return dump(fix.create)
    if fix.drops:
        raise Refused(
            what=f"this fix deletes {fix.target}",
            why="its manifest is deleted from Git",
            next="-o patch shows what is deleted",
        )
    fix = _as_edit(fix, case)
    target = object_of(fix, case)
    if target is None:
        raise _not_in_facts(fix)
    body = for_git(edited(target.body, fix.edits), case)
    if holds_a_mask(body):
        raise Refused(
            what=f"{target.ref} contains masked values",
            why="the complete object would contain the masks instead of the real values",
            next="-o patch shows only what changes; --write --checkout DIR edits the file itself",
        )
    return dump(body)


def as_commands(fix: Fix, case: Case) -> tuple[str, ...]:
    """Commands in order, to be pasted."""
    if fix.commands:
        return fix.commands
    fix = _as_edit(fix, case)
    if fix.create is not None and not is_in_git(fix):
        return (*_applied(fix.create), *following(fix, case))
    if fix.kind is FixKind.MANIFEST:
        return (*_in_git(fix, case), *following(fix, case))
    generator = application_set_of(case, fix) if fix.kind is FixKind.APPLICATION else ""
    if generator:
        place = place_in_set(case, fix, generator)
        edits = (comment(f"in Git, in {place}: {_edit_text(edit)}") for edit in fix.edits)
        return (*edits, comment("commit it and push"), *following(fix, case))
    parent = parent_of(case) if fix.kind is FixKind.APPLICATION else ""
    if parent:
        place = f"the source of app {parent}"
        edits = (comment(f"in Git, in {place}: {_edit_text(edit)} of {fix.target}") for edit in fix.edits)
        return (*edits, comment("commit it and push"), *following(fix, case))
    return (_kubectl_patch(fix, case), *following(fix, case))


def _applied(manifest: Object) -> Iterator[str]:
    name = new_file_name(manifest)
    yield comment(f"save it as {name} (-o yaml shows it)")
    yield f"kubectl apply -f {quote(name)}"


def _kubectl_patch(fix: Fix, case: Case) -> str:
    target = object_of(fix, case)
    if target is None:
        raise _not_in_facts(fix)
    kind, patch = cluster_patch(fix, target.body, edited(target.body, fix.edits))
    if holds_a_mask(patch):
        raise Refused(
            what=f"the patch of {target.ref} would contain a masked value",
            why="the facts show that a secret differs, but not its value",
            next="kubectl edit it, or change its file: --write --checkout DIR",
        )
    patch_json = msgspec.json.encode(patch).decode()
    resource = RESOURCES.get(target.ref.kind, target.ref.kind.lower())
    return kubectl(
        "patch", resource, target.ref.name, "--type", kind, "-p", patch_json, namespace=target.ref.namespace
    )


def _in_git(fix: Fix, case: Case) -> Iterator[str]:
    """A manifest has to be changed in Git, or the next sync reverts the change."""
    sources = [source.path for source in case.app.sources if source.path]
    path = sources[0] if len(sources) == 1 else ""
    if fix.create is not None:
        name = new_file_name(fix.create)
        yield comment(f"save it as {name}{f' in {path}' if path else ''} (-o yaml shows it)")
        yield f"git add {quote(f'{path}/{name}'.lstrip('/'))}"
    elif fix.drops:
        yield comment(f"in Git: delete the manifest of {fix.target}{f' from {path}' if path else ''}")
    else:
        for edit in fix.edits:
            yield comment(f"in Git: {_edit_text(edit)} of {fix.target}")
        if path:  # a patch of an overlay may be a new file
            yield f"git add {quote(path)}"
    yield f"git commit -am {quote(fix.title)} && git push"


def _edit_text(edit: Edit) -> str:
    if isinstance(edit, Remove):
        return f"remove {edit.pointer}"
    value = msgspec.json.encode(edit.value).decode()
    brief = value if len(value) <= 200 else f"{value[:199]}…"
    verb = "add to" if type(edit).__name__ == "Add" else "set"
    return f"{verb} {edit.pointer}: {brief}"


def _as_edit(fix: Fix, case: Case) -> Fix:
    """A policy line as an edit, if the ConfigMap is in the facts."""
    if not fix.line or case.settings("argocd-rbac-cm") is None:
        return fix
    edit = policy_edit(fix.line, case)
    return msgspec.structs.replace(edit, title=fix.title, risk=fix.risk)


def _not_in_facts(fix: Fix) -> Refused:
    name = fix.target or "argocd-rbac-cm"
    return Refused(
        what=f"{name} is not in the facts, so the result cannot be shown",
        next="add it to the bundle (kubectl get … -o yaml); without -o, whysync fix shows what to change",
    )
