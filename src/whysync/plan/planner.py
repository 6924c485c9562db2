"""Create a plan from two commits: which Applications change, and what their sync would do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from whysync.argocd.repo_server.git.tree import missing_in_words
from whysync.argocd.repo_server.git_sources import GitSources
from whysync.argocd.repo_server.render.options import CannotRender, Origin
from whysync.argocd.repo_server.repository import Head, Rendered, RepoProblem
from whysync.deadline import stage
from whysync.diagnosis.case import Case
from whysync.errors import NotFound, SourceError, Unreadable
from whysync.facts.checkout import Checkout as Files
from whysync.facts.masking import mask_snapshot
from whysync.facts.snapshot import Gap, GapKind, Snapshot
from whysync.fixes.kustomize_edits import reached_folders
from whysync.json_tree import Object, copy_object, dig, fields, text
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.kubernetes.api.ref import Key, Ref, ref_of
from whysync.plan.all_applications import AllApplications, destination_cluster
from whysync.plan.build_options import build_options_in
from whysync.plan.changes import changes_of, has_volumes, key_of, removals
from whysync.plan.checkout import Checkout, Side, sources_of
from whysync.plan.find_applications import (
    GENERATE_PATHS,
    FoundApp,
    NotExpandedSet,
    SideInputs,
    applications_of_set,
    apps_in,
    charts_with_applications,
    concerns,
    deletes_resources,
    is_application,
    is_application_set,
    keeps_applications,
    may_be_touched,
    objects_in_files,
    placed,
    projects_in,
    qualified,
    reads_changed_files,
    undeployed,
    unmatched_paths,
    unreadable_files,
)
from whysync.plan.generator_inputs import secret_clusters
from whysync.plan.merge_safety import safety_of, safety_of_removal
from whysync.plan.placeholders import NO_VALUE, placeholder_of
from whysync.plan.plan import AppPlan, Change, Plan, PlannedCluster, Run, State
from whysync.plan.prerequisites import undeclared_names
from whysync.plan.projects import DeclaredProjects, UsedProject, or_of_cluster
from whysync.plan.secrets import with_shape
from whysync.plan.simulations import case_in, masked, on_empty, onto, quieted, with_declared_project
from whysync.plan.steps import bare
from whysync.plan.try_fix import Trial
from whysync.processes.forked import all_of, in_background
from whysync.proofs.required_facts import NotSimulated
from whysync.proofs.sync_effects import Effects

_MAX_APPS: Final = 500
_MAX_ATTEMPTS: Final = 4
_MANY_RENDERED: Final = 40
_MANY_SIMULATED: Final = 12
"""From this number of apps on, it pays to start processes."""
_MANY_OBJECTS: Final = 40
"""From this number of objects on, it pays to simulate an app on both clusters at the same time."""
_MAX_PATH_NOTES: Final = 3
_HEAD: Final = "the head/"
_MANIFESTS: Final = "its manifests"


class Rendering(msgspec.Struct, kw_only=True):
    objects: list[Object] = msgspec.field(default_factory=list[Object])
    origins: dict[Key, Origin] = msgspec.field(default_factory=dict[Key, Origin])
    problem: str = ""
    gap: Gap | None = None
    """Set if only this machine cannot render it."""


class _Touched(msgspec.Struct, frozen=True, kw_only=True):
    """An app that the commit changes, on both sides."""

    app: FoundApp
    old: FoundApp | None
    base: Rendering
    new: Rendering
    project: UsedProject
    old_project: UsedProject


def plan(
    checkout: Checkout,
    *,
    path: str = "",
    name: str = "",
    file: str = "",
    given: Sequence[Object] = (),
    live: Snapshot | None = None,
    closely: Callable[[tuple[str, ...]], Snapshot] | None = None,
    on_base: bool = True,
    keep: bool = False,
    trials: dict[tuple[str, str], Trial] | None = None,
    progress: Callable[[str, int], None] | None = None,
) -> Plan:
    """Create the plan; `path` and `file` are relative to the checkout; `live` are facts of a cluster, masked.

    `given` are Applications that the checkout does not contain: only they are planned, and what they deploy.
    If `live` only lists the Applications, `closely` reads the facts of those that the commit changes.
    `trials` gets what is needed to try fixes of the apps that fail. With `keep`, passing runs keep their
    final state too. `progress` gets what is done, in words, and the number of apps.
    """
    notes = [
        f"{side.revision}: {missing_in_words(side.tree.missing)}"
        for side in (checkout.base, checkout.head)
        if side.tree.missing
    ]
    settings_notes = _use_settings(checkout, live)
    in_head, in_base, not_expanded, sets = _on_both_sides(checkout, file, given)
    checkout.argocd_namespace = _argocd_namespace(live, in_head)
    old_of = _counterparts(in_base, in_head)
    removed = _removed(in_base, in_head, old_of, not_expanded, sets)
    removed = [app for app in removed if _is_meant(app, checkout, path=path, name=name)]
    is_whole = path in ("", ".") and not name and not file and not given
    charts = charts_with_applications(checkout.head) if is_whole else []
    apps = _chosen(
        checkout, in_head, path=path, name=name, file=file, live=live, notes=notes,
        removed=frozenset(app.name for app in removed),
        is_empty_expected=bool(removed)
        or (bool(not_expanded) and path in ("", ".") and not name)
        or bool(charts),
    )  # fmt: skip
    notes += _unmatched_paths(apps, checkout)
    all_apps = AllApplications()
    children = _Children(checkout, not_expanded, apps)
    known = _KnownApps(checkout, [*in_head, *apps])
    queue = list(apps)
    renderings: list[_Rendered] = []
    for rendering in _renderings(
        checkout, queue, lambda app: old_of.get(app.key) or children.old_of(app), progress
    ):
        app, _, new, base = rendering
        renderings.append(rendering)
        queue += [child for child in children.of(app, new, base) if known.add(child, app)]
    left = children.removed()
    dropped = known.replaced | {
        app.key
        for app, *_ in renderings
        if any(app.name == other.name and app.body == other.body for other in left)
    }
    renderings = [rendering for rendering in renderings if rendering[0].key not in dropped]
    projects = _Projects(checkout)
    for app, _, new, base in renderings:
        all_apps.add(app.body, new.objects)
        if new.gap is not None:
            all_apps.hidden_folders |= checkout.folders_of(app.body)
        projects.add(app, new, base)
    seen = [app for app, *_ in renderings]
    touched, untouched = _touched(checkout, renderings, projects)
    notes += settings_notes if touched else []
    removed_names = {app.name for app in removed}
    removed += [app for app in left if app.name not in removed_names]
    apart = frozenset(app.name for app in removed)
    work = _Simulation(
        checkout, touched, _facts_of(touched, live, closely), all_apps, apart, on_base=on_base, keep=keep
    )
    tell = stage("simulating apps", len(touched), progress)
    results = all_of(work.planned, len(touched), many=_MANY_SIMULATED, done=tell)
    planned = [app for app, _ in results]
    if trials is not None:
        trials |= {app.key: trial for app, trial in results if trial is not None}
    sets |= children.sets
    planned += [_removal(checkout, app, is_generated=app.made_by in sets) for app in removed]
    counts = Counter(name for name, _ in {app.key for app in (*in_head, *seen, *removed)} - dropped)
    planned = [replace(app, shares_name=counts[app.name] > 1) for app in planned]
    left_out = [f"{len(queue)} more Applications: a plan has at most {_MAX_APPS}"] if queue else []
    return Plan(
        base=checkout.base.revision,
        head=checkout.head.revision,
        apps=tuple(sorted(planned, key=lambda planned_app: planned_app.key)),
        untouched=tuple(sorted(untouched)),
        notes=tuple(notes),
        not_planned=(
            *_not_expanded_texts(not_expanded),
            *_undeployed_texts(undeployed(charts, seen, checkout)),
            *left_out,
        ),
    )


_Sets = dict[tuple[str, str], Object]
"""The ApplicationSets of the head, by their file, or the Application that renders them, and their name."""
_Rendered = tuple[FoundApp, FoundApp | None, Rendering, Rendering]
"""An app of the head, its counterpart in the base, and how each of them is rendered, the head first."""


class _KnownApps:
    """The Applications of the head, each once: those in files, and those in the output of others."""

    def __init__(self, checkout: Checkout, apps: Iterable[FoundApp]) -> None:
        self._checkout = checkout
        self._apps: dict[str, list[FoundApp]] = {}
        self.replaced: set[tuple[str, str]] = set()
        """Applications in files from which a kustomization makes others of the same name."""
        for app in apps:
            self._apps.setdefault(app.name, []).append(app)

    def add(self, child: FoundApp, parent: FoundApp) -> bool:
        """Is it to be planned? Each root has its own Applications, but a file's own is planned once."""
        apps = self._apps.setdefault(child.name, [])
        sources = [
            app for app in apps if app.file and app.body != child.body and self._uses(parent, app.file)
        ]
        self.replaced |= {app.key for app in sources}
        others = [app for app in apps if app not in sources]
        if any(app.file or app.root == child.root or app.body == child.body for app in others):
            return False
        apps.append(child)
        return True

    def _uses(self, parent: FoundApp, file: str) -> bool:
        """Does a kustomization of the parent read this file?"""
        files = Files(str(self._checkout.head.tree.root))
        folders = self._checkout.folders_of(parent.body)
        used = {used for folder in folders for used in reached_folders(files, folder)}
        return any(PurePosixPath(file).is_relative_to(folder or ".") for folder in used)


