"""Bundles that are written piece by piece: whole, once, and gone on with after a break."""

from __future__ import annotations

import os
import stat
import tarfile
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests import faults
from tests.facts.argocd_api.scenes import application, desired, live, log, obj, of, project, shop
from tests.facts.argocd_api.server import ArgoCD, Fault
from whysync import app
from whysync.argocd.api.git_head import Head
from whysync.errors import SourceError, UsageError
from whysync.facts.argocd_api.batches import read_argocd_in_pieces
from whysync.facts.bundle import read_bundle
from whysync.facts.collect import Collection, Target
from whysync.facts.collect.files import LARGEST
from whysync.facts.collect.journal import JOURNAL
from whysync.facts.masking import mask_snapshot
from whysync.facts.selection import Selection
from whysync.facts.snapshot import Gap, GapKind, Snapshot
from whysync.json_tree import Json

HEADER = b'{"line":"header","format":"whysync.dev/collect/v1","question":"test"}\n'


def piece(name: str, **more: object) -> Snapshot:
    """One app with a ConfigMap of its own, and one that others have too."""
    result = of(
        application(name), live=live(obj("ConfigMap", name, namespace=name), obj("ConfigMap", "shared"))
    )
    return replace(result, desired={f"argocd/{name}": desired(obj("ConfigMap", name))}, **more)


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_a_collected_bundle_reads_back_as_the_same_snapshot(tmp_path: Path) -> None:
    snapshot = replace(
        shop(),
        heads=(Head(repo="https://git.example.com/apps.git", revision="main", commit="c" * 40),),
        gaps=(Gap(kind=GapKind.FORBIDDEN, what="logs", why="forbidden", how_to_get="ask"),),
    )
    snapshot = mask_snapshot(snapshot)
    bundle = Collection(Target.of(str(tmp_path / "out")), "test")
    bundle.add(snapshot)
    collected = bundle.finish()
    read = read_bundle([tmp_path / "out"])
    assert read.collected_at == snapshot.collected_at
    assert (read.heads, read.gaps, read.unknown) == (snapshot.heads, snapshot.gaps, ())
    for section in ("applications", "projects", "live", "events"):
        assert sorted((str(item.ref), str(item.body)) for item in getattr(read, section)) == sorted(
            (str(item.ref), str(item.body)) for item in getattr(snapshot, section)
        )
    assert [desired_object.body for desired_object in read.desired["argocd/shop"]] == [
        desired_object.body for desired_object in snapshot.desired["argocd/shop"]
    ]
    assert [(log.pod, log.lines, log.previous) for log in read.logs] == [
        ("web-1", ("panic: no database",), True)
    ]
    assert collected.counts == {"applications": 2, "projects": 1, "desired": 3, "live": 3, "logs": 1}
    assert collected.files == len(files(tmp_path / "out"))
    assert JOURNAL not in files(tmp_path / "out")


def test_an_archive_appears_when_it_is_whole(tmp_path: Path) -> None:
    target = Target.of(str(tmp_path / "out.tar.gz"))
    bundle = Collection(target, "test")
    bundle.add(piece("one"))
    assert not (tmp_path / "out.tar.gz").exists()
    bundle.finish()
    assert [path.name for path in tmp_path.iterdir()] == ["out.tar.gz"]
    with tarfile.open(tmp_path / "out.tar.gz") as archive:
        assert all((member.uname, member.uid, member.mtime) == ("", 0, 0) for member in archive)
    assert stat.S_IMODE((tmp_path / "out.tar.gz").stat().st_mode) == 0o600
    assert [application.ref.name for application in read_bundle([tmp_path / "out.tar.gz"]).applications] == [
        "one"
    ]


def test_the_same_facts_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.tar.gz", "b.tar.gz"):
        bundle = Collection(Target.of(str(tmp_path / name)), "test")
        bundle.add(piece("one"))
        bundle.finish()
    assert (tmp_path / "a.tar.gz").read_bytes() == (tmp_path / "b.tar.gz").read_bytes()


