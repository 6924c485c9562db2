"""The pipeline: read the facts, select Applications, diagnose them, and simulate the fixes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO

import msgspec
from msgspec.structs import replace

from whysync.deadline import Deadline
from whysync.diagnosis.case import Case
from whysync.diagnosis.fix import Fix, Proof, ProofKind, ProofStatus
from whysync.diagnosis.fleet import diagnosed
from whysync.diagnosis.report import AppReport, Group, ReasonKind, Report, Safety
from whysync.diagnosis.rule import VARIES, AnyRule, diagnosis_rules, registry
from whysync.diagnosis.runner import diagnose as diagnose_case
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.errors import NoSource, NotFound
from whysync.facts.bundle.limits import BundleLimits
from whysync.facts.snapshot import Gap, GapKind, Snapshot
from whysync.fixes.generated_app import for_generated_app
from whysync.fixes.patches import in_safe_order, is_usable
from whysync.fixes.while_deleting import not_while_deleting
from whysync.fixes.while_syncing import not_into_a_running_sync
from whysync.json_tree import Object, garbage_collection_paused

if TYPE_CHECKING:  # reading a bundle imports none of them
    from whysync.facts.application_watch import ApplicationChange
    from whysync.facts.argocd_api import ArgoServer
    from whysync.facts.collect import CollectedCounts, Collection, Target
    from whysync.facts.kubernetes_api.access import KubeAccess
    from whysync.facts.selection import Selection
    from whysync.plan.checkout import Checkout
    from whysync.plan.plan import AppPlan, Plan, Run
    from whysync.plan.try_fix import Trial
    from whysync.queries.application_set_state import SetReport
    from whysync.queries.possible_causes import TextAnswer

MOST_PROVEN = 10
"""Fixes are simulated for at most this many apps with findings at once."""
_MOST_CAUSES = 3
"""Causes that a plan names for each cluster on which an app would fail."""
_NO_DEADLINE = Deadline()
_INTERRUPTED = "whysync was interrupted"
_OUT_OF_TIME = "not simulated: --timeout was exceeded"
Progress = Callable[[str, int], None]


class FactSource(msgspec.Struct, frozen=True, kw_only=True):
    """The source of the facts: bundles, Argo CD's API, Kubernetes, or both APIs together."""

    bundles: tuple[str, ...] = ()
    stdin: BinaryIO | None = None
    limits: BundleLimits | None = None
    server: ArgoServer | None = None
    kube: KubeAccess | None = None
    selection: Selection | None = None
    """What to read from a live source."""


def read(source: FactSource, *, progress: Progress | None = None) -> tuple[SnapshotIndex, ...]:
    """Read the facts, with secrets masked: one index per Argo CD instance."""
    if source.bundles:
        from whysync.facts.bundle import read_bundles

        read = read_bundles(source.bundles, stdin=source.stdin, limits=source.limits, progress=progress)
        return tuple(map(SnapshotIndex, read))
    return (SnapshotIndex(snapshot(source, progress=progress)),)


def snapshot(source: FactSource, *, progress: Progress | None = None) -> Snapshot:
    if source.bundles:
        from whysync.facts.bundle import read_bundle

        return read_bundle(source.bundles, stdin=source.stdin, limits=source.limits, progress=progress)
    named, selection = _live_snapshot(source, progress), _selection(source)
    # The files of `--local` are those of the named Application: with another one, their owner is ambiguous.
    if selection.listing or selection.local or not selection.is_narrow:
        return named
    from whysync.facts.other_owners import other_owners

    owners = other_owners(named)
    if not owners:
        return named
    # Read again, so that the facts about objects that they share are of one moment.
    again = replace(selection, also=owners, refresh="")
    return _live_snapshot(replace(source, selection=again), progress)


def _live_snapshot(source: FactSource, progress: Progress | None) -> Snapshot:
    if source.server is not None and source.kube is not None:
        return _both(source, progress)
    if source.server is not None:
        from whysync.facts.argocd_api import read_argocd

        return read_argocd(source.server, _selection(source), progress)
    if source.kube is not None:
        from whysync.facts.kubernetes_api import read_kubernetes

        return read_kubernetes(source.kube, _selection(source), progress)
    raise no_source()


def applications_snapshot(source: FactSource, *, progress: Progress | None = None) -> Snapshot:
    """The Applications; nothing else is read from a live source."""
    if source.bundles:
        return snapshot(source, progress=progress)
    selection = replace(_selection(source), listing=True, refresh="")
    return snapshot(replace(source, selection=selection), progress=progress)


