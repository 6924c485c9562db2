"""A fix of an object that Helm or Kustomize renders, as an edit of a file that the tool reads."""

from __future__ import annotations

from whysync.diagnosis.case import Case
from whysync.diagnosis.fix import Edit, Fix, Remove, Set
from whysync.errors import Refused
from whysync.facts.checkout import Checkout
from whysync.fixes.edit import edited
from whysync.fixes.files import FileChange, file_change, fitted_edit, location_of_change
from whysync.fixes.generated_app import application_set_of
from whysync.fixes.helm_values import FoundValue, InApplication, NoValue, Tracer, in_template, opaque_names
from whysync.fixes.kustomize_edits import KustomizeEdits, kustomization_in, reached_folders
from whysync.fixes.origin import Tool, folders_of
from whysync.fixes.patches import object_of
from whysync.fixes.rendered_files import FailsHere, NotInSource, Rendering
from whysync.fixes.set_edits import set_change
from whysync.json_tree import Missing, Object, fields, items, same, text
from whysync.kubernetes.api.manifest_places import ManifestPlace


def rendered_change(fix: Fix, case: Case, checkout: Checkout) -> FileChange | None:
    """The edit of what Helm or Kustomize reads if one of them renders the object; `None` otherwise."""
    folders = {folder.path: folder.tool for folder in folders_of(case, checkout)}
    rendered = [
        (source, tool)
        for source in sources_in(case.application.body)
        if not source.get("chart")
        and (tool := folders.get(_clean_path(source))) in (Tool.HELM, Tool.KUSTOMIZE)
    ]
    if not rendered:
        _refuse_chart(fix, case, checkout)
    others = [path for path, tool in folders.items() if tool not in (Tool.HELM, Tool.KUSTOMIZE)]
    target = fix.target
    if not rendered or (target is not None and any(checkout.objects(target, path) for path in others)):
        return None
    refused: Refused | None = None
    for source, tool in rendered:
        try:
            change = _helm_change if tool is Tool.HELM else _kustomize_change
            return change(fix, case, checkout, source)
        except NotInSource as problem:
            refused = problem
        except FailsHere as problem:
            raise _with_origin(problem, fix, checkout, source) from problem
        except InApplication as problem:
            return _application_change(problem, case, checkout)
    if any(folders[path] is Tool.PLUGIN for path in others):
        return None
    raise refused or Refused(what=f"no source renders {fix.target}")


def _refuse_chart(fix: Fix, case: Case, checkout: Checkout) -> None:
    """A chart from a registry is not in the checkout, but the values file of the app may be."""
    sources = sources_in(case.application.body)
    if any(source.get("path") for source in sources):
        return
    for source in sources:
        if not source.get("chart"):
            continue
        files = [text(file) for file in items(fields(source.get("helm")).get("valueFiles"))]
        own = [file.partition("/")[2] for file in files if file.startswith("$")]
        own = [file for file in own if checkout.has_file(file)]
        place = own[-1] if own else f"the Helm values of {case.application.ref}"
        pointers_text = ", ".join(edit.pointer for edit in fix.edits)
        raise Refused(
            what=f"{fix.target} is rendered by Helm from the chart {text(source.get('chart'))},"
            " which is not in the checkout",
            why="whysync does not fetch charts to trace their values",
            next=f"set the chart's value for {pointers_text} in {place}",
        )


def _with_origin(problem: FailsHere, fix: Fix, checkout: Checkout, source: Object) -> Refused:
    """The refusal, with the file that the tool starts from if one declares the object."""
    matches = checkout.objects(fix.target, _clean_path(source)) if fix.target is not None else []
    hint = f"{problem.next}; it starts from {matches[0]}" if matches else problem.next
    return Refused(what=problem.what, why=problem.why, next=hint)


def _application_change(setting: InApplication, case: Case, checkout: Checkout) -> FileChange:
    """The edit of the file that declares the Application, whose values override the files."""
    app = case.application.ref
    edit = Remove(pointer=setting.pointer)
    if not isinstance(setting.value, Missing):
        edit = Set(pointer=setting.pointer, value=setting.value)
    fix = Fix.application(app, edit, title="")
    owner = application_set_of(case, fix)
    if owner:
        return set_change(owner, setting, case, checkout)
    change = file_change(fix, case, checkout)
    line = location_of_change(change).line
    place = f"{'remove' if isinstance(edit, Remove) else 'set'} {setting.name} in {change.path}:{line}"
    place += f" ({setting.pointer} of {app})"
    return change._replace(place=place, check=f"{app} sets {setting.name}, which overrides the files")


def sources_in(application: Object) -> list[Object]:
    spec = fields(application.get("spec"))
    several = [fields(source) for source in items(spec.get("sources"))]
    return several or [fields(spec.get("source"))]