def test_it_is_for_nobody_elses_eyes(tmp_path: Path) -> None:
    bundle = Collection(Target.of(str(tmp_path / "out")), "test")
    bundle.add(piece("one"))
    bundle.finish()
    for path in (tmp_path / "out", *(path for path in (tmp_path / "out").rglob("*") if path.is_file())):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_objects_that_apps_share_are_collected_once(tmp_path: Path) -> None:
    bundle = Collection(Target.of(str(tmp_path / "out")), "test")
    bundle.add(piece("one"))
    bundle.add(piece("two"))
    collected = bundle.finish()
    read = read_bundle([tmp_path / "out"])
    assert sorted(str(live_object.ref) for live_object in read.live) == [
        "ConfigMap one/one",
        "ConfigMap shop/shared",
        "ConfigMap two/two",
    ]
    assert read.gaps == ()
    assert collected.counts["live"] == 3
    assert {name: [item.ref.name for item in value] for name, value in read.desired.items()} == {
        "argocd/one": ["one"],
        "argocd/two": ["two"],
    }


class TestResuming:
    def test_an_interrupted_collection_is_resumed(self, tmp_path: Path) -> None:
        first = Collection(Target.of(str(tmp_path / "out")), "test")
        first.add(piece("one"))
        second = Collection(Target.of(str(tmp_path / "out")), "test")
        assert second.done == {"argocd/one"}
        second.add(piece("two"))
        collected = second.finish()
        assert collected.resumed == 1
        assert sorted(
            application.ref.name for application in read_bundle([tmp_path / "out"]).applications
        ) == ["one", "two"]
        assert len(read_bundle([tmp_path / "out"]).live) == 3

    def test_an_incomplete_part_is_discarded(self, tmp_path: Path) -> None:
        first = Collection(Target.of(str(tmp_path / "out")), "test")
        first.add(piece("one"))
        first_files = files(tmp_path / "out")
        # killed in the middle of the second piece
        with faults.injected(faults.Calls(14, faults.Fault.KILLED)), pytest.raises(faults.Killed):
            first.add(piece("two"))
        assert len(files(tmp_path / "out")) > len(first_files)
        Collection(Target.of(str(tmp_path / "out")), "test")
        assert files(tmp_path / "out") == first_files

    @pytest.mark.parametrize(
        "name", ["notes.txt", "live/mine.yaml", "sub/deep/notes.txt", "bundle.yaml", "live/link.yaml"]
    )
    def test_a_file_that_it_did_not_write_is_never_deleted(self, tmp_path: Path, name: str) -> None:
        first = Collection(Target.of(str(tmp_path / "out")), "test")
        first.add(piece("one"))
        foreign = tmp_path / "out" / name
        foreign.parent.mkdir(parents=True, exist_ok=True)
        if "link" in name:
            foreign.symlink_to(tmp_path / "elsewhere")
        else:
            foreign.write_text("important")
        before = sorted((tmp_path / "out").rglob("*"))
        with pytest.raises(UsageError, match="not a folder that whysync collect can use") as refused:
            Collection(Target.of(str(tmp_path / "out")), "test")
        assert name in refused.value.why
        assert sorted((tmp_path / "out").rglob("*")) == before

    @pytest.mark.parametrize(
        "journal",
        [
            b"junk\n",
            b"",
            b"{}\n",
            b'{"question":"test"}\n',
            b'{"line":"header","format":"other","question":"test"}\n',
            HEADER + b"junk\n{}\n",
            HEADER + b'{"line":"begun","files":["../notes.txt"]}\n',
            HEADER + b'{"line":"begun","files":["notes.txt"]}\n',
            HEADER + b'{"line":"begun","files":["live/../../notes.txt"]}\n',
            HEADER + b'{"line":"begun","files":["/etc/passwd"]}\n',
        ],
    )
    def test_a_journal_that_it_did_not_write_is_a_refusal(self, tmp_path: Path, journal: bytes) -> None:
        (tmp_path / "out").mkdir()
        (tmp_path / "out/notes.txt").write_text("important")
        (tmp_path / "out" / JOURNAL).write_bytes(journal)
        with pytest.raises(UsageError, match="not a folder that whysync collect can use"):
            Collection(Target.of(str(tmp_path / "out")), "test")
        assert files(tmp_path / "out") == [JOURNAL, "notes.txt"]

    def test_a_journal_that_is_no_regular_file(self, tmp_path: Path) -> None:
        (tmp_path / "out").mkdir()
        os.mkfifo(tmp_path / "out" / JOURNAL)
        with pytest.raises(UsageError, match="not a folder that whysync collect can use"):
            Collection(Target.of(str(tmp_path / "out")), "test")

    def test_it_begins_again_where_a_part_was_deleted(self, tmp_path: Path) -> None:
        first = Collection(Target.of(str(tmp_path / "out")), "test")
        first.add(piece("one"))
        (tmp_path / "out/live/one.0000.yaml").unlink()
        second = Collection(Target.of(str(tmp_path / "out")), "test")
        assert second.done == frozenset()
        second.add(piece("one"))
        second.finish()
        assert len(read_bundle([tmp_path / "out"]).live) == 2

    def test_the_journal_of_a_resumed_run_can_be_read_again(self, tmp_path: Path) -> None:
        first = Collection(Target.of(str(tmp_path / "out")), "test")
        first.add(piece("one"))
        first.add(piece("two"))
        journal = tmp_path / "out" / JOURNAL
        journal.write_bytes(journal.read_bytes()[:-30])
        second = Collection(Target.of(str(tmp_path / "out")), "test")
        second.add(piece("three"))
        third = Collection(Target.of(str(tmp_path / "out")), "test")
        assert third.done == {"argocd/one", "argocd/three"}

    def test_a_folder_that_was_empty_before_stays(self, tmp_path: Path) -> None:
        (tmp_path / "out").mkdir()
        Collection(Target.of(str(tmp_path / "out")), "test").leave()
        Collection(Target.of(str(tmp_path / "new")), "test").leave()
        assert [path.name for path in tmp_path.iterdir()] == ["out"]

    def test_the_last_line_of_the_journal_may_be_cut(self, tmp_path: Path) -> None:
        first = Collection(Target.of(str(tmp_path / "out")), "test")
        first.add(piece("one"))
        first.add(piece("two"))
        journal = tmp_path / "out" / JOURNAL
        journal.write_bytes(journal.read_bytes()[:-30])
        assert Collection(Target.of(str(tmp_path / "out")), "test").done == {"argocd/one"}

    def test_marks_go_on_counting(self, tmp_path: Path) -> None:
        secret = obj("Secret", "a", namespace="one", stringData={"k": "first-secret-value"})
        first = Collection(Target.of(str(tmp_path / "out")), "test")
        first.add(mask_snapshot(of(application("one"), live=live(secret)), first.masker()))
        second = Collection(Target.of(str(tmp_path / "out")), "test")
        other = obj("Secret", "b", namespace="two", stringData={"k": "second-secret-value"})
        second.add(mask_snapshot(of(application("two"), live=live(other)), second.masker()))
        assert second.finish().masked == 2
        values = [live_object.body["stringData"] for live_object in read_bundle([tmp_path / "out"]).live]
        assert values == [{"k": "<masked 1>"}, {"k": "<masked 2>"}]

    def test_another_question_is_another_bundle(self, tmp_path: Path) -> None:
        Collection(Target.of(str(tmp_path / "out")), "https://one: all").add(piece("one"))
        with pytest.raises(UsageError) as problem:
            Collection(Target.of(str(tmp_path / "out")), "https://two: all")
        assert "https://one" in problem.value.why

    def test_a_server_that_fails_in_the_middle(self, tmp_path: Path) -> None:
        apps = [application(f"app-{at}", health="Degraded") for at in range(6)]
        with ArgoCD(of(*apps)) as argocd:
            source = app.FactSource(server=argocd.server(), selection=Selection())
            argocd.fault("/applications/app-4\\?", Fault.RESET, times=6)
            with pytest.raises(SourceError):
                self._collect(source, tmp_path)
            resumed = self._collect(source, tmp_path)
        assert resumed == 4
        assert len(read_bundle([tmp_path / "out"]).applications) == 6

    @staticmethod
    def _collect(source: app.FactSource, folder: Path) -> int:
        """Collect two apps at a time; return the number of apps that were collected before."""
        assert source.server is not None
        bundle = Collection(Target.of(str(folder / "out")), "test")
        before = len(bundle.done)
        for snapshot_part in read_argocd_in_pieces(
            source.server, Selection(), done=bundle.done, masker=bundle.masker(), at_once=2
        ):
            bundle.add(snapshot_part)
        bundle.finish()
        return before


