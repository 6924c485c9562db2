"""The pipeline on one page: where the facts come from, which Applications, what is said of them."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO

import msgspec
from msgspec.structs import replace

from whysync.deadline import Deadline
from whysync.diagnosis.case import Case
from whysync.diagnosis.fix import Fix, FixKind, Proof, ProofKind, ProofStatus
from whysync.diagnosis.report import AppReport, Group, ReasonKind, Report, Safety
from whysync.diagnosis.rule import AnyRule, diagnosis_rules, registry
from whysync.diagnosis.runner import diagnose as diagnose_case
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.errors import NoSource, NotFound
from whysync.facts.bundle.limits import BundleLimits
from whysync.facts.snapshot import Gap, Snapshot
from whysync.fixes.patches import in_safe_order, is_usable
from whysync.fixes.while_syncing import not_into_a_running_sync

if TYPE_CHECKING:  # a bundle is read without any of them
    from whysync.facts.argocd_api import ArgoServer
    from whysync.facts.collect import CollectedCounts, Collection, Target
    from whysync.facts.kubernetes_api.access import KubeAccess
    from whysync.facts.selection import Selection
    from whysync.queries.possible_causes import TextAnswer

MOST_PROVEN = 10
"""Of so many apps at once the fixes are tried; who looks at more wants to know what they share."""
_NO_DEADLINE = Deadline()
_OUT_OF_TIME = "not tried: the time given with --timeout is used up"
Progress = Callable[[str, int], None]


class FactSource(msgspec.Struct, frozen=True, kw_only=True):
    """Where the facts come from: bundles, else Argo CD's API or Kubernetes itself, or both together."""

    bundles: tuple[str, ...] = ()
    stdin: BinaryIO | None = None
    limits: BundleLimits | None = None
    server: ArgoServer | None = None
    kube: KubeAccess | None = None
    # of a live source
    selection: Selection | None = None


def read(source: FactSource, *, progress: Progress | None = None) -> SnapshotIndex:
    """All the facts, with secrets masked."""
    return SnapshotIndex(snapshot(source, progress=progress))


def snapshot(source: FactSource, *, progress: Progress | None = None) -> Snapshot:
    if source.bundles:
        from whysync.facts.bundle import read_bundle

        return read_bundle(source.bundles, stdin=source.stdin, limits=source.limits, progress=progress)
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
    """Which Applications there are; of a live source nothing else is asked."""
    if source.bundles:
        return snapshot(source, progress=progress)
    selection = replace(_selection(source), listing=True, refresh="")
    return snapshot(replace(source, selection=selection), progress=progress)


def detailed_snapshot(
    source: FactSource, names: Sequence[str], *, progress: Progress | None = None
) -> Snapshot:
    """All about these Applications, refreshed first if that was asked for."""
    selection = replace(_selection(source), names=tuple(names), every_gap=True)
    return snapshot(replace(source, selection=selection), progress=progress)


def _both(source: FactSource, progress: Progress | None, *, everything: bool = False) -> Snapshot:
    """What Argo CD knows, and what only the cluster does."""
    from whysync.facts.argocd_api import read_argocd
    from whysync.facts.combined import together
    from whysync.facts.kubernetes_api import read_kubernetes
    from whysync.facts.masking import Masker

    assert source.server is not None
    assert source.kube is not None
    masker, selection = Masker(), _selection(source)
    argocd = read_argocd(source.server, selection, progress, everything=everything, masker=masker)
    around = replace(selection, refresh="", local="")
    cluster = read_kubernetes(source.kube, around, progress, everything=everything, masker=masker)
    return together(argocd, cluster)


def collect(source: FactSource, target: Target, *, progress: Progress | None = None) -> CollectedCounts:
    """Write everything that a source knows as a bundle; an interrupted collection is resumed."""
    from whysync.facts.collect import Collection

    bundle = Collection(target, _question(source))
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
    """Argo CD is asked for a few Applications at a time; a cluster gives its lists at once or not at all."""
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


def _question(source: FactSource) -> str:
    """What is asked of whom, in words that tell one collection from another; no credentials."""
    if source.bundles:
        return f"bundles {', '.join(source.bundles)}"
    selection = _selection(source)
    names = selection.names or ("all Applications",)
    narrowed = (*names, *selection.app_namespaces, *selection.projects, selection.selector)
    if source.server is not None:
        where = source.server.base_url
    elif source.kube is not None:
        where = f"kubeconfig {source.kube.kubeconfig or 'of the environment'} {source.kube.context}".strip()
    else:
        raise no_source()
    return f"{where}: {' '.join(one for one in narrowed if one)}"


def _selection(source: FactSource) -> Selection:
    from whysync.facts.selection import Selection

    return source.selection or Selection()


def no_source() -> NoSource:
    return NoSource(
        what="nothing says where the facts come from",
        why="no bundle, no Argo CD server and no kubeconfig is named, and none of their usual files is there",
        next="give --bundle PATH (a folder, an archive, a YAML file, or - for standard input),"
        " or --server HOST with --auth-token, or --kubeconfig FILE; argocd login makes the second the usual",
    )


