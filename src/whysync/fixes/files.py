"""A fix as a change to files of a checkout: which file, and its text before and after."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from typing import NamedTuple

from msgspec.structs import replace

from whysync.argocd.tracking.method import TRACKING_ID
from whysync.diagnosis.case import Case
from whysync.diagnosis.file_location import FileLocation
from whysync.diagnosis.fix import Add, Edit, Fix, FixKind, Remove, Set
from whysync.errors import Refused
from whysync.facts.checkout import Checkout
from whysync.facts.masking.masker import Masker
from whysync.fixes.diffs import largest_context, lines, unified
from whysync.fixes.edit import edited
from whysync.fixes.follow_up import created_refs, is_in_git
from whysync.fixes.fragments import name_of
from whysync.fixes.origin import Folder, Tool, folders_of
from whysync.fixes.patches import holds_a_mask, new_file_name, object_of
from whysync.fixes.yaml_edit import Node, Uneditable, rewritten, unreadable_nodes, written_documents
from whysync.json_tree import Json, Missing, Object, copy, copy_object, fields, items, same, text
from whysync.kubernetes.api import pointer as pointers
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.manifest_places import ManifestPlace, places_in
from whysync.kubernetes.api.ref import Ref, ref_of
from whysync.kubernetes.api.yaml import Document, documents, dump, position
from whysync.kubernetes.api.yaml.errors import Invalid
from whysync.queries.commands import argocd_namespace

_MARK = re.compile(r"---(?:[ \t].*)?\r?\n?")
"""A document separator; at the start of a line it is one even inside a block scalar."""


class FileChange(NamedTuple):
    """`before` is `None` for a new file, `after` for a deleted one.

    Equal texts mean that the file already contains the fix.
    """

    path: str
    before: str | None
    after: str | None
    what: str
    place: str = ""
    """What to edit, with the line: `set image.tag in charts/shop/values-prod.yaml:4`."""
    check: str = ""
    """What rendering the edited source shows."""

    @property
    def changes(self) -> bool:
        return self.before != self.after

    def write_to(self, checkout: Checkout) -> None:
        """Write or delete the file, unless it changed since it was read."""
        if self.after is not None:
            checkout.write(self.path, self.before, self.after)
        elif self.before is not None:
            checkout.delete(self.path, self.before)

    def secret_lines(self) -> set[int]:
        return secret_lines(self.before) if self.before is not None else set()


def shown_diff(change: FileChange) -> str:
    """The diff of a file, with as much context as does not show secrets."""
    return unified(change.path, change.before, change.after, context=context_of(change))


def context_of(change: FileChange) -> int:
    """The lines of context that show no secret; `Refused` if the change itself is next to one."""
    context = largest_context(change.before or "", change.after or "", change.secret_lines())
    if context is None:
        raise Refused(
            what=f"the change of {change.path} cannot be shown",
            why="the lines next to it contain secrets",
            next="use --write to change the file without showing it",
        )
    return context


def location_of_change(change: FileChange) -> FileLocation:
    """The first line of the file that the fix changes."""
    matcher = difflib.SequenceMatcher(
        None, lines(change.before or ""), lines(change.after or ""), autojunk=False
    )
    first = next((begin for tag, begin, *_ in matcher.get_opcodes() if tag != "equal"), 0)
    return FileLocation(path=change.path, line=first + 1)


def file_change(fix: Fix, case: Case, checkout: Checkout, *, only: str = "") -> FileChange:
    """The file change for a fix, or `Refused` with what to do instead. `only` selects the file."""
    if fix.commands:
        raise Refused(
            what=f"this fix changes no file: {fix.title}",
            why="it consists of commands",
            next="-o commands shows them",
        )
    if _is_masked(fix):
        raise Refused(
            what="the fix contains a masked value",
            why="the facts show that a secret differs, but not its value",
            next="write the value manually, in Git or where the secret is stored",
        )
    if fix.create is not None:
        if not only and not is_in_git(fix):
            raise _belongs_elsewhere(fix.create)
        return _new_file(fix.create, case, checkout, only)
    if fix.line:
        return _policy(fix.line, case, checkout, only)
    if fix.target is None:
        raise Refused(what="this fix does not change a file")
    if fix.kind is FixKind.MANIFEST and fix.edits and not only:
        from whysync.fixes.rendered_change import rendered_change  # rarely needed, and slow to import

        change = rendered_change(fix, case, checkout)
        if change is not None:
            return change
    place = _find(fix, case, checkout, only)
    if fix.drops:
        return _dropped(checkout, place, str(fix.target))
    diagnosed = object_of(fix, case)
    edits = tuple(fitted_edit(edit, diagnosed, place) for edit in fix.edits)
    change = _edited(checkout, place, edited(place.body, edits), str(fix.target))
    return change._replace(place=_edited_place(change, place, edits))


def _edited_place(change: FileChange, place: ManifestPlace, edits: tuple[Edit, ...]) -> str:
    """`remove /spec/replicas in apps/shop/web.yaml:12`, with the line before the edit."""
    descriptions: list[str] = []
    for edit in edits:
        pointer = pointers.join((*place.inside, *pointers.split(edit.pointer)))
        line = _line(change.before or "", pointer, place.document) or place.line
        descriptions.append(f"{_verb(edit)} {edit.pointer} in {place.path}:{line}")
    return "; ".join(descriptions)


def _verb(edit: Edit) -> str:
    match edit:
        case Set():
            return "set"
        case Add():
            return "add to"
        case Remove():
            return "remove"


def _line(text: str, pointer: str, document: int) -> int | None:
    """The line of a field, or of the nearest field above it that the file has."""
    parts = pointers.split(pointer)
    for length in range(len(parts), 0, -1):
        line = position(text, pointers.join(parts[:length]), document=document)
        if line is not None:
            return line
    return None


def _dropped(checkout: Checkout, place: ManifestPlace, target: str) -> FileChange:
    """Remove the document from its file, or the file if it contains nothing else."""
    before = checkout.read(place.path)
    if len(_documents(before)) == 1 and not place.inside:
        return FileChange(place.path, before, None, target, place=f"delete {place.path}")
    after = without_document(before, place.document) if not place.inside else None
    if after is None:
        raise Refused(
            what=f"{place} cannot be removed safely",
            why="it is part of a List, or the end of its document is ambiguous",
            next="delete it manually; without --checkout, whysync fix shows what to delete",
        )
    return FileChange(place.path, before, after, target)


def _is_masked(fix: Fix) -> bool:
    values = [edit.value for edit in fix.edits if isinstance(edit, Set | Add)]
    return any(map(holds_a_mask, [*values, fix.create, fix.line]))


def _edited(checkout: Checkout, place: ManifestPlace, body: Object, target: str) -> FileChange:
    before = checkout.read(place.path)
    numbered = next((p for p in _documents(before) if p[0] == place.document), None)
    if numbered is None:
        raise Refused(what=f"{place.path} was changed in the meantime", next="run the command again")
    try:
        after = rewritten(before, place.document, _put(numbered[1], place.inside, body))
    except Uneditable as problem:
        raise Refused(
            what=f"{place} cannot be edited in place",
            why=problem.reason,
            next="edit it manually; without --checkout, whysync fix shows what to change",
        ) from problem
    return FileChange(place.path, before, after, target)


def _documents(text: str) -> list[tuple[int, Json]]:
    bodies = [d.body for d in documents(text) if isinstance(d, Document) and d.body is not None]
    return list(enumerate(bodies))


def _put(document: Json, path: tuple[str, ...], body: Object) -> Json:
    if not path:
        return body
    result = copy(document)
    parent = pointers.resolve(result, pointers.join(path[:-1]))
    items(parent)[int(path[-1])] = body
    return result


# --- find the object -------------------------------------------------------------------------------


def _find(fix: Fix, case: Case, checkout: Checkout, only: str) -> ManifestPlace:
    assert fix.target is not None
    target, folders = fix.target, [Folder("", Tool.FOLDER)]
    if fix.kind is FixKind.MANIFEST:
        folders = folders_of(case, checkout)
    matches = [place for folder in folders for place in checkout.objects(target, folder.path)]
    matches = _of_namespace(matches, target, case)
    if only:
        matches = [place for place in matches if place.path == only.removeprefix("./")]
    rendered = [folder for folder in folders if folder.tool is not Tool.FOLDER]
    if rendered and len(rendered) == len(folders):
        raise _rendered_by(rendered[0], target, fix, matches)
    if not matches:
        raise _not_found(fix, target, checkout, only)
    if len(matches) > 1 and fix.drops:
        matches = _same_content(matches, object_of(fix, case)) or matches
    if len(matches) > 1:
        raise Refused(
            what=f"{target} is declared in {len(matches)} places: {', '.join(map(str, matches[:5]))}",
            why="whysync does not guess which of them this app reads",
            next="choose one with --file PATH",
        )
    return matches[0]


def _same_content(matches: list[ManifestPlace], diagnosed: Manifest | None) -> list[ManifestPlace]:
    """Of an object that is declared twice, the copy to remove; of two equal copies, the first."""
    if diagnosed is None:
        return []
    expected = _unmarked(diagnosed.body)
    return [place for place in matches if same(_unmarked(place.body), expected)][:1]


def _unmarked(body: Object) -> Object:
    """The manifest as written in Git: without the namespace and the tracking metadata that Argo CD adds."""
    result = copy_object(body)
    meta = fields(result.get("metadata"))
    notes = fields(meta.get("annotations"))
    notes.pop(TRACKING_ID, None)
    if not notes:
        meta.pop("annotations", None)
    meta.pop("namespace", None)
    return result


def _of_namespace(matches: list[ManifestPlace], target: Ref, case: Case) -> list[ManifestPlace]:
    """Prefer a manifest that names the namespace; one without it gets the destination's."""
    exact = [place for place in matches if place.ref.namespace == target.namespace]
    if exact:
        return exact
    namespaces = (target.namespace, case.destination_namespace)
    if target.namespace:
        return [place for place in matches if not place.ref.namespace]
    return [place for place in matches if place.ref.namespace in namespaces]


