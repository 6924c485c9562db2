"""What a Case answers: its time, its look-ups, and which facts it has."""

from __future__ import annotations

import io
import tarfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.situations import application, case_of, config_map, documents, row, world_of
from whysync.diagnosis.case import Case, same_repo
from whysync.diagnosis.rule import Fact
from whysync.diagnosis.snapshot_index import LONG_AGO, SnapshotIndex
from whysync.facts.bundle import read_bundle
from whysync.json_tree import Object
from whysync.kubernetes.api.ref import Key

HEADER: Object = {"apiVersion": "whysync.dev/v1", "kind": "Bundle", "collectedAt": "2026-03-02T04:00:00Z"}


def test_now_is_when_the_facts_were_taken() -> None:
    case = case_of(application(), HEADER)
    assert case.now == datetime(2026, 3, 2, 4, tzinfo=UTC)
    assert case.age(case.app.status.reconciled_at) == timedelta(minutes=50)
    assert case.age(None) is None


def test_without_a_date_now_is_the_latest_instant_that_the_facts_speak_of() -> None:
    state: Object = {
        "phase": "Succeeded",
        "startedAt": "2026-03-02T03:30:00Z",
        "finishedAt": "2026-03-02T03:31:00Z",
    }
    assert case_of(application()).now == datetime(2026, 3, 2, 3, 10, tzinfo=UTC)
    assert case_of(application(status={"operationState": state})).now == datetime(
        2026, 3, 2, 3, 31, tzinfo=UTC
    )
    event: Object = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "shop"},
        "lastTimestamp": "2026-03-02T03:45:00Z",
    }
    assert case_of(application(), event).now == datetime(2026, 3, 2, 3, 45, tzinfo=UTC)


def test_facts_without_any_time_still_have_one() -> None:
    assert case_of(application(status={"reconciledAt": None})).now == LONG_AGO


def test_an_object_without_a_namespace_lies_in_the_destination() -> None:
    bare: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings", "annotations": {"whysync.dev/role": "desired"}},
    }
    case = case_of(application(), bare, config_map())
    key = Key("", "ConfigMap", "shop", "settings")
    assert case.desired_of(key) is not None
    assert case.live_of(key) is case.live_of(key._replace(namespace=""))
    assert case.live_of(key._replace(name="other")) is None


def test_a_manifest_without_a_row_belongs_to_the_row_of_its_name() -> None:
    declared, live = config_map(desired=True), config_map()
    elsewhere = row("ConfigMap", "settings", "OutOfSync", namespace="web")
    case = case_of(application(status={"resources": [elsewhere]}), declared, live)
    key = Key("", "ConfigMap", "web", "settings")
    assert case.desired_of(key) is case.desired[0]
    found = case.live_of(key)
    assert found is not None
    assert found.ref.namespace == "shop"


def test_a_manifest_belongs_to_no_row_if_it_has_its_own_or_there_are_two() -> None:
    rows = [row("ConfigMap", "settings", namespace=namespace) for namespace in ("web", "shop")]
    case = case_of(application(status={"resources": [*rows]}), config_map(desired=True), config_map())
    assert case.desired_of(Key("", "ConfigMap", "web", "settings")) is None
    rows = [row("ConfigMap", "settings", namespace=namespace) for namespace in ("web", "api")]
    case = case_of(application(status={"resources": [*rows]}), config_map(desired=True), config_map())
    assert case.desired_of(Key("", "ConfigMap", "web", "settings")) is None


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("https://git.example.com/a.git", "https://git.example.com/a", True),
        ("https://git.example.com/a/", "https://GIT.example.com/a", True),
        ("https://git.example.com/a", "https://git.example.com/b", False),
    ],
)
def test_one_repository_in_several_spellings(left: str, right: str, *, same: bool) -> None:
    assert same_repo(left, right) is same


