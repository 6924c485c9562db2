"""The edit of an overlay that changes a field: an image or replica entry, one of its files, or a new patch.

Each candidate is rendered; the first that changes exactly the expected fields is used. Files outside the
overlay, such as a base that other overlays share, are never edited.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from whysync.diagnosis.fix import Edit, Set
from whysync.errors import Refused
from whysync.facts.checkout import Checkout
from whysync.fixes.edit import edited
from whysync.fixes.files import moved
from whysync.fixes.helm_values import FoundValue
from whysync.fixes.patches import json_patch
from whysync.fixes.rendered_files import Rendering
from whysync.fixes.yaml_edit import Uneditable, rewritten
from whysync.json_tree import Json, Object, copy_object, fields, items, same, text
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
        for candidate in (*self._images(), *self._replicas(), *self._files(), *self._patches()):
            before = self.rendering.files.read(candidate.path)
            try:
                after = rewritten(before, candidate.document, candidate.after)
                outcome = self.rendering.tried({candidate.path: after}, self.expected)
            except (Uneditable, Refused):
                continue
            if outcome.is_exact:
                line = yaml.position(before, candidate.pointer, document=candidate.document)
                location = f"{candidate.path}:{line}" if line else candidate.path
                return FoundValue(candidate.path, f"{candidate.verb} in {location}", after)
        override = fields(self.rendering.source.get("kustomize"))
        override_note = (
            f"; spec.source.kustomize of the Application sets {', '.join(override)}" if override else ""
        )
        raise Refused(
            what=f"no edit of {self.path} changes only these fields of {self.rendering.target}",
            why=f"tried: images, replicas, files of the overlay, a new patch{override_note}",
            next="edit it manually; without --checkout, whysync fix shows what to change",
        )

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

    def _files(self) -> Iterator[_Candidate]:
        """Manifests and patches of the overlay's own folder that are about the object."""
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
                yield _Candidate(
                    place.path, place.document, after, f"change {pointers_text}", fitted[0].pointer
                )

    def _patches(self) -> Iterator[_Candidate]:
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
