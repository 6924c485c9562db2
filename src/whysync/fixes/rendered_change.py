"""A fix of an object that Helm renders, as an edit of a values file or a template in the checkout."""

from __future__ import annotations

from whysync.diagnosis.case import Case
from whysync.diagnosis.fix import Edit, Fix, Remove, Set
from whysync.errors import Refused
from whysync.facts.checkout import Checkout
from whysync.fixes.edit import edited
from whysync.fixes.files import FileChange, file_change, fitted_edit
from whysync.fixes.helm_values import FoundValue, InApplication, NoValue, Tracer, in_template
from whysync.fixes.origin import Tool, folders_of
from whysync.fixes.patches import object_of
from whysync.fixes.places import application_set_of
from whysync.fixes.rendered_files import NotInSource, Rendering
from whysync.json_tree import Missing, Object, fields, items, same, text
from whysync.kubernetes.api.manifest_places import ManifestPlace


def rendered_change(fix: Fix, case: Case, checkout: Checkout) -> FileChange | None:
    """The edit of a values file or template if Helm renders the object; `None` if another tool does."""
    folders = {folder.path: folder.tool for folder in folders_of(case, checkout)}
    helm = [
        source
        for source in sources_in(case.application.body)
        if not source.get("chart") and folders.get(_clean_path(source)) is Tool.HELM
    ]
    if not helm or len(helm) != len(folders):
        return None
    refused: Refused | None = None
    for source in helm:
        try:
            return _helm_change(fix, case, checkout, source)
        except NotInSource as problem:
            refused = problem
        except InApplication as problem:
            return _application_change(problem, case, checkout)
    raise refused or Refused(what=f"no source renders {fix.target}")


def _application_change(found: InApplication, case: Case, checkout: Checkout) -> FileChange:
    """The edit of the file that declares the Application, whose values override the files."""
    app, key = case.application.ref, found.edit.name
    owner = application_set_of(case)
    is_removed = isinstance(found.value, Missing)
    what = f"{'remove' if is_removed else 'set'} {key} in {found.pointer} of {app}"
    if owner or found.is_text:
        raise Refused(
            what=f"{app} itself sets {key}: {what}{f' to {found.value}' if not is_removed else ''}",
            why=f"ApplicationSet {owner} generates the Application: an edit of the Application is reverted"
            if owner
            else "it is part of a text, which whysync does not edit",
            next=f"change the template or the generator of ApplicationSet {owner}"
            if owner
            else "edit it manually where the Application is declared",
        )
    edit = Remove(pointer=found.pointer)
    if not isinstance(found.value, Missing):
        edit = Set(pointer=found.pointer, value=found.value)
    change = file_change(Fix.application(app, edit, title=""), case, checkout)
    return change._replace(check=f"{key} of the chart: it overrides the values files")


def sources_in(application: Object) -> list[Object]:
    spec = fields(application.get("spec"))
    several = [fields(source) for source in items(spec.get("sources"))]
    return several or [fields(spec.get("source"))]


def _clean_path(source: Object) -> str:
    return "/".join(part for part in text(source.get("path")).split("/") if part not in ("", "."))


def _helm_change(fix: Fix, case: Case, checkout: Checkout, source: Object) -> FileChange:
    assert fix.target is not None
    known = object_of(fix, case)
    found: list[FoundValue] = []
    with Rendering(case, checkout, source, fix.target) as rendering:
        for edit in fix.edits:
            place = ManifestPlace(rendering.object.origin.path, 0, (), rendering.object.body, 1)
            fitted = fitted_edit(edit, known, place)
            wanted = edited(place.body, [fitted])
            if same(wanted, place.body):
                continue
            found.append(_traced(rendering, fitted, wanted))
            rendering.keep({found[-1].path: found[-1].after})
    paths = {value.path for value in found}
    if len(paths) > 1:
        raise Refused(
            what=f"the fix changes several files: {'; '.join(value.sentence for value in found)}",
            why="whysync writes one file at a time",
            next="edit them manually",
        )
    if not found:
        path = rendering.object.origin.path
        written = checkout.read(path)
        return FileChange(path, written, written, str(fix.target))
    pointer_words = ", ".join(edit.pointer for edit in fix.edits)
    check = f"rendered again with Helm: only {pointer_words} of {fix.target} changes"
    others = _other_users(case, source, found[-1].path)
    return FileChange(
        found[-1].path,
        checkout.read(found[-1].path),
        found[-1].after,
        str(fix.target),
        place="; ".join(value.sentence for value in found),
        check=check + (f"; it is also read by {', '.join(others)}" if others else ""),
    )


def _traced(rendering: Rendering, edit: Edit, wanted: Object) -> FoundValue:
    try:
        tracer = Tracer(rendering)
        return tracer.in_file(tracer.trace(edit.pointer, wanted), wanted)
    except NoValue:
        return in_template(rendering, edit.pointer, wanted)


def _other_users(case: Case, source: Object, path: str) -> list[str]:
    """Other Applications that read the file: the chart's own files, or a values file that they list."""
    chart = _clean_path(source)
    is_own = path in (f"{chart}/values.yaml", "values.yaml") or f"{chart}/templates/" in f"{path}/"
    name = path.rpartition("/")[2]
    found: list[str] = []
    for manifest, app in case.index.decoded:
        if app.qualified_name == case.app.qualified_name:
            continue
        for other in sources_in(manifest.body):
            if other.get("repoURL") != source.get("repoURL") or _clean_path(other) != chart:
                continue
            files = [text(file) for file in items(fields(other.get("helm")).get("valueFiles"))]
            if is_own or any(file.rpartition("/")[2] == name for file in files):
                found.append(app.qualified_name)
                break
    return found