def follow_applications(source: FactSource) -> AsyncGenerator[ApplicationChange | None]:
    """Applications of a live source that change from now on; `None` says that it has begun."""
    if source.server is not None:
        from whysync.facts.argocd_api.watch import watch_argocd

        return watch_argocd(source.server, _selection(source))
    if source.kube is not None:
        from whysync.facts.kubernetes_api.watch import watch_kubernetes

        return watch_kubernetes(source.kube, _selection(source))
    raise no_source()


def detailed_snapshot(source: FactSource, names: Sequence[str]) -> Snapshot:
    """All facts about these Applications, refreshed first with `--refresh`."""
    selection = replace(_selection(source), names=tuple(names), every_gap=True)
    return snapshot(replace(source, selection=selection))


def changed_snapshot(source: FactSource, names: Sequence[str]) -> Snapshot:
    """These Applications, and all facts about those of them that have a problem."""
    selection = replace(_selection(source), names=tuple(names), problems_only=True)
    return snapshot(replace(source, selection=selection))


def _both(source: FactSource, progress: Progress | None, *, everything: bool = False) -> Snapshot:
    """The facts of Argo CD's API, completed with facts of the cluster."""
    from whysync.facts.argocd_api import read_argocd
    from whysync.facts.combined import combine
    from whysync.facts.kubernetes_api import read_kubernetes
    from whysync.facts.masking import Masker

    assert source.server is not None
    assert source.kube is not None
    masker, selection = Masker(), _selection(source)
    unrefreshed = replace(selection, refresh="", local="")
    try:
        # The cluster has the kinds and the version that rendering needs, so it is done there.
        served = replace(selection, checkout="", git=False)
        argocd = read_argocd(source.server, served, progress, everything=everything, masker=masker)
    except NotFound as hidden:
        return _hidden_from_argocd(hidden, source.kube, replace(selection, refresh=""), progress)
    cluster = read_kubernetes(source.kube, unrefreshed, progress, everything=everything, masker=masker)
    return combine(argocd, cluster)


def _hidden_from_argocd(
    hidden: NotFound, kube: KubeAccess, selection: Selection, progress: Progress | None
) -> Snapshot:
    """The facts of the cluster about Applications that Argo CD does not show; an error if it has none."""
    from whysync.facts.kubernetes_api import read_kubernetes

    cluster = read_kubernetes(kube, selection, progress)
    gap = Gap(kind=GapKind.FORBIDDEN, what="Argo CD's API", why=hidden.what, how_to_get=hidden.next)
    return replace(cluster, gaps=(gap, *cluster.gaps))


def collect(source: FactSource, target: Target, *, progress: Progress | None = None) -> CollectedCounts:
    """Write all facts of a source to a bundle; an interrupted collection is resumed."""
    from whysync.facts.collect import Collection

    bundle = Collection(target, _description(source))
    full: list[Gap] = []
    try:
        for piece in _pieces(source, bundle, progress):
            bundle.add(piece)
            if bundle.is_full:
                full.append(bundle.full_gap())
                break
    except BaseException:
        bundle.leave()
        raise
    return bundle.finish(tuple(full))


def _pieces(source: FactSource, bundle: Collection, progress: Progress | None) -> Iterator[Snapshot]:
    """The facts in parts: a few Applications at a time from Argo CD, everything at once from a cluster."""
    if source.server is not None and source.kube is not None and not source.bundles:
        if not bundle.has_pieces:
            yield _both(source, progress, everything=True)
    elif source.server is not None and not source.bundles:
        from whysync.facts.argocd_api.batches import read_argocd_in_pieces

        yield from read_argocd_in_pieces(
            source.server, _selection(source), progress, done=bundle.done, masker=bundle.masker()
        )
    elif source.kube is not None and not source.bundles:
        from whysync.facts.kubernetes_api import read_kubernetes

        if not bundle.has_pieces:
            yield read_kubernetes(
                source.kube, _selection(source), progress, everything=True, masker=bundle.masker()
            )
    elif not bundle.has_pieces:
        yield snapshot(source, progress=progress)


def _description(source: FactSource) -> str:
    """The source and the selection, without credentials: it identifies a collection that is resumed."""
    if source.bundles:
        return f"bundles {', '.join(source.bundles)}"
    selection = _selection(source)
    names = selection.names or ("all Applications",)
    filters = (*names, *selection.app_namespaces, *selection.projects, selection.selector)
    if source.server is not None:
        address = source.server.base_url
    elif source.kube is not None:
        address = f"kubeconfig {source.kube.kubeconfig or 'of the environment'} {source.kube.context}".strip()
    else:
        raise no_source()
    return f"{address}: {' '.join(value for value in filters if value)}"


