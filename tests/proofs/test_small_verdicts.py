"""The same small world under many fixes: two ConfigMaps that somebody changed by hand."""

from __future__ import annotations

import pytest

from tests.proofs.worlds import bundle, in_git, settings, synced, there
from tests.situations import case_of, row
from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Confidence, Finding
from whysync.diagnosis.fix import Fix, Proof, ProofStatus, Set
from whysync.json_tree import Object, fields
from whysync.kubernetes.api.ref import Ref
from whysync.proofs.fix_verifier import FixVerifier
from whysync.proofs.proof_results import Rejected

PROVEN, LIKELY, NOT_RUN = ProofStatus.PROVEN, ProofStatus.LIKELY, ProofStatus.NOT_RUN
REF = Ref(version="v1", kind="ConfigMap", namespace="shop", name="settings")
APP = Ref(group="argoproj.io", version="v1alpha1", kind="Application", namespace="argocd", name="shop")
NAMES = ("settings", "other")


def case(*, live: str = "by hand", spec: Object | None = None, meta: Object | None = None) -> Case:
    app = synced(*(row("ConfigMap", name, "OutOfSync") for name in NAMES), sync="OutOfSync", spec=spec)
    fields(app["metadata"]).update(meta or {})
    objects = [
        obj for name in NAMES for obj in (in_git(settings(name)), there(settings(name, data={"a": live})))
    ]
    return case_of(bundle(), app, *objects)


def verify(fix: Fix, of: Case | None = None, *, name: str = "settings") -> Proof | Rejected:
    world = of or case()
    explains = tuple(symptom.id for symptom in world.symptoms if f"/{name}:" in symptom.id)
    finding = Finding(
        about=REF, explains=explains, confidence=Confidence.HIGH, verdict="it", evidence=(), fixes=(fix,)
    )
    return FixVerifier(world).verify(finding, fix)


def status_and_reason(result: Proof | Rejected) -> tuple[ProofStatus | None, str]:
    return (result.status if isinstance(result, Proof) else None, result.why)


INTO_GIT = Fix.change(REF, Set(pointer="/data/a", value="by hand"), title="Into Git")
SYNC = Fix.run("argocd app sync shop", title="Sync")
IGNORE = Fix.application(
    APP,
    Set(pointer="/spec/ignoreDifferences", value=[{"kind": "ConfigMap", "jsonPointers": ["/data/a"]}]),
    title="Ignore it",
)


@pytest.mark.parametrize("fix", [INTO_GIT, SYNC, IGNORE])
def test_what_ends_it_is_proven(fix: Fix) -> None:
    assert status_and_reason(verify(fix)) == (PROVEN, "")


def test_what_a_plain_sync_does_as_well_is_not_the_doing_of_a_fix() -> None:
    beside = Fix.change(REF, Set(pointer="/data/b", value="x"), title="Something else")
    assert status_and_reason(verify(beside)) == (LIKELY, "in the simulation a plain sync helps as well")


def test_a_change_that_the_server_does_not_take_ends_nothing() -> None:
    status, why = status_and_reason(verify(Fix.change(REF, Set(pointer="/data", value=5), title="No map")))
    assert status is NOT_RUN
    assert why.startswith("in the simulation the sync fails for another reason: ConfigMap shop/settings")


def test_a_command_that_only_reads_is_not_run() -> None:
    status = status_and_reason(verify(Fix.run("kubectl -n shop get configmap settings", title="Look")))
    assert status == (NOT_RUN, "it changes nothing: it only reads or waits")


def test_what_is_mended_elsewhere_leaves_it_as_it_was() -> None:
    """The other ConfigMap goes into Git: this one still differs, and a plain sync ends that."""
    other = Fix.change(
        Ref(version="v1", kind="ConfigMap", namespace="shop", name="other"),
        Set(pointer="/data/a", value="by hand"),
        title="The other one",
    )
    assert status_and_reason(verify(other))[0] is not PROVEN


def test_without_the_trouble_nothing_is_shown_to_end_it() -> None:
    """The facts say that it differs; on the model it does not."""
    assert status_and_reason(verify(SYNC, case(live="b")))[0] is NOT_RUN


def test_what_argo_cd_undoes_by_itself_needs_no_fix() -> None:
    heals: Object = {"syncPolicy": {"automated": {"selfHeal": True}}}
    assert status_and_reason(verify(INTO_GIT, case(spec=heals)))[0] is NOT_RUN


@pytest.mark.parametrize(
    ("meta", "why"),
    [
        (
            {"ownerReferences": [{"kind": "ApplicationSet", "name": "fleet", "uid": "1"}]},
            "its effect on the other apps of ApplicationSet fleet",
        ),
        (
            {"annotations": {"argocd.argoproj.io/tracking-id": "root:argoproj.io/Application:argocd/shop"}},
            "whether it lasts: Application root manages this Application from Git",
        ),
    ],
)
def test_a_change_of_an_app_that_others_make_may_not_last(meta: Object, why: str) -> None:
    owned = case(meta=meta)
    assert status_and_reason(verify(IGNORE, owned)) == (LIKELY, f"not known: {why}")
    assert status_and_reason(verify(INTO_GIT, owned)) == (PROVEN, ""), (
        "of what is in Git nobody makes another"
    )
    set_by_hand = Fix.run("argocd app set shop --sync-option Validate=false", SYNC.commands[0], title="Set")
    assert status_and_reason(verify(set_by_hand, owned))[0] is not PROVEN


def test_of_an_app_that_is_being_deleted_nothing_is_proven() -> None:
    going = case(meta={"deletionTimestamp": "2026-03-02T03:00:00Z"})
    for fix in (INTO_GIT, SYNC, IGNORE):
        status, why = status_and_reason(verify(fix, going))
        assert status is NOT_RUN
        assert why.startswith("the app is being deleted")