class _Projects:
    """The AppProjects of both sides."""

    def __init__(self, checkout: Checkout) -> None:
        self._head, self._base = (
            DeclaredProjects(projects_in(side), SideInputs(checkout, side).registered())
            for side in (checkout.head, checkout.base)
        )

    def add(self, app: FoundApp, new: Rendering, base: Rendering) -> None:
        self._head.add(app.root, new.objects)
        self._base.add(app.root, base.objects)

    def of(
        self, app: FoundApp, old: FoundApp | None, new: Rendering, base: Rendering
    ) -> tuple[UsedProject, UsedProject]:
        """The project of an app in the head and in the base."""
        before = self._base.of(old.body, base.objects, old.root) if old is not None else UsedProject()
        after = self._head.of(app.body, new.objects, app.root)
        is_declared = after.body is not None or after.gap is not None
        was_declared = self._base.of(app.body, new.objects, app.root).body is not None
        return replace(after, is_removed=was_declared and not is_declared), before


def _touched(
    checkout: Checkout, renderings: Iterable[_Rendered], projects: _Projects
) -> tuple[list[_Touched], list[str]]:
    """The apps that the commit changes, and the names of the others."""
    touched: list[_Touched] = []
    untouched: list[str] = []
    for app, old, new, base in renderings:
        project, old_project = projects.of(app, old, new, base)
        # A gap is not compared by the message of the tool, which may name temporary files.
        is_hidden = new.gap is not None and reads_changed_files(app, checkout)
        alike = new.gap == base.gap if new.gap is not None else new.problem == base.problem
        same = old is not None and old.body == app.body and alike and new.objects == base.objects
        same_project = old is None or project == old_project
        if same_project and (not may_be_touched(app, checkout) or (same and not is_hidden)):
            untouched.append(app.name)
            continue
        touched.append(
            _Touched(app=app, old=old, base=base, new=new, project=project, old_project=old_project)
        )
    return touched, untouched