def cases(world: SnapshotIndex, names: Sequence[str] = ()) -> tuple[Case, ...]:
    """The Applications of these names (`name` or `namespace/name`), or all of them."""
    every = tuple(Case(world, manifest, app) for manifest, app in world.decoded)
    if not every:
        raise NotFound(
            what="there is no Application among the facts",
            why="no object of kind Application (argoproj.io) was found",
            next="add it: kubectl -n argocd get application NAME -o yaml",
        )
    if not names:
        return every
    chosen: list[Case] = []
    for name in names:
        found = [case for case in every if name in (case.app.name, case.app.qualified_name)]
        if not found:
            raise NotFound(
                what=f"there is no Application {name!r} among the facts",
                why=_nearest(name, [case.app.qualified_name for case in every]),
                next="whysync list shows all of them; whysync --help lists the commands",
            )
        chosen += [case for case in found if case not in chosen]
    return tuple(chosen)


def _nearest(name: str, known: list[str]) -> str:
    import difflib

    short = {full.rpartition("/")[2]: full for full in known}
    near = difflib.get_close_matches(name.rpartition("/")[2], short, n=3)
    if near:
        return f"did you mean {', '.join(short[n] for n in near)}?"
    return f"{len(known)} {'is' if len(known) == 1 else 'are'} there, none with a name like that"


def diagnose(chosen: Iterable[Case], *, prove: bool = True, deadline: Deadline = _NO_DEADLINE) -> Report:
    """Every rule on every Case, and what many Applications have in common.

    `prove`: also what a sync would do, and whether each fix helps, tried on a model of the cluster. After the
    deadline nothing more is tried.
    """
    rules = diagnosis_rules()
    with _no_collection():
        apps = tuple(_with_usable_fixes(diagnose_case(case, rules)) for case in chosen)
        if prove:
            apps = tuple(_with_safety(report, deadline) for report in apps)
        alone = len(apps) <= MOST_PROVEN
        apps = tuple(_with_proofs(report, deadline, prove=prove, alone=alone) for report in apps)
    unread = apps[0].gaps if apps else ()
    return Report(apps=apps, groups=in_common(apps), unread=unread)


def in_common(apps: Sequence[AppReport]) -> tuple[Group, ...]:
    """Causes that apps share, with the one fix for all where there is one."""
    from whysync.fixes.fleet import groups_with_fixes

    return groups_with_fixes(apps)


def _with_usable_fixes(report: AppReport) -> AppReport:
    """A masked value cannot be committed, and an edit that changes nothing mends nothing."""
    findings = tuple(
        replace(finding, fixes=in_safe_order(_usable(finding.fixes, report))) for finding in report.findings
    )
    return replace(report, findings=findings)


def _with_safety(report: AppReport, deadline: Deadline) -> AppReport:
    from whysync.proofs.safety import safety_of

    if deadline.is_over:
        return replace(report, safety=Safety.unknown(ReasonKind.NOT_TRIED, _OUT_OF_TIME))
    return replace(report, safety=safety_of(report.case, report.findings))


def _with_proofs(report: AppReport, deadline: Deadline, *, prove: bool, alone: bool) -> AppReport:
    if not any(finding.fixes for finding in report.findings):
        return report
    if not prove:
        return _not_proven(report, "proofs are switched off")
    if not alone:
        return _not_proven(report, f"not tried for more than {MOST_PROVEN} apps at once: name the app")
    from whysync.proofs.prove import prove as proven

    return proven(report, deadline)


def _not_proven(report: AppReport, why: str) -> AppReport:
    """The report with the reason why its fixes were not tried; it does not load the simulation."""
    untried = Proof(status=ProofStatus.NOT_RUN, kind=ProofKind.NOT_TRIED, why=why)
    findings = (
        replace(finding, fixes=tuple(replace(fix, proof=untried) for fix in finding.fixes))
        for finding in report.findings
    )
    return replace(report, findings=tuple(findings))


def _usable(fixes: Iterable[Fix], report: AppReport) -> Iterator[Fix]:
    for fix in fixes:
        if is_usable(fix, report.case):
            yield not_into_a_running_sync(_owned(fix, report), report.case)


def _owned(fix: Fix, report: AppReport) -> Fix:
    """What an ApplicationSet makes, it makes again: a change of the Application belongs into its template."""
    owners = report.case.app.metadata.owner_references
    maker = next((owner.name for owner in owners if owner.kind == "ApplicationSet"), None)
    if maker is None or fix.kind is not FixKind.APPLICATION:
        return fix
    warning = f"ApplicationSet {maker} makes this app and reverts it: change its template instead"
    return replace(fix, risk=f"{warning}; {fix.risk}" if fix.risk else warning)


class _no_collection:  # noqa: N801  (reads as a verb where it is used)
    """Values of a diagnosis have no cycles worth collecting; looking for them costs a third of the time."""

    def __enter__(self) -> None:
        self.was_on = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self.was_on:
            gc.enable()


def explained(name: str) -> tuple[AnyRule, ...]:
    """The rule of that name, or all the rules of that cause."""
    selection = name.strip().removeprefix("C-").replace("_", "-").lower()
    found = tuple(rule for rule in registry() if selection in (rule.id.replace("_", "-"), rule.cause))
    if not found:
        known = sorted({rule.cause for rule in registry()} | {rule.id for rule in registry()})
        raise NotFound(
            what=f"there is no rule or cause {name!r}",
            why=_nearest(selection, known),
            next="whysync explain lists them all",
        )
    return found


def explained_text(text: str) -> TextAnswer:
    """The causes that a pasted text can have, as `diagnose` finds them where such a text is shown."""
    from whysync.facts.masking import Masker
    from whysync.queries.possible_causes import possible_causes

    def diagnosed(case: Case) -> AppReport:
        return diagnose((case,), prove=False).apps[0]

    return possible_causes(Masker().masked_text(text), diagnosed)