def _rendered_by(folder: Folder, target: Ref, fix: Fix, matches: list[ManifestPlace]) -> Refused:
    """Where to make the change if a tool renders the manifest: its output has no file."""
    pointers_text = ", ".join(dict.fromkeys(edit.pointer for edit in fix.edits))
    folder_name = folder.path or "the source"
    if fix.drops:
        return Refused(
            what=f"{target} is rendered by {folder.tool} in {folder_name}: no file contains it as it is",
            why="whysync does not know which template, value or resource it comes from",
            next=f"remove it from the input of {folder.tool} there",
        )
    match folder.tool:
        case Tool.KUSTOMIZE:
            hint = f" (it starts from {matches[0]})" if matches else ""
            next = (
                f"add a patch for {target.kind} {target.name} at {pointers_text} to the kustomization of"
                f" {folder_name}, or change its base{hint} if all overlays should change"
            )
        case Tool.HELM:
            next = (
                f"change the values or the template that set {pointers_text} of {target.kind} {target.name}"
            )
        case _:
            next = f"change what the plugin reads, so that {pointers_text} of {target} changes"
    return Refused(
        what=f"{target} is rendered by {folder.tool} in {folder_name}: no file contains it as it is",
        why="a change of the rendered manifest would be lost with the next rendering",
        next=f"{next}; without --checkout, whysync fix shows the change of the rendered manifest",
    )