def _on_both_sides(
    checkout: Checkout, file: str, given: Sequence[Object]
) -> tuple[list[FoundApp], list[FoundApp], list[NotExpandedSet], _Sets]:
    """The apps in files of the head and of the base, the sets that are not expanded, and all of the head."""
    not_expanded: list[NotExpandedSet] = []
    sets: _Sets = {}
    if given:
        apps = [FoundApp(body=placed(copy_object(body)), file="") for body in given]
        return apps, apps, not_expanded, sets
    in_head = apps_in(checkout, checkout.head, only=file, not_expanded=not_expanded, sets=sets)
    before: list[NotExpandedSet] = []
    in_base = apps_in(checkout, checkout.base, only=file, not_expanded=before)
    names = {app.name for app in in_head}
    known = {app.made_by for app in in_base} | {application_set.key for application_set in before}
    not_expanded = [replace(entry, was_there=entry.key in known) for entry in not_expanded]
    not_expanded += unreadable_files([app for app in in_base if app.name not in names], checkout.head)
    return in_head, in_base, [*not_expanded, *_only_before(before, not_expanded)], sets


def _renderings(
    checkout: Checkout,
    queue: list[FoundApp],
    old_of: Callable[[FoundApp], FoundApp | None],
    progress: Callable[[str, int], None] | None,
) -> Iterator[_Rendered]:
    """The apps of the queue with their counterparts and both renderings, up to the largest number of apps.

    The caller adds the children of an app to the queue.
    """
    count = 0
    while queue and count < _MAX_APPS:
        batch = [(app, old_of(app)) for app in queue[: _MAX_APPS - count]]
        del queue[: len(batch)]
        count += len(batch)

        def both(
            at: int, batch: list[tuple[FoundApp, FoundApp | None]] = batch
        ) -> tuple[Rendering, Rendering]:
            app, old = batch[at]
            new = rendered(checkout, app, checkout.head)
            return new, rendered(checkout, old, checkout.base) if old is not None else Rendering()

        tell = stage("rendering apps", len(batch), progress)
        results = all_of(both, len(batch), many=_MANY_RENDERED, done=tell)
        for (app, old), (new, base) in zip(batch, results, strict=True):
            yield app, old, new, base


class _Simulation:
    """The simulation of the apps that the commit changes, one at a time."""

    def __init__(
        self,
        checkout: Checkout,
        touched: list[_Touched],
        facts: Snapshot | None,
        all_apps: AllApplications,
        removed: frozenset[str],
        *,
        on_base: bool,
        keep: bool,
    ) -> None:
        self._checkout = checkout
        self._touched = touched
        self._facts = facts
        self._all_apps = all_apps
        self._removed = removed
        self._on_base = on_base
        self._keep = keep

    def planned(self, at: int) -> tuple[AppPlan, Trial | None]:
        """The plan of an app and, if it would fail, what is needed to try fixes."""
        trials: dict[tuple[str, str], Trial] = {}
        app = _planned(
            self._checkout,
            self._touched[at],
            self._facts,
            trials,
            self._all_apps,
            self._removed,
            on_base=self._on_base,
            keep=self._keep,
            is_alone=len(self._touched) < _MANY_SIMULATED,
        )
        return app, None if all(run.passed for run in app.runs) else trials.get(app.key)


class _Child(NamedTuple):
    """An Application in the output of another one."""

    name: str
    root: tuple[str, str]
    parent: tuple[str, str]


class _Children:
    """Applications in the output of others, also those of ApplicationSets in it."""

    def __init__(
        self, checkout: Checkout, not_expanded: list[NotExpandedSet], chosen: Iterable[FoundApp]
    ) -> None:
        self._head = SideInputs(checkout, checkout.head)
        self._base = SideInputs(checkout, checkout.base)
        self._not_expanded = not_expanded
        # one that no file contains (assumed for a folder, or from the facts) is the same before and after
        self._old = {(app.name, app.root): app for app in chosen if not app.file}
        self._now: set[_Child] = set()
        self._before: set[_Child] = set()
        self._left: list[tuple[FoundApp, tuple[str, str]]] = []
        """Applications that only the output of the base contains, or only its ApplicationSets generate,
        each with the one whose output it left."""
        self.sets: _Sets = {}

    def of(self, parent: FoundApp, head: Rendering, base: Rendering) -> list[FoundApp]:
        found = self._rendered(parent, head.objects)
        generated = self._generated(parent, head.objects, self._head)
        now = {(app.name, app.root): app for app in (*found, *generated)}
        self._now |= {_Child(app.name, app.root, parent.key) for app in (*found, *generated)}
        if base.problem:  # what the base deploys is not known: taken as it is now
            self._old |= now
            return [*found, *generated]
        found_before = self._rendered(parent, base.objects)
        generated_before = self._generated(parent, base.objects, self._base)
        before = [*found_before, *generated_before]
        self._old |= {(app.name, app.root): app for app in before}
        self._before |= {_Child(app.name, app.root, parent.key) for app in before}
        if not head.problem:
            source = parent.file or parent.name
            sets: _Sets = {
                (source, text(dig(obj, "metadata", "name"))): obj
                for obj in head.objects
                if is_application_set(obj)
            }
            self.sets |= sets
            unclear = {application_set.key for application_set in self._not_expanded}
            unclear |= {key for key, body in sets.items() if keeps_applications(body)}
            deleted = before if _prunes(parent.body) else generated_before
            self._left += [
                (app, parent.key)
                for app in deleted
                if (app.name, app.root) not in now
                and app.made_by not in unclear
                and app.name != parent.name  # it deploys itself: its own plan has the deletion
            ]
        return [*found, *generated]

    def removed(self) -> list[FoundApp]:
        """Applications that leave the output of another one, although a file may still contain them.

        One that moves to the output of an app that did not have it before, or that another app of the same
        root has too, is not among them.
        """
        return [app for app, parent in self._left if not self._is_elsewhere(app, parent)]

    def _is_elsewhere(self, app: FoundApp, parent: tuple[str, str]) -> bool:
        return any(
            child.name == app.name
            and child.parent != parent
            and (child.root == app.root or child not in self._before)
            for child in self._now
        )

    def old_of(self, app: FoundApp) -> FoundApp | None:
        """The Application that the output of the base contains, or itself if no output contains it.

        It may have moved from the output of another root.
        """
        if app.file:
            return None
        moved = (
            old
            for (name, root), old in self._old.items()
            if name == app.name and (name, root) not in self._now
        )
        return self._old.get((app.name, app.root)) or next(moved, None)

    def _rendered(self, parent: FoundApp, objects: list[Object]) -> list[FoundApp]:
        return [
            FoundApp(body=placed(obj), file="", parent=parent.root)
            for obj in objects
            if is_application(obj) and text(dig(obj, "metadata", "name"))
        ]

    def _generated(self, parent: FoundApp, objects: list[Object], inputs: SideInputs) -> list[FoundApp]:
        source = parent.file or parent.name
        return [
            FoundApp(body=placed(application), file="", made_by=(source, text(dig(obj, "metadata", "name"))))
            for obj in objects
            if is_application_set(obj)
            for application in applications_of_set(obj, inputs, source, self._not_expanded)
        ]