def _selection(source: FactSource) -> Selection:
    from whysync.facts.selection import Selection

    return source.selection or Selection()


def no_source() -> NoSource:
    return NoSource(
        what="no source of facts is configured",
        why="no bundle, Argo CD server or kubeconfig is given, and argocd and kubectl have no config file",
        next="pass --bundle PATH (folder, archive, YAML file, or - for standard input), --server HOST with"
        " --auth-token, or --kubeconfig FILE; or run argocd login",
    )


def cases(
    worlds: SnapshotIndex | Sequence[SnapshotIndex], names: Sequence[str] = (), *, partly: bool = False
) -> tuple[Case, ...]:
    """The Applications with these names, or all of them.

    A name is `name`, `namespace/name` or, if there are several instances, `instance/namespace/name`.
    `partly`: without those that the source does not show to the account, which is a gap.
    """
    worlds = (worlds,) if isinstance(worlds, SnapshotIndex) else worlds
    every = tuple(Case(world, manifest, app) for world in worlds for manifest, app in world.decoded)
    if not every:
        raise NotFound(
            what="no Application found",
            why="the facts have no object of kind Application (argoproj.io)",
            next="add it: kubectl -n argocd get application NAME -o yaml",
        )
    if not names:
        return every
    chosen: list[Case] = []
    not_shown = [world.snapshot.not_shown for world in worlds]
    for name in names:
        matching = [
            case for case in every if name in (case.app.name, case.app.qualified_name, case.qualified_name)
        ]
        if gap := next((gaps[name] for gaps in not_shown if name in gaps and not matching), None):
            if partly:
                continue
            raise NotFound(what=f"{gap.what} is not shown", why=gap.why, next=gap.how_to_get)
        if not matching:
            raise NotFound(
                what=f"Application {name!r} not found",
                why=_nearest(name, [case.qualified_name for case in every]),
                next="whysync list shows all apps; whysync --help lists the commands",
            )
        chosen += [case for case in matching if case not in chosen]
    return tuple(chosen)


def application_sets(worlds: Sequence[SnapshotIndex], names: Sequence[str]) -> tuple[SetReport, ...]:
    """The ApplicationSets with these names (`name` or `namespace/name`), with what is wrong with each."""
    from whysync.application_sets.set_report import set_report

    reports: list[SetReport] = []
    every = [
        (world, manifest) for world in worlds for manifest in world.live_by_kind.get("ApplicationSet", ())
    ]
    for name in names:
        matching = [pair for pair in every if name in (pair[1].ref.name, pair[1].ref.place)]
        if not matching:
            raise NotFound(
                what=f"ApplicationSet {name!r} not found",
                why=_nearest(name, [manifest.ref.place for _, manifest in every]),
                next="add it to the facts: kubectl -n argocd get applicationset NAME -o yaml",
            )
        reports += [set_report(world, manifest) for world, manifest in matching]
    return tuple(reports)


def cases_of_sets(worlds: Sequence[SnapshotIndex], sets: Sequence[SetReport]) -> tuple[Case, ...]:
    """The Applications that these sets own."""
    members = {(member.namespace, member.name) for one in sets for member in one.members}
    return tuple(
        Case(world, manifest, app)
        for world in worlds
        for manifest, app in world.decoded
        if (app.namespace, app.name) in members
    )


def _nearest(name: str, candidates: list[str]) -> str:
    import difflib

    short = {full.rpartition("/")[2]: full for full in candidates}
    matches = difflib.get_close_matches(name.rpartition("/")[2], short, n=3)
    if matches:
        return f"did you mean {', '.join(short[n] for n in matches)}?"
    return f"none of the {len(candidates)} known names is similar"


