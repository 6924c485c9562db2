"""Edits of files that Helm or Kustomize reads, tried by rendering again.

An edit is accepted if it changes exactly the fields of the fix. The renderings use a temporary copy of the
checkout.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import NamedTuple

from whysync.argocd.repo_server.render import RefSource, RenderOptions, RenderProblem
from whysync.argocd.repo_server.render.options import RenderedObject, with_settings
from whysync.argocd.repo_server.working_copy import WorkingCopy
from whysync.argocd.tracking import instance_name
from whysync.diagnosis.case import Case
from whysync.diagnosis.drift.raw_difference import differences
from whysync.errors import Refused, SourceError
from whysync.facts.checkout import Checkout
from whysync.json_tree import Object, fields, items, same, text
from whysync.kubernetes.api.manifest_places import ManifestPlace
from whysync.kubernetes.api.ref import Ref, ref_of
from whysync.queries.commands import argocd_namespace

_MOST_RENDERINGS = 60


class NotInSource(Refused):
    """The source does not render the object."""


class FailsHere(Refused):
    """The source cannot be rendered on this machine."""


class Outcome(NamedTuple):
    """What a rendering with an edit changes: is the target as expected, and what else changes?"""

    is_expected: bool
    side_effects: tuple[str, ...]

    @property
    def is_exact(self) -> bool:
        return self.is_expected and not self.side_effects


class Rendering:
    """One source of an Application, rendered from a copy of the checkout, with and without edits."""

    def __init__(self, case: Case, checkout: Checkout, source: Object, target: Ref, tool: str) -> None:
        self.case = case
        self.checkout = checkout
        self.app = case.application.body
        self.source = source
        self.target = target
        self.tool = tool
        self.path = "/".join(part for part in text(source.get("path")).split("/") if part not in ("", "."))
        self.files = WorkingCopy(checkout.root)
        self.count = 0
        try:
            self.objects = self.rendered(source)
            self.object = self._object_in(self.objects)
        except BaseException:
            self.files.close()
            raise

    def __enter__(self) -> Rendering:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.files.close()

    @property
    def options(self) -> RenderOptions:
        app = self.case.app
        options = RenderOptions(instance=instance_name(app.name, app.namespace, argocd_namespace(self.case)))
        settings = self.case.settings("argocd-cm")
        options = with_settings(options, settings.body) if settings is not None else options
        refs = {
            f"${text(source.get('ref'))}": RefSource(repo=text(source.get("repoURL")), tree=self.files.tree)
            for source in map(fields, items(fields(self.app.get("spec")).get("sources")))
            if source.get("ref")
        }
        return RenderOptions(
            instance=options.instance,
            refs=refs,
            disabled_tools=options.disabled_tools,
            kustomize_build_options=options.kustomize_build_options,
            value_schemes=options.value_schemes,
        )

    def declarations(self) -> list[ManifestPlace]:
        """Where the checkout declares the Application itself."""
        places = self.checkout.objects(self.case.application.ref)
        return [place for place in places if place.ref.namespace in ("", self.case.app.namespace)]

    def rendered(self, source: Object) -> tuple[RenderedObject, ...]:
        """Raises `Refused` if the source cannot be rendered here."""
        self.count += 1
        if self.count > _MOST_RENDERINGS:
            raise Refused(
                what=f"{self.target} was rendered {_MOST_RENDERINGS} times without finding the place to edit",
                next="edit it manually; without --checkout, whysync fix shows what to change",
            )
        try:
            return self.files.render(self.app, source, self.options)
        except RenderProblem as problem:
            raise self._cannot_render(problem.text, "check out the commit that Argo CD compared") from problem
        except SourceError as problem:
            raise self._cannot_render(f"{problem.what}: {problem.why}", problem.next) from problem

    def _cannot_render(self, why: str, next: str) -> FailsHere:
        return FailsHere(
            what=f"{self.target} is rendered by {self.tool}"
            f" in {self.path or 'the source'}, which fails on this machine",
            why=why,
            next=f"{next}; without --checkout, whysync fix shows what to change",
        )

    def _object_in(self, objects: tuple[RenderedObject, ...]) -> RenderedObject:
        matches = [rendered for rendered in objects if self.is_target(rendered.body)]
        if len(matches) != 1:
            how_often = "does not contain" if not matches else f"contains {len(matches)} times"
            raise NotInSource(
                what=f"the rendering of {self.path or 'the source'} {how_often} {self.target}",
                why="the checkout is of another commit, or another source of the app declares it",
                next="check out the commit that Argo CD compared (whysync get shows it)",
            )
        return matches[0]

    def is_target(self, body: Object) -> bool:
        ref = ref_of(body)
        namespaces = ("", self.case.destination_namespace, self.target.namespace)
        return (ref.group, ref.kind, ref.name) == (
            self.target.group,
            self.target.kind,
            self.target.name,
        ) and (ref.namespace == self.target.namespace or ref.namespace in namespaces)

    def outcome(self, objects: tuple[RenderedObject, ...], expected: Object) -> Outcome:
        """Compare a rendering with the one of the checkout; `expected` is the target after the fix."""
        before = {_key(rendered.body): rendered.body for rendered in self.objects}
        after = {_key(rendered.body): rendered.body for rendered in objects}
        target = _key(self.object.body)
        side_effects: list[str] = []
        for key in [*before, *(key for key in after if key not in before)]:
            old, new = before.get(key), after.get(key)
            goal = expected if key == target else old
            if goal is None or new is None:
                side_effects.append(f"{'adds' if new else 'removes'} {ref_of(new or old or {})}")
            elif not same(goal, new):
                pointers = sorted({difference.pointer for difference in differences(goal, new)})
                side_effects.append(f"{', '.join(pointers[:3])} of {ref_of(new)}")
        actual = after.get(target)
        fields_differ = actual is None or not same(actual, expected)
        return Outcome(is_expected=not fields_differ, side_effects=tuple(side_effects))

    def keep(self, changes: Mapping[str, str]) -> None:
        """Write these files to the copy, for the next edit of the same fix."""
        self.files.write(changes)
        self.objects = self.rendered(self.source)
        self.object = self._object_in(self.objects)

    def tried(self, changes: Mapping[str, str], expected: Object) -> Outcome:
        """The outcome of writing these files."""
        with self.files.written(changes):
            return self.outcome(self.rendered(self.source), expected)


def _key(body: Object) -> tuple[str, str, str, str]:
    ref = ref_of(body)
    return ref.group, ref.kind, ref.namespace, ref.name
