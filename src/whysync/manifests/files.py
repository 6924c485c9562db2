"""Files and the objects in them, as `whysync lint` reads them."""

from __future__ import annotations

from enum import Enum

import msgspec

from whysync.diagnosis.file_location import FileLocation
from whysync.diagnosis.finding import NO_OBJECT, Confidence, Finding, Severity
from whysync.diagnosis.fix import Fix
from whysync.json_tree import Json, Object
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.kubernetes.api.yaml import Broken, Document


class Part(Enum):
    """The role of a file for Argo CD."""

    MANIFESTS = "manifests"
    KUSTOMIZATION = "kustomization"
    PATCH = "patch"
    """A Kustomize patch or component: a partial object."""
    LOOSE = "loose"
    """In the folder of a kustomization that does not reference it."""
    OTHER = "other"
    """Contains no object: values, settings of other tools."""


class File:
    """`path` is as the user would write it, with `/`; `folder` is the part before the name.

    `unread` is why a file is not a manifest: it is reported if an Application deploys the file.
    """

    __slots__ = ("broken", "documents", "folder", "name", "part", "path", "text", "unread")

    def __init__(self, path: str, text: str, documents: list[Document], broken: list[Broken]) -> None:
        self.path = path
        self.folder, _, self.name = path.rpartition("/")
        self.text = text
        self.documents = documents
        self.broken = broken
        self.unread: Broken | None = None
        self.part = Part.OTHER


class Item(Manifest):
    """One object: its document in the file, and its position in it (a List contains others).

    The number of the document is negative, and unique in its file, if the object was rendered.
    """

    __slots__ = ("document", "file", "inside", "kustomized")

    def __init__(self, body: Object, file: File, document: int, inside: tuple[str, ...] = ()) -> None:
        super().__init__(body, role=Role.DESIRED, origin=file.path)
        self.file = file
        self.document = document
        self.inside = inside
        self.kustomized = False

    @property
    def is_written_here(self) -> bool:
        return self.document >= 0


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was not checked, and why; `matters` if "no findings" would otherwise be misleading."""

    path: str
    why: str
    matters: bool = False


def finding(
    place: Manifest | File,
    verdict: str,
    *,
    field: str | None = None,
    line: int = 0,
    column: int = 0,
    hint: str = "",
    severity: Severity = Severity.CRITICAL,
    fix: Fix | None = None,
) -> Finding:
    """A finding about an object or a whole file; `severity` may be lower than the rule's, never higher."""
    location = None
    if isinstance(place, File):
        location = FileLocation(path=place.path, line=line, column=column)
    elif isinstance(place, Item):
        location = FileLocation(path=place.file.path, document=place.document, inside=place.inside)
    return Finding(
        about=NO_OBJECT if isinstance(place, File) else place.ref,
        verdict=verdict,
        confidence=Confidence.HIGH,
        severity=severity,
        field=field,
        hint=hint,
        fixes=(fix,) if fix else (),
        location=location,
    )


_DEEPEST_LIST = 4


def unfolded(
    value: Json, inside: tuple[str, ...] = (), depth: int = 0
) -> list[tuple[tuple[str, ...], Object]]:
    """The objects of a document, with Lists expanded."""
    if not isinstance(value, dict):
        return []
    kind, members = value.get("kind"), value.get("items")
    if isinstance(kind, str) and kind.endswith("List") and isinstance(members, list):
        if depth >= _DEEPEST_LIST:
            return []
        return [
            entry
            for number, member in enumerate(members)
            for entry in unfolded(member, (*inside, "items", str(number)), depth + 1)
        ]
    if isinstance(kind, str) and kind and isinstance(value.get("apiVersion"), str):
        return [(inside, value)]
    return []