class TestPlaces:
    @pytest.fixture(params=["out", "out.tar.gz"])
    def existing(self, request: pytest.FixtureRequest, tmp_path: Path) -> Path:
        path = tmp_path / request.param
        if request.param == "out":
            path.mkdir()
            (path / "mine.txt").write_text("mine")
        else:
            path.write_text("mine")
        return path

    def test_nothing_is_overwritten(self, existing: Path) -> None:
        with pytest.raises(UsageError) as problem:
            Target.of(str(existing))
        assert "already exists" in problem.value.what

    def test_a_finished_bundle_is_not_added_to(self, tmp_path: Path) -> None:
        bundle = Collection(Target.of(str(tmp_path / "out")), "test")
        bundle.add(piece("one"))
        bundle.finish()
        with pytest.raises(UsageError):
            Target.of(str(tmp_path / "out"))

    def test_a_place_that_cannot_be_written(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(UsageError):
            Collection(Target.of(str(tmp_path / "file" / "out")), "test")

    def test_names_lead_nowhere_else(self, tmp_path: Path) -> None:
        evil = of(application("../../etc/passwd", namespace="..", health="Degraded"))
        evil = replace(evil, logs=(log("../..", "/etc/x", "line", namespace="..//"),))
        bundle = Collection(Target.of(str(tmp_path / "deep/out")), "test")
        bundle.add(evil)
        bundle.finish()
        assert [path.name for path in tmp_path.iterdir()] == ["deep"]
        assert [path.name for path in (tmp_path / "deep").iterdir()] == ["out"]
        assert read_bundle([tmp_path / "deep/out"]).applications[0].ref.name == "../../etc/passwd"


def test_big_lists_are_cut_into_files_that_can_be_read(tmp_path: Path) -> None:
    text = "x" * (1 << 20)
    many = of(
        application("one"), live=live(*(obj("ConfigMap", f"c-{at:02}", data={"k": text}) for at in range(20)))
    )
    bundle = Collection(Target.of(str(tmp_path / "out")), "test")
    bundle.add(many)
    bundle.finish()
    sizes = [path.stat().st_size for path in (tmp_path / "out/live").iterdir()]
    assert len(sizes) == 2
    assert max(sizes) <= LARGEST
    assert [live_object.ref.name for live_object in read_bundle([tmp_path / "out"]).live] == [
        f"c-{at:02}" for at in range(20)
    ]


def test_a_bundle_has_an_end(tmp_path: Path) -> None:
    apps = [application(f"app-{at}") for at in range(3)]
    with ArgoCD(of(*apps)) as argocd:
        source = app.FactSource(server=argocd.server(), selection=Selection())
        bundle = Collection(Target.of(str(tmp_path / "out")), "x", most_bytes=100)
        result = read_argocd_in_pieces(argocd.server(), Selection(), masker=bundle.masker(), at_once=1)
        bundle.add(next(result))
    assert source.server is not None
    assert bundle.is_full
    assert "--project" in bundle.full_gap().how_to_get


def test_clusters_keep_their_names(tmp_path: Path) -> None:
    """A folder cannot be called https://…, and a destination is called nothing else."""
    row: Json = {"version": "v1", "kind": "ConfigMap", "namespace": "shop", "name": "web"}
    elsewhere: Json = {"server": "https://10.0.0.1:6443", "namespace": "shop"}
    item = application("one", spec={"destination": elsewhere}, status={"resources": [row]})
    with ArgoCD(
        of(item, application("two"), live=live(obj("ConfigMap", "web")), projects=(project(),))
    ) as argocd:
        source = app.FactSource(server=argocd.server(), selection=Selection())
        app.collect(source, Target.of(str(tmp_path / "out")))
    read = read_bundle([tmp_path / "out"])
    assert [result.cluster for result in read.live] == ["https://10.0.0.1:6443"]


def test_a_bundle_can_be_collected_from_bundles(tmp_path: Path) -> None:
    """Used to mask a bundle that was written by hand."""
    hand = tmp_path / "hand.yaml"
    hand.write_text("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {k: hunter2-hunter2}\n")
    collected = app.collect(app.FactSource(bundles=(str(hand),)), Target.of(str(tmp_path / "out")))
    assert collected.masked == 1
    assert not any(b"hunter2" in path.read_bytes() for path in (tmp_path / "out").rglob("*.yaml"))