def _prunes(application: Object) -> bool:
    return fields(dig(application, "spec", "syncPolicy", "automated")).get("prune") is True


def _use_settings(checkout: Checkout, live: Snapshot | None) -> list[str]:
    """Takes Argo CD's settings and clusters from the facts or the head; returns notes."""
    if live is not None:
        settings = (setting.body for setting in live.settings if setting.ref.name == "argocd-cm")
        checkout.argocd_cm = checkout.argocd_cm or next(settings, None)
        registered = secret_clusters(setting.body for setting in live.settings)
        if registered and checkout.generator_files.clusters is None:
            checkout.generator_files = replace(checkout.generator_files, clusters=registered)
    return _build_options_of_head(checkout) if checkout.argocd_cm is None else []


def _build_options_of_head(checkout: Checkout) -> list[str]:
    """Use the options of Kustomize that the head configures for Argo CD; returns a note."""
    options = build_options_in(checkout.head)
    if options is None:
        return []
    checkout.kustomize_build_options = options.value
    return [f"kustomize.buildOptions is {options.value!r}, from {options.file}"]


def _unmatched_paths(apps: list[FoundApp], checkout: Checkout) -> list[str]:
    """Notes on `manifest-generate-paths` that match no file of the head: one per path, or one for many."""
    annotated = [app for app in apps if dig(app.body, "metadata", "annotations", GENERATE_PATHS)]
    names: dict[str, list[str]] = {}
    for app in annotated:
        for path in unmatched_paths(app, checkout):
            names.setdefault(path, []).append(app.name.partition("/")[2])
    if len(names) > _MAX_PATH_NOTES:
        apps_concerned = sorted({name for found in names.values() for name in found})
        shown = ", ".join(apps_concerned[:_MAX_PATH_NOTES])
        more = ", …" if len(apps_concerned) > _MAX_PATH_NOTES else ""
        many = "s" if len(apps_concerned) > 1 else ""
        return [
            f"{GENERATE_PATHS} of {len(apps_concerned)} app{many} ({shown}{more}): {len(names)} paths match"
            f" no file, such as {next(iter(names))}, so no commit refreshes the app{many} because of them"
            " until Argo CD's cache expires"
        ]
    return [
        f"{GENERATE_PATHS} of {found[0]}{f' and {len(found) - 1} more' if len(found) > 1 else ''}:"
        f" {path} matches no file, so no commit refreshes the app because of it until Argo CD's cache"
        " expires"
        for path, found in names.items()
    ]


def _argocd_namespace(live: Snapshot | None, apps: list[FoundApp]) -> str:
    """Where Argo CD runs: where its settings are, or else where most of the Applications are."""
    settings = live.settings if live is not None else ()
    for setting in settings:
        if setting.ref.name == "argocd-cm" and setting.ref.namespace:
            return setting.ref.namespace
    namespaces = Counter(app.name.partition("/")[0] for app in apps)
    return namespaces.most_common(1)[0][0] if namespaces else "argocd"


def _counterparts(in_base: list[FoundApp], in_head: list[FoundApp]) -> dict[tuple[str, str], FoundApp]:
    """The app of the base for each app of the head: in the same file, or the only other one of its name."""
    old = {app.key: app for app in in_base}
    new = {app.key for app in in_head}
    moved: dict[str, list[FoundApp]] = {}
    for app in in_base:
        if app.key not in new:
            moved.setdefault(app.name, []).append(app)
    counterparts: dict[tuple[str, str], FoundApp] = {}
    for app in in_head:
        candidates = moved.get(app.name, [])
        if app.key in old:
            counterparts[app.key] = old[app.key]
        elif candidates:
            counterparts[app.key] = candidates.pop(0)
    return counterparts


