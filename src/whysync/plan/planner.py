"""Create a plan from two commits: which Applications change, and what their sync would do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec
from msgspec.structs import replace

from whysync.argocd.repo_server.git.tree import missing_in_words
from whysync.argocd.repo_server.git_sources import GitSources
from whysync.argocd.repo_server.repository import RepoProblem
from whysync.diagnosis.case import Case
from whysync.errors import NotFound, Unreadable
from whysync.facts.masking import mask_snapshot
from whysync.facts.snapshot import Gap, GapKind, Snapshot
from whysync.json_tree import Object, copy_object, dig, fields, text
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.kubernetes.api.ref import Key
from whysync.plan.changes import changes_of, key_of
from whysync.plan.checkout import Checkout, Side, sources_of
from whysync.plan.find_applications import (
    FoundApp,
    apps_in,
    concerns,
    is_application,
    may_be_touched,
    placed,
    qualified,
    removal_note,
)
from whysync.plan.merge_safety import safety_of
from whysync.plan.plan import AppPlan, Plan, PlannedCluster, Run
from whysync.plan.secrets import with_shape
from whysync.plan.simulations import case_in, masked, on_empty, onto
from whysync.plan.try_fix import Trial
from whysync.proofs.required_facts import NotSimulated

_MAX_APPS: Final = 500
_MAX_GAPS: Final = 10
_HEAD: Final = "the head/"


class Rendering(msgspec.Struct, kw_only=True):
    objects: list[Object] = msgspec.field(default_factory=list[Object])
    origins: dict[Key, str] = msgspec.field(default_factory=dict[Key, str])
    problem: str = ""
    gap: str = ""
    """Set if only this machine cannot render it."""


class _Touched(msgspec.Struct, frozen=True, kw_only=True):
    """An app that the commit changes, on both sides."""

    app: FoundApp
    old: FoundApp | None
    base: Rendering
    new: Rendering


def plan(
    checkout: Checkout,
    *,
    path: str = "",
    name: str = "",
    file: str = "",
    live: Snapshot | None = None,
    closely: Callable[[tuple[str, ...]], Snapshot] | None = None,
    on_base: bool = True,
    keep: bool = False,
    trials: dict[str, Trial] | None = None,
) -> Plan:
    """Create the plan; `path` and `file` are relative to the checkout; `live` are facts of a cluster, masked.

    If `live` only lists the Applications, `closely` reads the facts of those that the commit changes.
    `trials` gets what is needed to try fixes, by name. With `keep`, passing runs keep their final state too.
    """
    notes = [
        f"{side.revision}: {missing_in_words(side.tree.missing)}"
        for side in (checkout.base, checkout.head)
        if side.tree.missing
    ]
    if live is not None:
        settings = (setting.body for setting in live.settings if setting.ref.name == "argocd-cm")
        checkout.argocd_cm = next(settings, None)
    apps = _chosen(checkout, path=path, name=name, file=file, live=live, notes=notes)
    touched: list[_Touched] = []
    untouched: list[str] = []
    before = {app.name: app for app in apps_in(checkout, checkout.base)}
    names = {chosen.name for chosen in apps}
    queue = list(apps)
    while queue and len(touched) + len(untouched) < _MAX_APPS:
        app = queue.pop(0)
        old = before.get(app.name) or (app if not app.file else None)
        new = rendered(checkout, app, checkout.head)
        for child in (FoundApp(body=placed(obj), file="") for obj in new.objects if is_application(obj)):
            if child.name not in names:
                names.add(child.name)
                queue.append(child)
        base = rendered(checkout, old, checkout.base) if old is not None else Rendering()
        same = old is not None and old.body == app.body and new.problem == base.problem
        if not may_be_touched(app, checkout) or (same and new.objects == base.objects):
            untouched.append(app.name)
            continue
        touched.append(_Touched(app=app, old=old, base=base, new=new))
    facts = _facts_of(touched, live, closely)
    planned = [
        _planned(checkout, changed_app, facts, trials, on_base=on_base, keep=keep) for changed_app in touched
    ]
    if not (path or name or file):
        notes += [
            removal_note(before[name], len(rendered(checkout, before[name], checkout.base).objects))
            for name in sorted(before.keys() - names)
        ]
    return Plan(
        base=checkout.base.revision,
        head=checkout.head.revision,
        apps=tuple(sorted(planned, key=lambda planned_app: planned_app.name)),
        untouched=tuple(sorted(untouched)),
        notes=tuple(notes),
    )


def _chosen(
    checkout: Checkout, *, path: str, name: str, file: str, live: Snapshot | None, notes: list[str]
) -> list[FoundApp]:
    apps = apps_in(checkout, checkout.head, only=file, notes=notes)
    if file:
        if not apps:
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
            and any(checkout.contains_source(source) for source in sources_of(app.body))
        ]
    if name:
        chosen = [app for app in apps if name in (app.name, app.name.partition("/")[2])]
        if not chosen:
            raise NotFound(
                what=f"there is neither a path nor an Application {name!r} here",
                why=f"{len(apps)} Applications were found",
                next="give a path of the checkout, or the name of one of its Applications",
            )
        return chosen
    chosen = [app for app in apps if concerns(app, path, checkout)]
    if chosen or file:
        return chosen or apps
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
    namespace = text(dig(app.body, "spec", "destination", "namespace"))
    with checkout.sources([app.body], side) as sources:
        try:
            for source in sources_of(app.body):
                if source.get("ref") and not source.get("path") and not source.get("chart"):
                    continue
                commit = sources.resolve(source, text(source.get("targetRevision")))
                for obj in sources.rendered(app.body, source, commit).objects:
                    result.objects.append(obj.body)
                    result.origins.setdefault(key_of(obj.body, namespace), str(obj.origin))
        except RepoProblem as problem:
            result.problem = problem.message
            unavailable = sources.unavailable.get(app.name)
            if unavailable is not None or not any(
                checkout.contains_source(source) for source in sources_of(app.body)
            ):
                result.gap = problem.message
    return result


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
    trials: dict[str, Trial] | None,
    *,
    on_base: bool,
    keep: bool,
) -> AppPlan:
    """Plan one app. Manifests that cannot be rendered fail everywhere, so one cluster is sufficient."""
    app, old, base, new = touched.app, touched.old, touched.base, touched.new
    if new.gap:
        return AppPlan(name=app.name, file=app.file, notes=(f"not planned: {new.gap}",))
    with checkout.sources([app.body], checkout.head) as head:
        empty_run = on_empty(app.body, new.objects, head, known=base.objects, keep=keep)
    if new.problem:
        return AppPlan(name=app.name, file=app.file, runs=(empty_run,))
    notes: list[str] = []
    case = _live_case(live, app.name, base) if live is not None else None
    if live is not None and case is None:
        notes.append("the facts of --live do not have this app: it is planned as a new one")
    unseen = case.gaps if case is not None else ()
    if base.gap:
        unseen += (
            Gap(
                kind=GapKind.NOT_RENDERED,
                what="the manifests of the base",
                why=f"{base.gap}; all objects are listed as new",
            ),
        )
    notes += [f"not available: {gap.what}: {gap.why}" for gap in unseen[:_MAX_GAPS]]
    onto_base = on_base and case is None and old is not None and not base.problem and bool(base.objects)
    head_objects = new.objects
    planned_cluster = PlannedCluster.LIVE
    if onto_base and old is not None:
        case, head_objects = _based(checkout, app, old, base, new)
        planned_cluster = PlannedCluster.BASE
        if case is None:
            notes.append("the base itself fails on an empty cluster: the change is not simulated on it")
    elif case is not None:
        head_objects = _with_masked_secrets(case, base.objects, new.objects)
    if trials is not None:
        trials[app.name] = Trial(
            application=app.body,
            head=new.objects,
            known=base.objects,
            case=case,
            masked_head=head_objects,
            cluster=planned_cluster,
        )
    runs: list[Run] = []
    effects = None
    if case is not None:
        try:
            run, effects = onto(case, head_objects, planned_cluster, keep=keep)
            runs.append(run)
        except NotSimulated as problem:
            notes.append(f"not run on {planned_cluster.value}: {problem}")
    runs.append(empty_run)
    prunes = fields(dig(app.body, "spec", "syncPolicy", "automated")).get("prune") is True
    changes = changes_of(
        base.objects,
        new.objects,
        text(dig(app.body, "spec", "destination", "namespace")),
        prunes=prunes,
        effects=effects,
        live=frozenset(live_object.key for live_object in case.index.snapshot.live)
        if case is not None and live
        else None,
        origins=new.origins,
    )
    return AppPlan(
        name=app.name,
        file=app.file,
        runs=tuple(runs),
        changes=changes,
        safety=None if base.gap else safety_of(changes, runs),
        notes=tuple(notes),
        unseen=unseen,
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
    checkout: Checkout, app: FoundApp, old: FoundApp, base: Rendering, new: Rendering
) -> tuple[Case | None, list[Object]]:
    """A cluster with the base synced, and the head with the same masks for the same secrets."""
    with checkout.sources([old.body], checkout.base) as sources:
        snapshot = _synced_base(old, base, new, sources)
    if snapshot is None:
        return None, new.objects
    spec = fields(app.body.get("spec"))
    applications = tuple(
        application.with_body({**application.body, "spec": spec})
        if application.ref.name == app.name.partition("/")[2]
        else application
        for application in snapshot.applications
    )
    head_manifests = tuple(Manifest(copy_object(obj), role=Role.DESIRED) for obj in new.objects)
    masked_snapshot = masked(
        replace(snapshot, applications=applications, desired={**snapshot.desired, _HEAD: head_manifests})
    )
    desired = dict(masked_snapshot.desired)
    head = [
        with_shape(manifest.body, plain)
        for manifest, plain in zip(desired.pop(_HEAD), new.objects, strict=True)
    ]
    # These settings are our own, and the value of a key such as `ExternalSecret` would be masked.
    return case_in(replace(masked_snapshot, desired=desired, settings=snapshot.settings), app.name), head


def _synced_base(old: FoundApp, base: Rendering, new: Rendering, sources: GitSources) -> Snapshot | None:
    """Sync the base; if it fails itself, nothing can be concluded from it."""
    run = on_empty(
        old.body,
        base.objects,
        sources,
        known=base.objects,
        coming=new.objects,
        planned_cluster=PlannedCluster.BASE,
        mask=False,
    )
    return run.snapshot if run.passed else None


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
