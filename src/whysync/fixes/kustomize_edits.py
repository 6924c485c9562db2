"""The edit of an overlay that changes a field: an image or replica entry, a generator, a patch, or a new one.

Each candidate is rendered; the first that changes exactly the expected fields is used. Places that set the
field already come before those to which it has to be added. Files outside the overlay, such as a base that
other overlays share, are never edited.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from whysync.diagnosis.fix import Edit, Set
from whysync.errors import Refused
from whysync.facts.checkout import Checkout
from whysync.fixes.edit import edited
from whysync.fixes.files import FileChange, location_of_change, moved
from whysync.fixes.helm_values import FoundValue, InApplication, source_pointer
from whysync.fixes.patches import json_patch
from whysync.fixes.rendered_files import Rendering
from whysync.fixes.yaml_edit import Uneditable, rewritten
from whysync.json_tree import Json, Missing, Object, copy_object, fields, items, same, text
from whysync.kubernetes.api import pointer as pointers
from whysync.kubernetes.api import yaml
from whysync.kubernetes.api.yaml.errors import Invalid

_NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")


class _Candidate(NamedTuple):
    path: str
    document: int
    after: Json
    verb: str
    pointer: str
    text: str | None = None
    """The whole file after the edit, if it is not YAML."""


class KustomizeEdits:
    def __init__(
        self, rendering: Rendering, checkout: Checkout, edits: Sequence[Edit], expected: Object
    ) -> None:
        self.rendering = rendering
        self.checkout = checkout
        self.edits = edits
        self.expected = expected
        self.path = kustomization_in(rendering)
        self.body = fields(_parsed(rendering.files.read(self.path)))

    def find(self) -> FoundValue:
        """Raises `Refused` if no edit of the overlay gives the expected object."""
        for candidate in self._candidates():
            before = self.rendering.files.read(candidate.path)
            try:
                after = candidate.text
                if after is None:
                    after = rewritten(before, candidate.document, candidate.after)
                outcome = self.rendering.tried({candidate.path: after}, self.expected)
            except (Uneditable, Refused):
                continue
            if outcome.is_exact:
                location = _location(before, after, candidate)
                return FoundValue(candidate.path, f"{candidate.verb} in {location}", after)
        self._try_application()
        override = fields(self.rendering.source.get("kustomize"))
        override_note = (
            f"; spec.source.kustomize of the Application sets {', '.join(override)}" if override else ""
        )
        raise Refused(
            what=f"no edit of {self.path} changes only these fields of {self.rendering.target}",
            why="tried: images, replicas, generators, files and patches of the overlay, a new patch"
            f"{override_note}",
            next="edit it manually; without --checkout, whysync fix shows what to change",
        )

    def _candidates(self) -> Iterator[_Candidate]:
        yield from self._images()
        yield from self._replicas()
        yield from self._generators()
        yield from self._patches_in_kustomization()
        files = list(self._files())
        yield from (file for file, sets_it in files if sets_it)
        yield from (file for file, sets_it in files if not sets_it)
        yield from self._new_patches()

    def _try_application(self) -> None:
        """`spec.source.kustomize` of the Application overrides the overlay: raises `InApplication`."""
        source, goals = self.rendering.source, [e.value for e in self.edits if isinstance(e, Set)]
        if len(goals) != 1 or len(self.edits) != 1:
            return
        options = fields(source.get("kustomize"))
        for name, pointer, value in _overrides(options, goals[0]):
            changed: Object = {**source, "kustomize": edited(options, [Set(pointer=pointer, value=value)])}
            try:
                outcome = self.rendering.outcome(self.rendering.rendered(changed), self.expected)
            except Refused:
                continue
            if outcome.is_exact:
                raise InApplication(name, f"{source_pointer(self.rendering)}/kustomize{pointer}", value)

    def _images(self) -> Iterator[_Candidate]:
        """`newTag` of an image that the overlay replaces."""
        goal = self._only_value("image")
        name, _, tag = text(goal).rpartition(":")
        if not name or "/" in tag or "@" in text(goal):
            return
        for number, image in enumerate(map(fields, items(self.body.get("images")))):
            if name in (text(image.get("newName")), text(image.get("name"))) and image.get("newTag"):
                pointer = f"/images/{number}/newTag"
                yield self._in_kustomization(pointer, tag, f"set newTag of image {text(image.get('name'))}")

    def _replicas(self) -> Iterator[_Candidate]:
        goal = self._only_value("replicas")
        if not isinstance(goal, int):
            return
        for number, entry in enumerate(map(fields, items(self.body.get("replicas")))):
            name = text(entry.get("name"))
            if name and name in self.rendering.target.name:
                yield self._in_kustomization(
                    f"/replicas/{number}/count", goal, f"set count of replicas {name}"
                )

    def _only_value(self, key: str) -> Json:
        if len(self.edits) != 1 or not isinstance(self.edits[0], Set):
            return None
        edit = self.edits[0]
        return edit.value if pointers.split(edit.pointer)[-1] == key else None

    def _in_kustomization(self, pointer: str, value: Json, verb: str) -> _Candidate:
        after = edited(self.body, [Set(pointer=pointer, value=value)])
        return _Candidate(self.path, 0, after, verb, pointer)

    def _generators(self) -> Iterator[_Candidate]:
        """A literal or a file of a configMapGenerator of the overlay."""
        edit = self.edits[0]
        parts = pointers.split(edit.pointer)
        if len(self.edits) != 1 or not isinstance(edit, Set) or len(parts) != 2 or parts[0] != "data":
            return
        kind, key = "configMapGenerator", parts[1]
        if self.rendering.target.kind != "ConfigMap" or not isinstance(edit.value, str):
            return
        for number, generator in enumerate(map(fields, items(self.body.get(kind)))):
            if (
                not text(generator.get("name"))
                or text(generator.get("name")) not in self.rendering.target.name
            ):
                continue
            verb = f"set {key} of {kind} {text(generator.get('name'))}"
            for index, literal in enumerate(items(generator.get("literals"))):
                if text(literal).partition("=")[0] == key:
                    pointer = f"/{kind}/{number}/literals/{index}"
                    yield self._in_kustomization(pointer, f"{key}={edit.value}", verb)
            for file in map(text, items(generator.get("files"))):
                name, equals, path = file.partition("=")
                path = path if equals else file
                full = _joined(self.rendering.path, path)
                own = self.rendering.files.has(full) and full.startswith(f"{self.rendering.path}/")
                if own and (name if equals else path.rpartition("/")[2]) == key:
                    yield _Candidate(full, 0, None, verb, "", edit.value)

    def _patches_in_kustomization(self) -> Iterator[_Candidate]:
        """Patches that are written in the kustomization, and JSON patches in files of the overlay."""
        for key in ("patches", "patchesJson6902"):
            for number, entry in enumerate(map(fields, items(self.body.get(key)))):
                pointer, path = (
                    f"/{key}/{number}/patch",
                    _joined(self.rendering.path, text(entry.get("path"))),
                )
                if text(entry.get("patch")):
                    written = self._patched(text(entry.get("patch")))
                    if written is not None:
                        verb = f"change {self._pointers_text} in a patch"
                        yield self._in_kustomization(pointer, written, verb)
                elif text(entry.get("path")) and path.startswith(f"{self.rendering.path}/"):
                    written = self._patched(self.rendering.files.read(path), is_file=True)
                    if written is not None:
                        yield _Candidate(path, 0, None, f"change {self._pointers_text}", "", written)

    @property
    def _pointers_text(self) -> str:
        return ", ".join(edit.pointer for edit in self.edits)

    def _patched(self, patch: str, *, is_file: bool = False) -> str | None:
        """The text of a patch with the new values, if it sets all of these fields now.

        Strategic merge patches in files are objects, which `_files` finds.
        """
        body = _parsed_or_none(patch)
        after: Json = None
        if isinstance(body, list):
            after = self._operations(body)
        elif isinstance(body, dict) and not is_file:
            after = self._merge_patch(body)
        if after is None:
            return None
        try:
            return rewritten(patch, 0, after)
        except Uneditable:
            return None

    def _operations(self, body: list[Json]) -> Json:
        after = [copy_object(fields(operation)) for operation in body]
        for edit in self.edits:
            operation = next((o for o in after if text(o.get("path")) == edit.pointer), None)
            if operation is None or "value" not in operation or not isinstance(edit, Set):
                return None
            operation["value"] = edit.value
        return [*after]

    def _merge_patch(self, body: Object) -> Json:
        moved_pointers = [moved(edit.pointer, self.rendering.object.body, body) for edit in self.edits]
        fitted: list[Edit] = []
        for edit, pointer in zip(self.edits, moved_pointers, strict=True):
            if pointer is None or isinstance(pointers.resolve(body, pointer), Missing):
                return None
            fitted.append(replace(edit, pointer=pointer))
        return edited(body, fitted)

    def _files(self) -> Iterator[tuple[_Candidate, bool]]:
        """Manifests and patches of the overlay's own folder that are about the object.

        With each: does it set all of the fields now?
        """
        rendered, target = self.rendering.object.body, self.rendering.target
        names = dict.fromkeys((target.name, self._plain_name()))
        refs = [replace(target, name=name) for name in names]
        for place in (place for ref in refs for place in self.checkout.objects(ref, self.rendering.path)):
            if place.inside:
                continue
            moved_pointers = [moved(edit.pointer, rendered, place.body) for edit in self.edits]
            if any(pointer is None for pointer in moved_pointers):
                continue
            fitted = [
                replace(edit, pointer=pointer or "")
                for edit, pointer in zip(self.edits, moved_pointers, strict=True)
            ]
            after = edited(place.body, fitted)
            if not same(after, place.body):
                pointers_text = ", ".join(edit.pointer for edit in fitted)
                values = [pointers.resolve(place.body, edit.pointer) for edit in fitted]
                sets_it = not any(isinstance(value, Missing) for value in values)
                verb = f"{'change' if sets_it else 'add'} {pointers_text}"
                yield _Candidate(place.path, place.document, after, verb, fitted[0].pointer), sets_it

    def _new_patches(self) -> Iterator[_Candidate]:
        """A new patch in the overlay."""
        operations = json_patch(self.rendering.object.body, self.edits)
        target = self.rendering.target
        for name in dict.fromkeys((target.name, self._plain_name())):
            chosen: Object = {"kind": target.kind, "name": name}
            if target.group:
                chosen = {"group": target.group, **chosen}
            entry: Object = {"target": chosen, "patch": yaml.dump(operations)}
            after = copy_object(self.body)
            after["patches"] = [*items(after.get("patches")), entry]
            yield _Candidate(self.path, 0, after, f"add a patch of {target.kind} {name}", "/patches")

    def _plain_name(self) -> str:
        """The name before this kustomization adds its prefix and suffix."""
        name = self.rendering.target.name
        return name.removeprefix(text(self.body.get("namePrefix"))).removesuffix(
            text(self.body.get("nameSuffix"))
        )


def _location(before: str, after: str, candidate: _Candidate) -> str:
    """The file with the line that changes, of a value that was there, or of the end of a list."""
    line = (
        yaml.position(before, candidate.pointer, document=candidate.document) if candidate.pointer else None
    )
    if candidate.text is not None or candidate.pointer.endswith("/patch"):
        line = location_of_change(FileChange(candidate.path, before, after, "")).line
    return f"{candidate.path}:{line}" if line else candidate.path


def _overrides(options: Object, goal: Json) -> Iterator[tuple[str, str, Json]]:
    """Values of `spec.source.kustomize` that may set the field: name, pointer and new value."""
    for number, image in enumerate(map(text, items(options.get("images")))):
        renamed, equals, new = image.rpartition("=")
        name = (new if equals else image).partition("@")[0]
        name = name.rpartition(":")[0] if ":" in name.rpartition("/")[2] else name
        if isinstance(goal, str) and goal.startswith((f"{name}:", f"{name}@")):
            value = f"{renamed}={goal}" if equals else goal
            yield f"image {renamed or name}", f"/images/{number}", value
    for number, entry in enumerate(map(fields, items(options.get("replicas")))):
        if isinstance(goal, int):
            yield f"replicas {text(entry.get('name'))}", f"/replicas/{number}/count", goal


def _parsed_or_none(content: str) -> Json:
    try:
        return yaml.load(content)
    except Invalid:
        return None


def kustomization_in(rendering: Rendering) -> str:
    for name in _NAMES:
        path = f"{rendering.path}/{name}".lstrip("/")
        if rendering.files.has(path):
            return path
    raise Refused(
        what=f"{rendering.path} has no kustomization", next="check the path of the Application's source"
    )


def _parsed(content: str) -> Json:
    try:
        return yaml.load(content)
    except Invalid as problem:
        raise Refused(what="the kustomization cannot be read", why=str(problem)) from problem


def reached_folders(checkout: Checkout, path: str) -> set[str]:
    """A folder and the bases and components that its kustomization uses, directly or not."""
    reached: set[str] = set()
    waiting = [path]
    while waiting:
        folder = waiting.pop()
        if folder in reached:
            continue
        reached.add(folder)
        files = (f"{folder}/{name}".lstrip("/") for name in _NAMES)
        file = next((file for file in files if checkout.has_file(file)), "")
        body = fields(_parsed(checkout.read(file))) if file else {}
        for key in ("resources", "bases", "components"):
            waiting += [_joined(folder, text(used)) for used in items(body.get(key))]
    return reached


def _joined(folder: str, path: str) -> str:
    parts = [part for part in folder.split("/") if part]
    for part in path.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)