def _clean_path(source: Object) -> str:
    return "/".join(part for part in text(source.get("path")).split("/") if part not in ("", "."))


def _helm_change(fix: Fix, case: Case, checkout: Checkout, source: Object) -> FileChange:
    assert fix.target is not None
    diagnosed = object_of(fix, case)
    values: list[FoundValue] = []
    with Rendering(case, checkout, source, fix.target, Tool.HELM) as rendering:
        for edit in fix.edits:
            place = ManifestPlace(rendering.object.origin.path, 0, (), rendering.object.body, 1)
            fitted = fitted_edit(edit, diagnosed, place)
            expected = edited(place.body, [fitted])
            if same(expected, place.body):
                continue
            values.append(_traced(rendering, fitted, expected))
            rendering.keep({values[-1].path: values[-1].after})
    paths = {value.path for value in values}
    if len(paths) > 1:
        raise Refused(
            what=f"the fix changes several files: {'; '.join(value.sentence for value in values)}",
            why="whysync writes one file at a time",
            next="edit them manually",
        )
    if not values:
        path = rendering.object.origin.path
        content = checkout.read(path)
        return FileChange(path, content, content, str(fix.target))
    pointers_text = ", ".join(edit.pointer for edit in fix.edits)
    check = f"rendered again with Helm: only {pointers_text} of {fix.target} changes"
    other_apps = _other_users(case, source, values[-1].path)
    return FileChange(
        values[-1].path,
        checkout.read(values[-1].path),
        values[-1].after,
        str(fix.target),
        place="; ".join(value.sentence for value in values),
        check=check + (f"; it is also read by {', '.join(other_apps)}" if other_apps else ""),
    )


def _kustomize_change(fix: Fix, case: Case, checkout: Checkout, source: Object) -> FileChange:
    assert fix.target is not None
    diagnosed = object_of(fix, case)
    with Rendering(case, checkout, source, fix.target, Tool.KUSTOMIZE) as rendering:
        body = rendering.object.body
        place = ManifestPlace(rendering.path, 0, (), body, 1)
        edits = [fitted_edit(edit, diagnosed, place) for edit in fix.edits]
        expected = edited(body, edits)
        if same(expected, body):
            path = kustomization_in(rendering)
            return FileChange(path, checkout.read(path), checkout.read(path), str(fix.target))
        value = KustomizeEdits(rendering, checkout, edits, expected).find()
    pointers_text = ", ".join(edit.pointer for edit in fix.edits)
    check = f"rendered again with Kustomize: only {pointers_text} of {fix.target} changes"
    other_apps = _overlays_on(case, checkout, source)
    return FileChange(
        value.path,
        checkout.read(value.path),
        value.after,
        str(fix.target),
        place=value.sentence,
        check=check + (f"; it is also read by {', '.join(other_apps)}" if other_apps else ""),
    )


def _overlays_on(case: Case, checkout: Checkout, source: Object) -> list[str]:
    """Other Applications whose kustomization is this folder or contains it."""
    folder, names = _clean_path(source), list[str]()
    for manifest, app in case.index.decoded:
        if app.qualified_name == case.app.qualified_name:
            continue
        paths = [
            _clean_path(other)
            for other in sources_in(manifest.body)
            if other.get("repoURL") == source.get("repoURL") and other.get("path")
        ]
        if any(folder in reached_folders(checkout, path) for path in paths):
            names.append(app.qualified_name)
    return names


def _traced(rendering: Rendering, edit: Edit, expected: Object) -> FoundValue:
    try:
        tracer = Tracer(rendering)
        return tracer.in_file(tracer.trace(edit.pointer, expected), expected)
    except NoValue:
        try:
            return in_template(rendering, edit.pointer, expected)
        except Refused as problem:
            untraced = opaque_names(rendering.source)
            if not untraced:
                raise
            raise Refused(
                what=problem.what,
                why=f"or the Application's parameter {' or '.join(untraced)} sets it,"
                " which whysync does not trace",
                next=problem.next,
            ) from problem


def _other_users(case: Case, source: Object, path: str) -> list[str]:
    """Other Applications that read the file: the chart's own files, or a values file that they list."""
    chart = _clean_path(source)
    is_own = path in (f"{chart}/values.yaml", "values.yaml") or f"{chart}/templates/" in f"{path}/"
    name = path.rpartition("/")[2]
    names: list[str] = []
    for manifest, app in case.index.decoded:
        if app.qualified_name == case.app.qualified_name:
            continue
        for other in sources_in(manifest.body):
            if other.get("repoURL") != source.get("repoURL") or _clean_path(other) != chart:
                continue
            files = [text(file) for file in items(fields(other.get("helm")).get("valueFiles"))]
            if is_own or any(file.rpartition("/")[2] == name for file in files):
                names.append(app.qualified_name)
                break
    return names