def diagnose(
    chosen: Iterable[Case],
    *,
    prove: bool = True,
    deadline: Deadline = _NO_DEADLINE,
    progress: Progress | None = None,
    partial: bool = False,
) -> Report:
    """Run all rules on each Case, and group Applications that share a cause.

    `prove`: also simulate a sync, and each fix, until the deadline. `partial`: Ctrl-C ends the work, and the
    report has the apps that are diagnosed; `Report.unfinished` counts the others.
    """
    cases = tuple(chosen)

    def one(case: Case) -> AppReport:
        report = _with_usable_fixes(diagnose_case(case, rules))
        return _with_safety(report, deadline) if prove else report

    rules = diagnosis_rules()
    with garbage_collection_paused():
        apps, interrupted = diagnosed(cases, one, progress=progress, partial=partial)
        apps = apps if interrupted else _with_lines(apps)
        few_broken = sum(1 for report in apps if report.findings) <= MOST_PROVEN
        proven: list[AppReport] = []
        try:
            for report in apps:
                proven.append(
                    _not_proven(report, _INTERRUPTED)
                    if interrupted
                    else _with_proofs(report, deadline, prove=prove, few_broken=few_broken)
                )
        except KeyboardInterrupt:
            if not partial:
                raise
            interrupted = True
            proven += [_not_proven(report, _INTERRUPTED) for report in apps[len(proven) :]]
    return Report(
        apps=tuple(proven),
        groups=shared_causes(proven),
        unread=proven[0].gaps if proven else (),
        unfinished=len(cases) - len(proven),
        interrupted=interrupted,
    )


def _with_lines(apps: Sequence[AppReport]) -> Sequence[AppReport]:
    """The reports with lines of Git, for apps whose files are known; of many, only those that are proven."""
    located = [app for app in apps if app.findings and app.case.rendering is not None]
    if not located or len(located) > MOST_PROVEN:
        return apps
    from whysync.plan.live_lines import with_lines

    return tuple(with_lines(app) if app.case.rendering is not None else app for app in apps)


def shared_causes(apps: Sequence[AppReport]) -> tuple[Group, ...]:
    """Causes that several apps share, with the fix for all of them if there is one."""
    from whysync.fixes.fleet import groups_with_fixes

    return groups_with_fixes(apps)


def _with_usable_fixes(report: AppReport, *, predicted: bool = False) -> AppReport:
    """Drop fixes that would commit a masked value or change nothing."""
    findings = tuple(
        replace(finding, fixes=in_safe_order(_usable(finding.fixes, report)))
        if finding.predicted is predicted
        else finding
        for finding in report.findings
    )
    return replace(report, findings=findings)


def _with_safety(report: AppReport, deadline: Deadline) -> AppReport:
    from whysync.proofs.sync_safety import safety_of, with_predicted_failure

    if deadline.is_over:
        return replace(report, safety=Safety.unknown(ReasonKind.NOT_TRIED, _OUT_OF_TIME))
    with_safety = replace(report, safety=safety_of(report.case, report.findings))
    return _with_usable_fixes(with_predicted_failure(with_safety), predicted=True)


def _with_proofs(report: AppReport, deadline: Deadline, *, prove: bool, few_broken: bool) -> AppReport:
    if not any(finding.fixes for finding in report.findings):
        return report
    if not prove:
        return _not_proven(report, "--no-proof is set")
    if not few_broken:
        return _not_proven(report, f"more than {MOST_PROVEN} apps have findings; pass the name of an app")
    from whysync.proofs.prove import prove as proven

    return proven(report, deadline)


def _not_proven(report: AppReport, why: str) -> AppReport:
    """The report with the reason why its fixes were not simulated."""
    untried = Proof(status=ProofStatus.NOT_RUN, kind=ProofKind.NOT_TRIED, why=why)
    findings = (
        replace(finding, fixes=tuple(replace(fix, proof=untried) for fix in finding.fixes))
        for finding in report.findings
    )
    return replace(report, findings=tuple(findings))


def _usable(fixes: Iterable[Fix], report: AppReport) -> Iterator[Fix]:
    for fix in fixes:
        possible = not_while_deleting(fix, report.case) if is_usable(fix, report.case) else None
        if possible is not None:
            yield not_into_a_running_sync(for_generated_app(possible, report.case), report.case)


def known_causes() -> tuple[str, ...]:
    """Every cause that a finding can have, and `unexplained` for symptoms without one."""
    from whysync.queries.unrecognized_errors import EXPLANATIONS

    causes = {rule.cause for rule in diagnosis_rules()} - {VARIES}
    causes |= {explanation.cause for explanation in EXPLANATIONS.values()}
    return (*sorted(causes), "unexplained")


def explained(name: str) -> tuple[AnyRule, ...]:
    """The rule with this id, or all rules with this cause."""
    key = name.strip().removeprefix("C-").replace("_", "-").lower()
    rules = tuple(rule for rule in registry() if key in (rule.id.replace("_", "-"), rule.cause))
    if not rules:
        names = sorted({rule.cause for rule in registry()} | {rule.id for rule in registry()})
        raise NotFound(
            what=f"unknown rule or cause {name!r}",
            why=_nearest(key, names),
            next="whysync explain lists all of them",
        )
    return rules


