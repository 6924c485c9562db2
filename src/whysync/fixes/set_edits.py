"""The edit that changes a field of an Application which an ApplicationSet generates.

The value is in the template, in an element of a list generator, or in a file that a git generator reads. An
edit of a generator is accepted if expanding the set again changes nothing but this field of this Application.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from whysync.argocd.application_sets.errors import NotExpanded
from whysync.argocd.application_sets.expand import expanded
from whysync.argocd.application_sets.inputs import OneRepository
from whysync.argocd.repo_server.working_copy import WorkingCopy
from whysync.diagnosis.case import Case
from whysync.diagnosis.fix import Remove, Set
from whysync.errors import Refused
from whysync.facts.checkout import Checkout
from whysync.fixes.edit import edited
from whysync.fixes.files import FileChange, location_of_change
from whysync.fixes.helm_values import InApplication
from whysync.fixes.yaml_edit import Uneditable, rewritten
from whysync.golang.glob import pathspec_match
from whysync.json_tree import Json, Missing, Object, fields, items, same, text
from whysync.kubernetes.api import pointer as pointers
from whysync.kubernetes.api.manifest_places import ManifestPlace
from whysync.kubernetes.api.ref import Ref
from whysync.kubernetes.api.yaml import Document, documents, position

_MOST_CANDIDATES = 200


def set_change(owner: str, setting: InApplication, case: Case, checkout: Checkout) -> FileChange:
    """Raises `Refused` if no edit of the checkout changes the generated Application in this way only."""
    place = _declared(owner, case, checkout)
    edit = _SetEdit(place, setting, case, checkout)
    written = pointers.resolve(place.body, edit.template_pointer)
    if isinstance(written, str) and "{{" not in written and same(written, edit.current):
        return edit.in_template(owner)
    if isinstance(written, Missing) or not (isinstance(written, str) and "{{" in written):
        raise _refused(owner, setting, edit.location, "the template does not contain the field itself")
    change = edit.in_generator(owner)
    if change is None:
        raise _refused(owner, setting, edit.location, edit.problem)
    return change


def _declared(owner: str, case: Case, checkout: Checkout) -> ManifestPlace:
    ref = Ref(
        group="argoproj.io",
        version="v1alpha1",
        kind="ApplicationSet",
        namespace=case.app.namespace,
        name=owner,
    )
    places = [place for place in checkout.objects(ref) if place.ref.namespace in ("", case.app.namespace)]
    if len(places) != 1 or places[0].inside:
        where = f" ({', '.join(map(str, places[:3]))})" if places else ""
        raise Refused(
            what=f"ApplicationSet {owner} generates {case.application.ref}: change its template or generator",
            why=f"the checkout contains it {len(places)} times{where}"
            if places
            else "the checkout does not contain the ApplicationSet",
            next=f"change the template or the generator of ApplicationSet {owner}",
        )
    return places[0]


def _refused(owner: str, setting: InApplication, location: str, why: str) -> Refused:
    value = "" if isinstance(setting.value, Missing) else f" to {setting.value}"
    verb = "remove" if isinstance(setting.value, Missing) else "set"
    return Refused(
        what=f"ApplicationSet {owner} sets {setting.name} ({location}): {verb} {setting.name}{value} there",
        why=why,
        next=f"change the template or the generator of ApplicationSet {owner}",
    )


class _Candidate(NamedTuple):
    path: str
    document: int
    pointer: str
    before: Json
    value: Json


class _SetEdit:
    def __init__(self, place: ManifestPlace, setting: InApplication, case: Case, checkout: Checkout) -> None:
        self.place = place
        self.setting = setting
        self.case = case
        self.checkout = checkout
        self.template_pointer = f"/spec/template{setting.pointer}"
        self.current = pointers.resolve(case.application.body, setting.pointer)
        self.problem = "no value of a generator changes only this field of this Application"

    @property
    def location(self) -> str:
        data = self.checkout.read(self.place.path)
        parts = pointers.split(self.template_pointer)
        lengths = range(len(parts), 1, -1)
        joined = (pointers.join(parts[:length]) for length in lengths)
        lines = (position(data, pointer, document=self.place.document) for pointer in joined)
        return f"{self.place.path}:{next((line for line in lines if line), self.place.line)}"

    def in_template(self, owner: str) -> FileChange:
        edit = Remove(pointer=self.template_pointer)
        if not isinstance(self.setting.value, Missing):
            edit = Set(pointer=self.template_pointer, value=self.setting.value)
        before = self.checkout.read(self.place.path)
        try:
            after = rewritten(before, self.place.document, edited(self.place.body, [edit]))
        except Uneditable as problem:
            raise _refused(owner, self.setting, self.location, problem.reason) from problem
        change = FileChange(self.place.path, before, after, f"ApplicationSet {owner}")
        verb = "remove" if isinstance(edit, Remove) else "set"
        others = self._others(owner)
        return change._replace(
            place=f"{verb} {self.setting.name} in {self.place.path}:{location_of_change(change).line}"
            f" (template of ApplicationSet {owner})",
            check=f"the template also generates {', '.join(others)}: it changes for all of them"
            if others
            else f"ApplicationSet {owner} generates only {self.case.app.qualified_name}",
        )

    def _others(self, owner: str) -> list[str]:
        return [
            app.qualified_name
            for _, app in self.case.index.decoded
            if app.qualified_name != self.case.app.qualified_name
            and app.namespace == self.case.app.namespace
            and any(
                reference.kind == "ApplicationSet" and reference.name == owner
                for reference in app.metadata.owner_references
            )
        ]

    def in_generator(self, owner: str) -> FileChange | None:
        if isinstance(self.setting.value, Missing | dict | list) or isinstance(self.current, Missing):
            return None
        with WorkingCopy(self.checkout.root) as files:
            inputs = OneRepository(files.tree.root)
            try:
                generated = expanded(self.place.body, inputs)
            except NotExpanded as problem:
                self.problem = f"the set cannot be expanded here: {problem}"
                return None
            goals = [self._goal(application) for application in generated]
            if goals == generated:
                self.problem = "the checkout generates another Application than the one that was diagnosed"
                return None
            for number, candidate in enumerate(self._candidates()):
                if number >= _MOST_CANDIDATES:
                    break
                before = self.checkout.read(candidate.path)
                after = self._rewritten(before, candidate)
                if after is None or not self._gives(goals, files, inputs, {candidate.path: after}):
                    continue
                change = FileChange(candidate.path, before, after, f"ApplicationSet {owner}")
                line = location_of_change(change).line
                key = ".".join(pointers.split(candidate.pointer))
                return change._replace(
                    place=f"set {key} in {candidate.path}:{line} (generator of ApplicationSet {owner})",
                    check=f"expanded again: only {self.setting.name} of {self.case.application.ref} changes",
                )
        return None

    def _goal(self, application: Object) -> Object:
        """The Application after the fix; unchanged if it is another one."""
        is_this = text(fields(application.get("metadata")).get("name")) == self.case.app.name
        if not is_this or not same_text(pointers.resolve(application, self.setting.pointer), self.current):
            return application
        assert not isinstance(self.setting.value, Missing)
        return edited(application, [Set(pointer=self.setting.pointer, value=self.setting.value)])

    def _candidates(self) -> Iterator[_Candidate]:
        """Values of list elements and of files that occur in the field, with what they would have to be."""
        for above, generator in _generators(self.place.body.get("spec"), "/spec"):
            elements = fields(generator.get("list")).get("elements")
            yield from self._values(self.place.path, self.place.document, elements, f"{above}/list/elements")
            for path in self._files(fields(generator.get("git"))):
                content = self.checkout.read(path)
                bodies = (d.body for d in documents(content) if isinstance(d, Document))
                for number, body in enumerate(body for body in bodies if body is not None):
                    yield from self._values(path, number, body, "")

    def _files(self, options: Object) -> list[str]:
        patterns = [text(fields(file).get("path")) for file in items(options.get("files"))]
        paths = self.checkout.files() if patterns else ()
        return [path for path in paths if any(pathspec_match(pattern, path) for pattern in patterns)]

    def _values(self, path: str, document: int, body: Json | None, above: str) -> Iterator[_Candidate]:
        current, goal = (
            text(self.current, str(self.current)),
            text(self.setting.value, str(self.setting.value)),
        )
        for pointer, value in _leaves(body, above):
            written = text(value, str(value))
            if not written or written not in current:
                continue
            prefix, _, suffix = current.partition(written)
            fits = goal.startswith(prefix) and goal.endswith(suffix)
            middle = goal[len(prefix) : len(goal) - len(suffix)] if fits else ""
            if not middle:
                continue
            if isinstance(value, str):
                yield _Candidate(path, document, pointer, value, middle)
            elif isinstance(value, int) and not isinstance(value, bool) and middle.isdecimal():
                yield _Candidate(path, document, pointer, value, int(middle))

    def _rewritten(self, before: str, candidate: _Candidate) -> str | None:
        bodies = [d.body for d in documents(before) if isinstance(d, Document) and d.body is not None]
        body = bodies[candidate.document]
        try:
            if isinstance(body, list):
                return None
            after = edited(fields(body), [Set(pointer=candidate.pointer, value=candidate.value)])
            return rewritten(before, candidate.document, after)
        except Uneditable:
            return None

    def _gives(
        self, goals: list[Object], files: WorkingCopy, inputs: OneRepository, changes: dict[str, str]
    ) -> bool:
        body = self.place.body
        if self.place.path in changes:
            written = documents(changes[self.place.path])
            bodies = [d.body for d in written if isinstance(d, Document) and d.body is not None]
            body = fields(bodies[self.place.document])
        with files.written(changes):
            try:
                return expanded(body, inputs) == goals
            except NotExpanded:
                return False


def same_text(value: Json | Missing, other: Json | Missing) -> bool:
    return not isinstance(value, Missing) and text(value, str(value)) == text(other, str(other))


def _generators(spec: Json, above: str) -> Iterator[tuple[str, Object]]:
    """All generators, also those inside of matrix and merge, with their pointers."""
    for number, generator in enumerate(map(fields, items(fields(spec).get("generators")))):
        pointer = f"{above}/generators/{number}"
        yield pointer, generator
        for kind in ("matrix", "merge"):
            yield from _generators(generator.get(kind), f"{pointer}/{kind}")


def _leaves(body: Json | None, above: str) -> Iterator[tuple[str, Json]]:
    if isinstance(body, dict):
        for key, value in body.items():
            yield from _leaves(value, above + pointers.join((key,)))
    elif isinstance(body, list):
        for number, value in enumerate(body):
            yield from _leaves(value, f"{above}/{number}")
    elif body is not None:
        yield above, body