def _removed(
    in_base: list[FoundApp],
    in_head: list[FoundApp],
    old_of: dict[tuple[str, str], FoundApp],
    not_expanded: list[NotExpandedSet],
    sets: _Sets,
) -> list[FoundApp]:
    """Apps of the base that Argo CD deletes, as the head no longer has them.

    Those of a set that is not expanded may remain, and so may those of a file that is not readable or that
    gets a new set that is not expanded.
    """
    kept = {app.key for app in old_of.values()}
    bodies = [app.body for app in in_head]
    unclear = {application_set.key for application_set in not_expanded}
    unclear |= {key for key, body in sets.items() if keeps_applications(body)}
    files = {entry.file for entry in not_expanded if not entry.was_there}
    return [
        app
        for app in in_base
        if app.key not in kept
        and app.made_by not in unclear
        and app.file not in files
        and app.body not in bodies
    ]


def _only_before(before: list[NotExpandedSet], after: list[NotExpandedSet]) -> list[NotExpandedSet]:
    """Sets of the base that are not expanded there: which Applications the head removes is not known."""
    known = {application_set.key for application_set in after}
    return [
        replace(application_set, why=f"at the base, {application_set.why}", was_there=True)
        for application_set in before
        if application_set.key not in known
    ]


def _is_meant(app: FoundApp, checkout: Checkout, *, path: str, name: str) -> bool:
    if name:
        return name in (app.name, app.name.partition("/")[2])
    return concerns(app, path, checkout)


def _removal(checkout: Checkout, app: FoundApp, *, is_generated: bool) -> AppPlan:
    """The plan of an Application that leaves Git."""
    base = rendered(checkout, app, checkout.base)
    cascades = deletes_resources(app)
    namespace = _namespace(app)
    changes = removals(base.objects, namespace, deleted=cascades, origins=base.origins)
    notes = (f"its resources are not known: {base.problem}",) if base.problem else ()
    return AppPlan(
        name=app.name,
        file=app.file,
        application_set=app.made_by[1],
        root=app.parent[1],
        changes=changes,
        safety=safety_of_removal(changes, cascades=cascades, is_generated=is_generated),
        notes=notes,
        is_removed=True,
    )


def _not_expanded_texts(not_expanded: list[NotExpandedSet]) -> list[str]:
    """One sentence for each reason: a repository may have hundreds of sets."""
    places: dict[str, list[str]] = {}
    unreadable = [entry for entry in not_expanded if entry.is_unreadable]
    for application_set in not_expanded:
        if not application_set.is_unreadable:
            place = f"{application_set.name} in {application_set.file}"
            places.setdefault(application_set.why, []).append(place)
    return [f"the Applications in {entry.file} are not known: {entry.why}" for entry in unreadable] + [
        f"ApplicationSet {names[0]} is not expanded: {why}"
        if len(names) == 1
        else f"{len(names)} ApplicationSets ({names[0]}, …) are not expanded: {why}"
        for why, names in places.items()
    ]


def _undeployed_texts(charts: list[str]) -> list[str]:
    if not charts:
        return []
    first = charts[0]
    which = f"the chart {first} renders" if len(charts) == 1 else f"{len(charts)} charts ({first}, …) render"
    it = "it" if len(charts) == 1 else "them"
    why = f"no Application here deploys {it}, so which ones is not known"
    return [f"{which} Applications, but {why} (plan with --live)"]


def _chosen(
    checkout: Checkout,
    in_head: list[FoundApp],
    *,
    path: str,
    name: str,
    file: str,
    live: Snapshot | None,
    notes: list[str],
    removed: frozenset[str],
    is_empty_expected: bool,
) -> list[FoundApp]:
    apps = list(in_head)
    if file:
        if not apps and not is_empty_expected:
            raise Unreadable(
                what=f"{file} contains no Application",
                why="no object of kind Application (argoproj.io) with a name is in it",
                next="name the file of an Application",
            )
    elif live is not None:
        in_checkout = {app.name for app in apps}
        bodies = (placed(copy_object(application.body)) for application in live.applications)
        live_apps = (FoundApp(body=body, file="") for body in bodies)
        apps += [
            app
            for app in live_apps
            if app.name not in in_checkout
            and app.name not in removed
            and any(checkout.contains_source(source) for source in sources_of(app.body))
        ]
    if name:
        chosen = [app for app in apps if name in (app.name, app.name.partition("/")[2])]
        if not chosen and not is_empty_expected:
            raise NotFound(
                what=f"there is neither a path nor an Application {name!r} here",
                why=f"{len(apps)} Applications were found",
                next="give a path of the checkout, or the name of one of its Applications",
            )
        return chosen
    chosen = [app for app in apps if concerns(app, path, checkout)]
    if chosen or file or is_empty_expected:
        return chosen or (apps if file else [])
    folder = checkout.head.tree.root / path
    if path in ("", ".") or not folder.is_dir():
        raise NotFound(
            what="there is no Application here",
            why="; ".join(
                ["no file of the head contains one: how the manifests are deployed is not known", *notes]
            ),
            next="name the folder of the manifests, give --app FILE, or facts with --live BUNDLE",
        )
    assumed = folder.name
    notes.append(f"no Application deploys {path}: assuming Application {assumed} in namespace {assumed}")
    return [FoundApp(body=_assumed_application(checkout, path, assumed), file="")]


def _assumed_application(checkout: Checkout, path: str, name: str) -> Object:
    policy: Object = {"automated": {"prune": True}, "syncOptions": ["CreateNamespace=true"]}
    source: Object = {"repoURL": checkout.repo.url, "path": path, "targetRevision": "HEAD"}
    target: Object = {"server": "https://kubernetes.default.svc", "namespace": name}
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": name, "namespace": "argocd"},
        "spec": {"project": "default", "source": source, "destination": target, "syncPolicy": policy},
    }