def explained_text(text: str) -> TextAnswer:
    """The possible causes of an error message, as `diagnose` finds them in an Application."""
    from whysync.facts.masking import Masker
    from whysync.queries.possible_causes import possible_causes

    def diagnosed(case: Case) -> AppReport:
        return diagnose((case,), prove=False).apps[0]

    return possible_causes(Masker().masked_text(text), diagnosed)


class PlanScope(msgspec.Struct, frozen=True, kw_only=True):
    """What to plan: paths are relative to the checkout; without any of them, all apps."""

    path: str = ""
    name: str = ""
    file: str = ""
    given: tuple[Object, ...] = ()
    """Applications that the checkout does not contain; only these are planned, with what they deploy."""
    only_on_empty_cluster: bool = False


def plan(
    checkout: Checkout,
    scope: PlanScope,
    *,
    source: FactSource | None = None,
    live: Snapshot | None = None,
    prove: bool = True,
    deadline: Deadline = _NO_DEADLINE,
    progress: Progress | None = None,
) -> tuple[Plan, Report]:
    """What the head of a checkout would change, and the diagnosis of the apps that would fail.

    `live` are the Applications of `source`, to plan on the live cluster too.
    """
    from whysync.plan.planner import plan as planned

    trials: dict[tuple[str, str], Trial] = {}
    plan = planned(
        checkout,
        path=scope.path,
        name=scope.name,
        file=scope.file,
        given=scope.given,
        live=live,
        closely=(lambda names: detailed_snapshot(source, names)) if source and not source.bundles else None,
        on_base=not scope.only_on_empty_cluster,
        trials=trials,
        progress=progress,
    )
    report = _plan_diagnosed(plan, trials, prove=prove, deadline=deadline)
    return _plan_explained(plan, report, trials, checkout), report


def _plan_diagnosed(
    plan: Plan, trials: dict[tuple[str, str], Trial], *, prove: bool, deadline: Deadline
) -> Report:
    """The diagnosis of the apps that would fail."""
    from whysync.plan.simulations import case_in
    from whysync.plan.try_fix import with_trials

    cases = [
        case_in(run.snapshot, app.name)
        for app in plan.apps
        if (run := app.decisive) is not None and not run.passed and run.snapshot is not None
    ]
    report = diagnose(cases, prove=prove, deadline=deadline)
    if not prove or len(report.apps) > MOST_PROVEN:
        return report
    keys = {id(run.snapshot): app.key for app in plan.apps if (run := app.decisive) is not None}
    apps = tuple(with_trials(app, trials.get(keys[id(app.case.index.snapshot)])) for app in report.apps)
    return replace(report, apps=apps)


def _plan_explained(
    plan: Plan, report: Report, trials: dict[tuple[str, str], Trial], checkout: Checkout
) -> Plan:
    """The plan with the causes of failures, and with the lines of the checkout that verdicts are about."""
    from whysync.plan.causes import CheckoutPlaces

    places = CheckoutPlaces(checkout)
    reports = {id(app_report.case.index.snapshot): app_report for app_report in report.apps}
    apps: list[AppPlan] = []
    for app in plan.apps:
        run = app.decisive
        app_report = reports.get(id(run.snapshot)) if run is not None and run.snapshot is not None else None
        if app_report is not None:
            app = places.with_causes(_with_all_causes(app), app_report, trials.get(app.key))
        apps.append(places.with_location(app, trials.get(app.key)))
    return replace(plan, apps=tuple(apps))


def _with_all_causes(app: AppPlan) -> AppPlan:
    """The plan with the causes for each cluster on which the app would fail."""
    if sum(not run.passed for run in app.runs) < 2:
        return app
    runs = (run if run is app.decisive else _with_causes(run, app.name) for run in app.runs)
    return replace(app, runs=tuple(runs))


def _with_causes(run: Run, name: str) -> Run:
    from whysync.plan.simulations import case_in

    if run.passed or run.snapshot is None:
        return run
    (report,) = diagnose([case_in(run.snapshot, name)], prove=False).apps
    roots = [
        finding.verdict
        for finding in report.findings
        if not finding.caused_by and finding.severity.weight > 0
    ]
    return replace(run, message="; ".join(roots[:_MOST_CAUSES])) if roots else run