def _not_found(fix: Fix, target: Ref, checkout: Checkout, only: str) -> Refused:
    if only and not checkout.has_file(only):
        return Refused(
            what=f"there is no file {only!r} in the checkout", next="give its path from the checkout's root"
        )
    if fix.kind is not FixKind.MANIFEST:
        return Refused(
            what=f"no file of the checkout contains {target}",
            why="it may be stored elsewhere, or generated by a template or an ApplicationSet",
            next="-o commands changes it with kubectl; or give the checkout that contains it",
        )
    return Refused(
        what=f"no file of the checkout contains {target}",
        why="files that are templates cannot be read as manifests, and links are not followed",
        next="check the repository and branch; without --checkout, whysync fix shows the change",
    )


# --- fit the edits to the file ----------------------------------------------------------------------


def fitted_edit(edit: Edit, diagnosed: Manifest | None, place: ManifestPlace) -> Edit:
    """The same edit for the file's object: list elements are found by name, and nothing else may differ."""
    if diagnosed is None:
        return edit
    pointer = moved(edit.pointer, diagnosed.body, place.body)
    if pointer is None:
        raise _differs(edit.pointer, place)
    fitted = replace(edit, pointer=pointer)
    unchanged = same(place.body, edited(place.body, [fitted]))
    if not unchanged and not isinstance(edit, Add):
        diagnosed_value, file_value = diagnosed.at(edit.pointer), pointers.resolve(place.body, pointer)
        masked = not isinstance(diagnosed_value, Missing) and holds_a_mask(diagnosed_value)
        if not masked and not _alike(diagnosed_value, file_value):
            raise _differs(edit.pointer, place)
    return fitted