def rendered(checkout: Checkout, app: FoundApp, side: Side) -> Rendering:
    result = Rendering()
    namespace = _namespace(app)
    if placeholder := placeholder_of(app.body):
        result.gap = _placeholder_gap(placeholder)
        result.problem = result.gap.what
        return result
    with checkout.sources([app.body], side) as sources:
        try:
            for source in sources_of(app.body):
                if source.get("ref") and not source.get("path") and not source.get("chart"):
                    continue
                commit = sources.resolve(source, text(source.get("targetRevision")))
                for obj in sources.rendered(app.body, source, commit).objects:
                    result.objects.append(obj.body)
                    result.origins.setdefault(key_of(obj.body, namespace), obj.origin)
        except RepoProblem as problem:
            result.problem = problem.message
            is_missing_here = isinstance(problem.__cause__, SourceError)
            if is_missing_here or not any(
                checkout.contains_source(source) for source in sources_of(app.body)
            ):
                result.gap = _gap_of(problem)
    return result


def _gap_of(problem: RepoProblem) -> Gap:
    """Why only this machine cannot render it, and what helps."""
    cause = problem.__cause__
    if isinstance(cause, CannotRender) and cause.shared:
        return Gap(kind=GapKind.NOT_RENDERED, what=cause.part, why=cause.shared, how_to_get=cause.next)
    why = f"{cause.what}: {cause.next}" if isinstance(cause, SourceError) and cause.next else problem.message
    return Gap(kind=GapKind.NOT_RENDERED, what=_MANIFESTS, why=why)


def _placeholder_gap(placeholder: str) -> Gap:
    if placeholder == NO_VALUE:
        return Gap(
            kind=GapKind.NOT_RENDERED,
            what=f"{placeholder} in the Application",
            why="the template of its ApplicationSet names a parameter that the generator does not give",
            how_to_get="goTemplateOptions: [missingkey=error] makes Argo CD refuse it",
        )
    return Gap(
        kind=GapKind.NOT_RENDERED,
        what=f"placeholder {placeholder}",
        why="a program replaces it before the Application is applied",
        how_to_get="plan the files that the program writes",
    )


def _facts_of(
    touched: list[_Touched],
    live: Snapshot | None,
    closely: Callable[[tuple[str, ...]], Snapshot] | None,
) -> Snapshot | None:
    """Facts are only read for apps that change and can be simulated."""
    if live is None or closely is None:
        return live
    live_names = {qualified(application.body) for application in live.applications}
    names = {changed_app.app.name for changed_app in touched if not changed_app.new.problem}
    return closely(tuple(sorted(names & live_names))) if names & live_names else live


def _planned(
    checkout: Checkout,
    touched: _Touched,
    live: Snapshot | None,
    trials: dict[tuple[str, str], Trial],
    all_apps: AllApplications,
    removed: frozenset[str],
    *,
    on_base: bool,
    keep: bool,
    is_alone: bool,
) -> AppPlan:
    """Plan one app. Manifests that cannot be rendered fail everywhere, so one cluster is sufficient."""
    app, old, base, new = touched.app, touched.old, touched.base, touched.new
    project = touched.project if live is None else or_of_cluster(touched.project, app.body, live.projects)
    if new.gap is not None:
        return AppPlan(
            name=app.name,
            file=app.file,
            application_set=app.made_by[1],
            root=app.parent[1],
            unseen=(new.gap,),
        )
    others = all_apps.others(app.body)
    undeclared = undeclared_names(new.objects, _namespace(app))
    unused = objects_in_files(checkout, app.body, undeclared, outside_of=all_apps.hidden_folders)

    def run_on_empty() -> Run:
        with checkout.sources([app.body], checkout.head) as head:
            return on_empty(
                app.body,
                new.objects,
                head,
                known=base.objects,
                others=others,
                unused=unused,
                project=project,
                keep=keep,
            )

    if new.problem:
        empty_run = run_on_empty()
        empty_run = replace(empty_run, fails_as_base=old is not None and new.problem == base.problem)
        return AppPlan(
            name=app.name,
            file=app.file,
            application_set=app.made_by[1],
            root=app.parent[1],
            runs=(empty_run,),
            unseen=_failure_of_base(empty_run),
        )
    is_large = is_alone and len(new.objects) >= _MANY_OBJECTS
    with in_background(run_on_empty, if_worth_it=is_large) as empty_result:
        return _planned_on_clusters(
            checkout, touched, live, project, trials, all_apps, removed, empty_result,
            others=others, unused=unused, on_base=on_base, keep=keep,
        )  # fmt: skip