def test_which_facts_are_there() -> None:
    alone = case_of(application())
    assert {fact for fact in Fact if alone.has(fact)} == {Fact.APPLICATION}
    settings: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "argocd-cm", "namespace": "argocd"},
    }
    policy: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "argocd-rbac-cm", "namespace": "argocd"},
    }
    project: Object = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "AppProject",
        "metadata": {"name": "default", "namespace": "argocd"},
    }
    event: Object = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "shop"}}
    case = case_of(application(), settings, policy, project, event, config_map(), config_map(desired=True))
    assert {fact for fact in Fact if not case.has(fact)} == {Fact.LOGS, Fact.GIT}


def test_logs_and_git_heads_come_from_their_folders(tmp_path: Path) -> None:
    packed = tmp_path / "bundle.tar"
    files = {
        "applications/a.yaml": documents(application()),
        "logs/shop/web-1/web.log": "one\ntwo\n",
        "git/heads.yaml": "[{repo: 'https://git.example.com/shop', revision: main, commit: 'ffff'}]",
    }
    with tarfile.open(packed, "w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content.encode())
            archive.addfile(info, io.BytesIO(content.encode()))
    world = SnapshotIndex(read_bundle([packed]))
    case = Case(world, *world.decoded[0])
    assert case.has(Fact.LOGS)
    assert case.has(Fact.GIT)
    head = case.head_of("https://git.example.com/shop.git", "main")
    assert head is not None
    assert [symptom.id for symptom in case.symptoms] == ["behind:0"]


def test_parts_that_do_not_decode_are_gaps() -> None:
    case = case_of(application(status={"reconciledAt": "yesterday"}))
    assert any("reconciledAt" in gap.why for gap in case.gaps)


def test_a_fleet_is_in_the_order_of_names() -> None:
    world = world_of(application("b"), application("a", namespace="two"), application("a", namespace="one"))
    assert [app.qualified_name for _, app in world.decoded] == ["one/a", "two/a", "argocd/b"]


def test_policies_as_words() -> None:
    def policy(automated: Object | None) -> Case:
        return case_of(
            application(spec={"syncPolicy": {"automated": automated, "syncOptions": ["Prune=false"]}})
        )

    assert not policy(None).is_automated
    assert policy({}).is_automated
    assert not policy({"enabled": False, "selfHeal": True}).self_heals
    assert policy({"selfHeal": True, "prune": True}).self_heals
    assert policy({"prune": True}).prunes
    assert policy(None).has_sync_option("Prune=false")


def test_results_and_rows_by_key() -> None:
    case = case_of(application(status={"resources": [row("ConfigMap", "settings")]}))
    assert list(case.rows) == [Key("", "ConfigMap", "shop", "settings")]
    assert case.results == ()


@pytest.mark.parametrize(
    ("version", "release"),
    [
        ("v3.6.0", (3, 6, 0)),
        ("v2.13.1+af54ef8", (2, 13, 1)),
        ("v3.5.0-rc2", (3, 5, 0)),
        ("", ()),
        ("latest", ()),
        ("v" + "9" * 5000, ()),
    ],
)
def test_the_release_of_argocd_as_numbers(version: str, release: tuple[int, ...]) -> None:
    assert case_of(application(), {**HEADER, "argocdVersion": version}).argocd_release == release


@pytest.mark.parametrize(
    ("method", "version", "may"),
    [
        (None, "v3.6.0", True),
        ("", "", True),
        ("", "v2.14.2", True),
        ("", "v3.0.0", False),
        ("annotation", "v2.14.2", False),
        ("annotation", "", False),
        ("annotation+label", "v3.6.0", True),
        ("label", "v3.6.0", True),
    ],
)
def test_whether_argocd_may_track_by_label(method: str | None, version: str, *, may: bool) -> None:
    data: Object = {"application.resourceTrackingMethod": method} if method else {"url": "https://x"}
    config = config_map("argocd-cm", data=data)
    objects = (config,) if method is not None else ()
    assert case_of(application(), {**HEADER, "argocdVersion": version}, *objects).may_track_by_label is may