def _alike(diagnosed: Json | Missing, in_file: Json | Missing) -> bool:
    if isinstance(diagnosed, Missing) or isinstance(in_file, Missing):
        both_missing = isinstance(diagnosed, Missing) and isinstance(in_file, Missing)
        return both_missing or _is_marks_only(diagnosed, in_file)
    return same(diagnosed, in_file)


def _is_marks_only(diagnosed: Json | Missing, in_file: Json | Missing) -> bool:
    """Is it a map that only exists because Argo CD adds its tracking label or annotation?"""
    return isinstance(in_file, Missing) and not isinstance(diagnosed, Missing) and diagnosed in ({}, [], None)


def _differs(pointer: str, place: ManifestPlace) -> Refused:
    return Refused(
        what=f"{place.path} differs at {pointer} from the manifest that was diagnosed",
        why="the checkout is of another commit, or another tool changes the manifest",
        next="check out the commit that Argo CD compared (whysync get shows it), or edit the file manually",
    )


# --- new files and policy lines ----------------------------------------------------------------------


def _belongs_elsewhere(body: Object) -> Refused:
    """Objects that the app's own sync already needs cannot be added to its source."""
    names = " and ".join(map(str, created_refs(body)))
    return Refused(
        what=f"{names} cannot be part of the app's own manifests",
        why="the app's sync needs it beforehand, or is not allowed to create it",
        next="-o yaml | kubectl apply -f -, with sufficient permissions; or choose a file with --file PATH",
    )


def _new_file(body: Object, case: Case, checkout: Checkout, only: str) -> FileChange:
    ref = ref_of(body)
    folders = folders_of(case, checkout)
    declared = _of_namespace([p for f in folders for p in checkout.objects(ref, f.path)], ref, case)
    if declared:
        if same(declared[0].body, body):
            content = checkout.read(declared[0].path)
            return FileChange(declared[0].path, content, content, str(ref))
        raise Refused(
            what=f"{ref} is already in Git with different content: {declared[0]}",
            next="compare the two; -o yaml shows what the fix would write",
        )
    if only:
        path = only.removeprefix("./")
    elif len(folders) == 1 and folders[0].tool is Tool.FOLDER:
        path = f"{folders[0].path}/{new_file_name(body)}".removeprefix("/")
    else:
        tools = " and ".join(sorted({folder.tool.value for folder in folders}))
        raise Refused(
            what=f"it is not clear where a new {ref.kind} belongs ({tools}, {len(folders)} sources)",
            why="Kustomize must list it, Helm must have it in its templates",
            next="choose the file with --file PATH, and reference it from the kustomization or chart",
        )
    if checkout.has_file(path):
        content = checkout.read(path)
        if any(same(place.body, body) for place in places_in(path, content)):
            return FileChange(path, content, content, str(ref))
        raise Refused(
            what=f"{path} already exists with different content", next="choose another: --file PATH"
        )
    return FileChange(path, None, dump(body), str(ref))


def _policy(line: str, case: Case, checkout: Checkout, only: str) -> FileChange:
    fix = policy_edit(line, case)
    assert fix.target is not None
    place = _find(fix, case, checkout, only)
    policy = text(fields(place.body.get("data")).get("policy.csv"))
    if line.strip() in (line.strip() for line in policy.splitlines()):
        content = checkout.read(place.path)
        return FileChange(place.path, content, content, str(fix.target))
    edit = Set(pointer="/data/policy.csv", value=with_line(policy, line))
    return _edited(checkout, place, edited(place.body, [edit]), str(fix.target))


def policy_edit(line: str, case: Case) -> Fix:
    """A policy line as an edit of the ConfigMap that contains it."""
    config_map = case.settings("argocd-rbac-cm")
    ref = config_map.ref if config_map is not None else None
    ref = ref or Ref(version="v1", kind="ConfigMap", namespace=argocd_namespace(case), name="argocd-rbac-cm")
    policy = text(fields(config_map.body.get("data")).get("policy.csv")) if config_map is not None else ""
    edit = Set(pointer="/data/policy.csv", value=with_line(policy, line))
    return Fix(title="", kind=FixKind.SETTINGS, target=ref, edits=(edit,))