def _planned_on_clusters(
    checkout: Checkout,
    touched: _Touched,
    live: Snapshot | None,
    project: UsedProject,
    trials: dict[tuple[str, str], Trial],
    all_apps: AllApplications,
    removed: frozenset[str],
    empty_result: Callable[[], Run],
    *,
    others: list[Object],
    unused: list[Object],
    on_base: bool,
    keep: bool,
) -> AppPlan:
    """Plan an app that can be rendered; `empty_result` gives its run on an empty cluster."""
    app, old, base, new = touched.app, touched.old, touched.base, touched.new
    old_cluster = _left_cluster(app, old)
    notes = [_moved(app, old_cluster)] if old_cluster else []
    case = _live_case(live, app.name, base) if live is not None else None
    if live is not None and case is None:
        notes.append("the facts of --live do not have this app: it is planned as a new one")
    if case is not None and touched.project != touched.old_project:
        case = case_in(with_declared_project(case.index.snapshot, touched.project), app.name)
    left_behind = tuple(_data_left_behind(base.objects, new.objects)) if old_cluster else ()
    live_case = case
    onto_base = (
        (on_base and case is None and not old_cluster and not project.is_removed)
        and not base.problem
        and bool(base.objects)
    )
    head_objects = new.objects
    base_run: Run | None = None
    planned_cluster = PlannedCluster.LIVE
    if onto_base and old is not None:
        case, head_objects, base_run = _based(checkout, touched, old, others, unused)
        planned_cluster = PlannedCluster.BASE
        if case is None:
            notes.append("the base itself cannot be synced: the change is not simulated on it")
    elif case is not None:
        head_objects = _with_masked_secrets(case, base.objects, new.objects)
    trials[app.key] = Trial(
        application=app.body,
        head=new.objects,
        known=base.objects,
        unused=unused,
        project=project,
        case=case,
        masked_head=head_objects,
        cluster=planned_cluster,
        origins=new.origins,
    )
    runs: list[Run] = []
    failures: tuple[Gap, ...] = ()
    effects = None
    if case is not None:
        try:
            run, effects = onto(case, head_objects, planned_cluster, keep=keep)
            run = replace(run, fails_as_base=base_run is not None and _fails_alike(run, base_run))
            failures = _failure_of_base(run)
            runs.append(run)
        except NotSimulated as problem:
            notes.append(f"not run on {planned_cluster.value}: {problem}")
    empty_run = empty_result()
    if base_run is not None and case is not None:
        empty_run = replace(empty_run, fails_as_base=_fails_alike(empty_run, base_run))
    runs.append(empty_run)
    changes = _changes(touched, all_apps, removed, effects=effects, live=case if live else None)
    return AppPlan(
        name=app.name,
        file=app.file,
        application_set=app.made_by[1],
        root=app.parent[1],
        runs=tuple(runs),
        changes=changes,
        safety=None if base.gap or left_behind else safety_of(changes, runs),
        notes=tuple(notes),
        unseen=(*_unseen(live_case, empty_run, project, base), *left_behind, *failures),
    )


def _changes(
    touched: _Touched,
    all_apps: AllApplications,
    removed: frozenset[str],
    *,
    effects: Effects | None,
    live: Case | None,
) -> tuple[Change, ...]:
    """The changes of an app, and what it leaves in another cluster."""
    app, old, base, new = touched.app, touched.old, touched.base, touched.new
    old_cluster = _left_cluster(app, old)
    changes = changes_of(
        [] if old_cluster else base.objects,
        new.objects,
        _namespace(app),
        base_namespace=_namespace(old) if old is not None else "",
        prunes=_prunes(app.body),
        effects=effects,
        live=frozenset(obj.key for obj in live.index.snapshot.live) if live is not None else None,
        origins={**base.origins, **new.origins},
    )
    if old is not None and old_cluster:
        changes += removals(base.objects, _namespace(old), deleted=False, origins=base.origins)
    return tuple(
        replace(change, is_harmful=change.is_harmful and change.ref.place not in removed)
        for change in all_apps.with_users(app.body, changes)
    )


def _unseen(case: Case | None, empty_run: Run, project: UsedProject, base: Rendering) -> tuple[Gap, ...]:
    """What is not known about the cluster, the project and the base."""
    of_cluster = map(_unknown_object, empty_run.unknown_objects) if case is None else case.gaps
    of_project = (project.gap,) if project.gap is not None else ()
    of_base = (_base_gap(base.gap),) if base.gap is not None else ()
    return (*of_cluster, *of_project, *of_base)


def _namespace(app: FoundApp) -> str:
    return text(dig(app.body, "spec", "destination", "namespace"))


def _left_cluster(app: FoundApp, old: FoundApp | None) -> str:
    """The cluster of the base, if the commit changes the destination to another one."""
    before = destination_cluster(old.body) if old is not None else ""
    return before if before != destination_cluster(app.body) else ""


def _moved(app: FoundApp, old_cluster: str) -> str:
    """Argo CD leaves the objects in the old cluster."""
    return (
        f"its destination changes from {old_cluster} to {destination_cluster(app.body)}: what it deployed to"
        " the old cluster stays there, no longer managed"
    )


def _data_left_behind(base: Iterable[Object], head: Iterable[Object]) -> Iterator[Gap]:
    """Volumes that the app has in both clusters: those in the new one may be empty."""
    kept = {(obj.get("kind"), dig(obj, "metadata", "name")) for obj in head}
    for obj in base:
        kind, name = text(obj.get("kind")), text(dig(obj, "metadata", "name"))
        if has_volumes(obj) and (kind, name) in kept:
            yield Gap(
                kind=GapKind.NOT_COLLECTED,
                what=f"the data of {kind} {name}",
                why="it stays in the old cluster, and the volume in the new one may be empty",
            )


def _base_gap(gap: Gap) -> Gap:
    part = "" if gap.what == _MANIFESTS else f"{gap.what}: "
    return Gap(
        kind=GapKind.NOT_RENDERED,
        what="the manifests of the base",
        why=f"{part}{gap.why}; all objects are listed as new",
        how_to_get=gap.how_to_get,
    )


def _failure_of_base(run: Run) -> tuple[Gap, ...]:
    """The commit is not the reason of the failure, but whether its changes reach the cluster is not known."""
    failed = (
        f"{item.ref}: {item.note}"
        for step in run.steps
        for item in step.items
        if item.state is State.FAILED and item.note
    )
    gap = Gap(
        kind=GapKind.NOT_COLLECTED,
        what="the state of the cluster",
        why=f"the sync would fail, as that of the base does: {next(failed, run.message)}",
        how_to_get="plan with --live",
    )
    return (gap,) if run.fails_as_base else ()


def _unknown_object(name: str) -> Gap:
    return Gap(
        kind=GapKind.NOT_COLLECTED,
        what=name,
        why="nothing in Git creates it, and the plan assumes that it exists",
        how_to_get="plan with --live",
    )


def _live_case(live: Snapshot, name: str, base: Rendering) -> Case | None:
    """The app as in the facts; the desired state comes from the base if they do not contain it."""
    try:
        case = case_in(live, name)
    except KeyError:
        return None
    if case.desired or not base.objects:
        return case
    base_manifests = tuple(Manifest(copy_object(obj), role=Role.DESIRED) for obj in base.objects)
    masked_base = mask_snapshot(Snapshot(desired={name: base_manifests}))
    return case_in(replace(live, desired={**live.desired, **masked_base.desired}), name)


def _based(
    checkout: Checkout,
    touched: _Touched,
    old: FoundApp,
    others: list[Object],
    unused: list[Object],
) -> tuple[Case | None, list[Object], Run]:
    """A cluster with the base synced, the head with the same masks for the same secrets, and the run of
    the base on an empty cluster.
    """
    app, new = touched.app, touched.new
    with checkout.sources([old.body], checkout.base) as sources:
        snapshot, base_run = _synced_base(old, touched, others, unused, sources)
    if snapshot is None:
        return None, new.objects, base_run
    own: Object = {"spec": fields(app.body.get("spec"))}
    applications = tuple(
        manifest.with_body({**manifest.body, **own}) if _is_app(manifest, app) else manifest
        for manifest in snapshot.applications
    )
    live = tuple(  # an app may deploy itself
        manifest.with_body(quieted({**manifest.body, **own})) if _is_app(manifest, app) else manifest
        for manifest in snapshot.live
    )
    head_manifests = tuple(Manifest(copy_object(obj), role=Role.DESIRED) for obj in new.objects)
    snapshot = with_declared_project(snapshot, touched.project)
    masked_snapshot = masked(
        replace(
            snapshot,
            applications=applications,
            live=live,
            desired={**snapshot.desired, _HEAD: head_manifests},
        )
    )
    desired = dict(masked_snapshot.desired)
    head = [
        with_shape(manifest.body, plain)
        for manifest, plain in zip(desired.pop(_HEAD), new.objects, strict=True)
    ]
    # These settings are our own, and the value of a key such as `ExternalSecret` would be masked.
    based = case_in(replace(masked_snapshot, desired=desired, settings=snapshot.settings), app.name)
    return based, head, base_run


def _is_app(manifest: Manifest, app: FoundApp) -> bool:
    return is_application(manifest.body) and qualified(manifest.body) == app.name


def _fails_alike(head: Run, base: Run) -> bool:
    """Does nothing fail in the run of the head that does not fail in that of the base?"""
    if head.passed or base.passed:
        return False
    failed, known = _items_in(head, State.FAILED), _items_in(base, State.FAILED)
    waiting = _items_in(head, State.WAITING)
    if not failed and not waiting:
        return head.message == base.message
    return failed <= known and waiting <= known | _items_in(base, State.WAITING)


def _items_in(run: Run, state: State) -> set[Ref]:
    return {bare(item.ref) for step in run.steps for item in step.items if item.state is state}


def _synced_base(
    old: FoundApp,
    touched: _Touched,
    others: list[Object],
    unused: list[Object],
    sources: GitSources,
) -> tuple[Snapshot | None, Run]:
    """Sync the base, without the objects that fail: what the cluster has of them is not known.

    A base that is unhealthy on an empty cluster still has all its objects there.
    """
    base = touched.base
    runs: list[Run] = []
    failed: set[Ref] = set()
    while len(runs) < _MAX_ATTEMPTS:
        run = on_empty(
            old.body,
            [obj for obj in base.objects if bare(ref_of(obj)) not in failed],
            _Without(sources, frozenset(failed)),
            known=base.objects,
            coming=touched.new.objects,
            others=others,
            unused=unused,
            project=touched.old_project,
            planned_cluster=PlannedCluster.BASE,
            mask=False,
        )
        runs.append(run)
        before = len(failed)
        failed |= {bare(item.ref) for step in run.steps for item in step.items if item.state is State.FAILED}
        if run.passed or not run.steps or len(failed) == before:
            return (run.snapshot if run.steps else None), runs[0]
    return None, runs[0]


class _Without(msgspec.Struct):
    """A repository whose manifests lack some objects."""

    _sources: GitSources
    _left_out: frozenset[Ref]

    def resolve(self, source: Object, revision: str) -> str:
        return self._sources.resolve(source, revision)

    def render(self, application: Object, source: Object, commit: str) -> Rendered:
        rendered = self._sources.render(application, source, commit)
        kept = (obj for obj in rendered.manifests if bare(ref_of(obj)) not in self._left_out)
        return replace(rendered, manifests=tuple(kept))

    def heads(self) -> Sequence[Head]:
        return self._sources.heads()


def _with_masked_secrets(case: Case, base: list[Object], head: list[Object]) -> list[Object]:
    """Secrets that the commit does not change are taken from the facts, where their values are masked."""
    masked_secrets = {
        (desired_object.ref.kind, desired_object.ref.name): desired_object.body
        for desired_object in case.desired
        if desired_object.ref.kind == "Secret"
    }
    base_secrets = {
        text(dig(secret, "metadata", "name")): secret for secret in base if secret.get("kind") == "Secret"
    }
    result: list[Object] = []
    for obj in head:
        name = text(dig(obj, "metadata", "name"))
        masked_secret = masked_secrets.get(("Secret", name)) if obj.get("kind") == "Secret" else None
        result.append(masked_secret if masked_secret is not None and base_secrets.get(name) == obj else obj)
    coming = tuple(Manifest(copy_object(obj), role=Role.DESIRED) for obj in result)
    hidden = mask_snapshot(Snapshot(desired={_HEAD: coming})).desired[_HEAD]
    return [with_shape(manifest.body, plain) for manifest, plain in zip(hidden, result, strict=True)]