def with_line(policy: str, line: str) -> str:
    if line.strip() in (line.strip() for line in policy.splitlines()):
        return policy
    return f"{policy}\n{line}\n" if policy and not policy.endswith("\n") else f"{policy}{line}\n"


def moved(pointer: str, known: Object, other: Object) -> str | None:
    """The pointer in `other` to what `pointer` names in `known`; `None` if there is none.

    A field that neither copy has keeps its pointer: it will be added there.
    """
    known_value: Json | Missing = known
    other_value: Json | Missing = other
    parts: list[str] = []
    for part in pointers.split(pointer):
        if isinstance(known_value, list) and isinstance(other_value, list):
            index = _index(part, known_value, other_value)
            if index is None:
                return None
            parts.append(str(index))
            known_value = pointers.resolve(known_value, pointers.join([part]))
            other_value = pointers.resolve(other_value, pointers.join([str(index)]))
            continue
        parts.append(part)
        known_value = pointers.resolve(known_value, pointers.join([part]))
        other_value = pointers.resolve(other_value, pointers.join([part]))
    return pointers.join(parts)


def _index(part: str, known: list[Json], others: list[Json]) -> int | None:
    at = pointers.index_of(part)
    if at is None:
        return None
    if at >= len(known):
        return len(others)
    element = known[at]
    matches = [n for n, other in enumerate(others) if _is_same_element(element, other)]
    if len(matches) == 1:
        return matches[0]
    return at if at in matches else None


def _is_same_element(element: Json, other: Json) -> bool:
    name = name_of(element)
    if name is None or not isinstance(other, dict):
        return same(element, other)
    (key,) = name
    if key == "metadata":
        return same(name, name_of(other))
    return key in other and _as_text(name[key]) == _as_text(other[key])


def _as_text(value: Json) -> str:
    return text(value, str(value))


def without_document(text: str, number: int) -> str | None:
    """The text without a document; `number` counts non-empty documents from 0. `None` if this is not safe."""
    pieces = _pieces(text)
    at = -1
    for index, piece in enumerate(pieces):
        bodies = _bodies(piece)
        if bodies is None or len(bodies) > 1:
            return None
        at += len(bodies)
        if bodies and at == number:
            after = "".join(pieces[:index] + pieces[index + 1 :])
            return after if _is_without(text, after, number) else None
    return None


def _pieces(text: str) -> list[str]:
    """The documents as text, each with its separator."""
    pieces: list[str] = [""]
    for line in text.splitlines(keepends=True):
        if _MARK.fullmatch(line) and pieces[-1]:
            pieces.append("")
        pieces[-1] += line
    return pieces


def _is_without(before: str, after: str, number: int) -> bool:
    """Parse the result: was nothing else removed or changed?"""
    expected, actual = _bodies(before), _bodies(after)
    if expected is None or actual is None:
        return False
    del expected[number]
    return len(expected) == len(actual) and all(map(same, expected, actual))


def _bodies(text: str) -> list[Json] | None:
    bodies: list[Json] = []
    for document in documents(text):
        if not isinstance(document, Document):
            return None
        if document.body is not None:
            bodies.append(document.body)
    return bodies


def secret_lines(text: str) -> set[int]:
    """Line numbers from 0. If a file cannot be parsed, all of its lines are secret."""
    text = text.removeprefix("\ufeff")
    everything = set(range(text.count("\n") + 1))
    try:
        nodes = written_documents(text)
    except (unreadable_nodes(), Invalid):
        return everything
    bodies = [d.body for d in documents(text) if isinstance(d, Document) and d.body is not None]
    if len(bodies) != len(nodes):
        return everything
    secret: set[int] = set()
    masker = Masker()
    for node, body in zip(nodes, bodies, strict=True):
        if not isinstance(body, dict):
            continue
        masked = masker.mask_object(copy_object(body))
        for path in _changed(body, masked, ()):
            value_node = _nearest(node, path)
            first = text.count("\n", 0, value_node.start)
            secret.update(range(first, first + text.count("\n", value_node.start, value_node.end) + 1))
    return secret


def _changed(before: Json, after: Json, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        for key in before:
            yield from _changed(before[key], after[key], (*path, key))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _changed(old, new, (*path, str(number)))
    elif not same(before, after):
        yield path


def _nearest(node: Node, path: tuple[str, ...]) -> Node:
    """The node of the value, or for an alias or a merge key the node that encloses it."""
    while (match := node.at(path)) is None:
        path = path[:-1]
    return match
