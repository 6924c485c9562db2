"""Bundles in all their shapes give the same Snapshot."""

from __future__ import annotations

import gzip
import io
import json
import os
import tarfile
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whysync.argocd.api.git_head import Head
from whysync.errors import NotFound, TooLarge, Unreadable, WhysyncError
from whysync.facts.bundle import BundleLimits, read_bundle
from whysync.facts.snapshot import Snapshot
from whysync.kubernetes.api.manifest import Manifest

APP = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: NAME, namespace: argocd}
spec:
  project: default
  source: {repoURL: https://git.example.com/x.git, path: NAME, targetRevision: main}
  destination: {server: https://kubernetes.default.svc, namespace: shop}
status:
  sync: {status: OutOfSync}
"""
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME, namespace: shop}\ndata: {a: b}\n"

FILES = {
    "bundle.yaml": (
        "apiVersion: whysync.dev/v1\nkind: Bundle\ncollectedAt: '2026-01-01T00:10:00Z'\n"
        "argocdVersion: v3.6.0\n"
        "gaps: [{what: pod logs, why: forbidden, howToGet: ask}]\n"
    ),
    "applications/app.yaml": APP.replace("NAME", "web"),
    "projects/p.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: AppProject\nmetadata: {name: default}\n",
    "settings/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm}\ndata: {a: b}\n",
    "desired/web/all.yaml": CONFIG.replace("NAME", "one") + "---\n" + CONFIG.replace("NAME", "two"),
    "live/one.json": json.dumps(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", "namespace": "shop"}}
    ),
    "events/e.yaml": "apiVersion: v1\nkind: Event\nmetadata: {name: e, namespace: shop}\nmessage: Back-off\n",
    "logs/shop/web-1/main.log": "one\r\ntwo\n",
    "logs/shop/web-1/main.previous.log": "boom\n",
    "git/heads.yaml": "- {repo: https://git.example.com/x.git, revision: main, commit: abc}\n",
    "facts/tree.yaml": "nodes: []\n",
    "README.md": "hello",
}


def folder(root: Path, files: dict[str, str] | dict[str, bytes]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def tar(path: Path, files: dict[str, str], *, packed: bool = True, prefix: str = "") -> Path:
    with tarfile.open(path, "w:gz") if packed else tarfile.open(path, "w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(prefix + name)
            info.size = len(content.encode())
            archive.addfile(info, io.BytesIO(content.encode()))
    return path


def names(manifests: tuple[Manifest, ...]) -> list[str]:
    return [manifest.ref.name for manifest in manifests]


def shown(snapshot: Snapshot) -> object:
    """Everything of a Snapshot in a form that compares."""

    def plain(manifests: tuple[Manifest, ...]) -> list[object]:
        return [(manifest.body, manifest.role, manifest.origin, manifest.cluster) for manifest in manifests]

    return (
        [plain(group) for group in (snapshot.applications, snapshot.projects, snapshot.settings)],
        {app: plain(group) for app, group in snapshot.desired.items()},
        plain(snapshot.live),
        plain(snapshot.events),
        (snapshot.logs, snapshot.heads, snapshot.facts, snapshot.gaps, snapshot.unknown),
        (snapshot.collected_at, snapshot.argocd_version),
    )


def test_a_folder(tmp_path: Path) -> None:
    reported: list[tuple[str, int]] = []
    bundle = read_bundle(
        [folder(tmp_path, FILES)], progress=lambda name, count: reported.append((name, count))
    )
    assert bundle.collected_at == datetime(2026, 1, 1, 0, 10, tzinfo=UTC)
    assert bundle.argocd_version == "v3.6.0"
    assert names(bundle.applications) == ["web"]
    assert names(bundle.projects) == ["default"]
    assert names(bundle.settings) == ["argocd-cm"]
    assert {app: names(group) for app, group in bundle.desired.items()} == {"argocd/web": ["one", "two"]}
    origins = [desired_object.origin for desired_object in bundle.desired["argocd/web"]]
    assert origins == [
        "desired/web/all.yaml",
        "desired/web/all.yaml#2",
    ]
    assert names(bundle.live) == ["one"]
    assert names(bundle.events) == ["e"]
    assert [(log.namespace, log.pod, log.container, log.lines, log.previous) for log in bundle.logs] == [
        ("shop", "web-1", "main", ("one", "two"), False),
        ("shop", "web-1", "main", ("boom",), True),
    ]
    assert bundle.heads == (Head(repo="https://git.example.com/x.git", revision="main", commit="abc"),)
    assert [(extra.name, extra.body) for extra in bundle.facts] == [("tree", {"nodes": []})]
    assert [gap.what for gap in bundle.gaps] == ["pod logs"]
    assert bundle.unknown == ("README.md",)
    assert "live/one.json" in [name for name, _ in reported]


def test_archives_say_the_same_as_the_folder(tmp_path: Path) -> None:
    expected = shown(read_bundle([folder(tmp_path / "f", FILES)]))
    assert shown(read_bundle([tar(tmp_path / "b.tar.gz", FILES)])) == expected
    assert shown(read_bundle([tar(tmp_path / "b.tar", FILES, packed=False, prefix="./")])) == expected
    assert shown(read_bundle([tar(tmp_path / "no-suffix", dict(reversed(FILES.items())))])) == expected
    with zipfile.ZipFile(tmp_path / "b.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in FILES.items():
            archive.writestr(name, content)
    assert shown(read_bundle([tmp_path / "b.zip"])) == expected
    with (tmp_path / "b.zip").open("rb") as stream:
        assert shown(read_bundle(["-"], stdin=stream)) == expected


def test_an_archive_with_a_folder_around_it(tmp_path: Path) -> None:
    bundle = read_bundle([tar(tmp_path / "b.tgz", FILES, prefix="bundle-2026/")])
    assert names(bundle.desired["argocd/web"]) == ["one", "two"]
    assert bundle.logs[0].pod == "web-1"


def test_one_file_of_many_documents(tmp_path: Path) -> None:
    desired = CONFIG.replace("NAME, n", "NAME, annotations: {whysync.dev/role: desired}, n")
    text = "---\n".join(
        [APP.replace("NAME", "web"), CONFIG.replace("NAME", "one"), desired.replace("NAME", "one")]
    )
    path = tmp_path / "case.yaml"
    path.write_text(text)
    bundle = read_bundle([path])
    assert names(bundle.applications) == ["web"]
    assert [live_object.origin for live_object in bundle.live] == ["case.yaml#2"]
    assert bundle.desired["argocd/web"][0].body == bundle.live[0].body
    again = read_bundle(["-"], stdin=io.BytesIO(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()))
    assert [live_object.origin for live_object in again.live] == ["stdin#2"]
    packed = tmp_path / "case.yaml.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    assert [live_object.origin for live_object in read_bundle([packed]).live] == ["case.yaml#2"]


def test_lists_and_answers_of_argocd_are_unfolded(tmp_path: Path) -> None:
    pods = {
        "kind": "PodList",
        "apiVersion": "v1",
        "items": [{"metadata": {"name": "p", "namespace": "shop"}}],
    }
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    listed = {"apiVersion": "v1", "kind": "List", "items": [pods, node]}
    app = "\n".join(APP.replace("NAME", "web").splitlines()[2:])
    project = "metadata: {name: default}\nspec: {sourceRepos: ['*']}\n"
    state = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}})
    managed = {"items": [{"kind": "ConfigMap", "name": "m", "targetState": state, "liveState": "null"}]}
    files = {
        "all.json": json.dumps(listed),
        "app.yaml": app,
        "project.yaml": project,
        "facts/managed-resources.json": json.dumps(managed),
        "tree.json": json.dumps({"nodes": [{"kind": "Pod", "name": "p"}]}),
    }
    bundle = read_bundle([folder(tmp_path, files)])
    assert [(live_object.ref.kind, live_object.origin) for live_object in bundle.live] == [
        ("Pod", "all.json"),
        ("Node", "all.json#2"),
    ]
    assert bundle.applications[0].ref.group == "argoproj.io"
    assert names(bundle.projects) == ["default"]
    assert names(bundle.desired["argocd/web"]) == ["m"]
    assert [(extra.name, list(extra.body)) for extra in bundle.facts] == [
        ("managed-resources", ["items"]),
        ("tree", ["nodes"]),
    ]
    assert "targetState" not in str(bundle.facts)


def test_desired_objects_go_to_the_application_that_is_named(tmp_path: Path) -> None:
    tracked = CONFIG.replace(
        "NAME, n", "c, annotations: {argocd.argoproj.io/tracking-id: 'two:/ConfigMap:shop/c'}, n"
    )
    labelled = CONFIG.replace("NAME, n", "d, labels: {app.kubernetes.io/instance: one}, n")
    files = {
        "applications/a.yaml": "---\n".join(APP.replace("NAME", name) for name in ("one", "two", "same")),
        "applications/b.yaml": APP.replace("NAME", "same").replace("namespace: argocd", "namespace: team"),
        "desired/one/x.yaml": CONFIG.replace("NAME", "a"),
        "desired/team_same/deep/er/x.yaml": CONFIG.replace("NAME", "b"),
        "desired/two.yaml": CONFIG.replace("NAME", "e"),
        "desired/loose.yaml": f"{tracked}---\n{labelled}---\n{CONFIG.replace('NAME', 'nobody')}",
        "desired/same/x.yaml": CONFIG.replace("NAME", "ambiguous"),
    }
    bundle = read_bundle([folder(tmp_path, files)])
    assert {app: names(group) for app, group in bundle.desired.items()} == {
        "argocd/one": ["d", "a"],
        "argocd/two": ["c", "e"],
        "team/same": ["b"],
    }
    (gap,) = bundle.gaps
    assert "nobody" in gap.what
    assert "ambiguous" in gap.what
    assert "desired/<namespace>_<app>/" in gap.how_to_get


def test_clusters_are_folders_below_live(tmp_path: Path) -> None:
    files = {"live/east/a.yaml": CONFIG.replace("NAME", "a"), "live/shop/b.yaml": CONFIG.replace("NAME", "b")}
    bundle = read_bundle([folder(tmp_path, files)])
    assert [live_object.ref.cluster for live_object in bundle.live] == ["east", ""]
    (tmp_path / "bundle.yaml").write_text(
        "apiVersion: whysync.dev/v1\nkind: Bundle\nclusters: [{name: shop}]\n"
    )
    assert [live_object.ref.cluster for live_object in read_bundle([tmp_path]).live] == ["", "shop"]


def test_settings_are_known_by_name_and_label(tmp_path: Path) -> None:
    secret = (
        "apiVersion: v1\nkind: Secret\n"
        "metadata: {name: r, labels: {argocd.argoproj.io/secret-type: repository}}\n"
        "stringData: {url: https://git.example.com/x.git, password: hunter2hunter2}\n"
    )
    files = {"a.yaml": secret, "b.yaml": CONFIG.replace("NAME", "argocd-rbac-cm"), "c.yaml": CONFIG}
    bundle = read_bundle([folder(tmp_path, files)])
    assert names(bundle.settings) == ["r", "argocd-rbac-cm"]
    assert bundle.settings[0].body["stringData"] == {
        "url": "https://git.example.com/x.git",
        "password": "<masked 1>",
    }
    assert names(bundle.live) == ["NAME"]


def test_the_newer_of_two_equal_names_is_taken(tmp_path: Path) -> None:
    def version(number: int, data: str) -> str:
        return CONFIG.replace("NAME, n", f"x, resourceVersion: '{number}', n").replace("a: b", data)

    files = {"live/a.yaml": version(10, "a: new"), "live/b.yaml": version(9, "a: old")}
    bundle = read_bundle([folder(tmp_path, files)])
    assert [live_object.body["data"] for live_object in bundle.live] == [{"a": "new"}]
    (gap,) = bundle.gaps
    assert "live/a.yaml" in gap.why
    (tmp_path / "live/b.yaml").write_text(files["live/a.yaml"])
    assert read_bundle([tmp_path]).gaps == ()


def test_several_inputs_are_one_bundle(tmp_path: Path) -> None:
    first = folder(tmp_path / "one", {"live/a.yaml": CONFIG.replace("NAME", "a")})
    two = tar(tmp_path / "two.tgz", {"live/b.yaml": CONFIG.replace("NAME", "b")})
    three = folder(tmp_path, {"app.yaml": APP.replace("NAME", "web")}) / "app.yaml"
    bundle = read_bundle([first, two, three])
    assert [live_object.origin for live_object in bundle.live] == ["one/live/a.yaml", "two.tgz/live/b.yaml"]
    assert names(bundle.applications) == ["web"]


def test_a_folder_of_a_bundle_alone_keeps_its_meaning(tmp_path: Path) -> None:
    folder(tmp_path, FILES)
    bundle = read_bundle([tmp_path / "desired", tmp_path / "applications"])
    assert {app: names(group) for app, group in bundle.desired.items()} == {"argocd/web": ["one", "two"]}


def test_a_broken_file_is_a_gap_and_the_rest_is_read(tmp_path: Path) -> None:
    files = {
        "live/a.yaml": CONFIG.replace("NAME", "a") + "---\nb: [\n---\n" + CONFIG.replace("NAME", "c"),
        "live/latin.yaml": b"a: \xe9\n".decode("latin-1"),
        "live/note.yaml": "just: words\n",
        "applications/bad.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: []\n",
    }
    folder(tmp_path, files)
    (tmp_path / "live/latin.yaml").write_bytes(b"a: 1\nb: \xe9\n")
    bundle = read_bundle([tmp_path])
    assert names(bundle.live) == ["a", "c"]
    result = {gap.what: gap.why for gap in bundle.gaps}
    assert result["part of live/a.yaml"].startswith("line ")
    assert result["part of live/latin.yaml"] == "line 2: this is not UTF-8 text"
    assert any("Application" in subject for subject in result)
    assert bundle.unknown == ("live/note.yaml",)


def test_links_and_special_files_are_left_alone(tmp_path: Path) -> None:
    outside = folder(tmp_path / "outside", {"secret.yaml": CONFIG.replace("NAME", "outside")})
    inside = folder(tmp_path / "in", {"live/a.yaml": CONFIG.replace("NAME", "a"), ".git/x.yaml": CONFIG})
    (inside / "live/link.yaml").symlink_to(outside / "secret.yaml")
    (inside / "folder").symlink_to(outside, target_is_directory=True)
    os.mkfifo(inside / "live/pipe.yaml")
    bundle = read_bundle([inside])
    assert names(bundle.live) == ["a"]
    assert bundle.unknown == (
        ".git/ (a hidden folder)",
        "folder (a link)",
        "live/link.yaml (a link)",
        "live/pipe.yaml (not a regular file)",
    )


def test_archives_with_tricks(tmp_path: Path) -> None:
    path = tmp_path / "b.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, kind in (("live/link.yaml", tarfile.SYMTYPE), ("live/dev.yaml", tarfile.CHRTYPE)):
            info = tarfile.TarInfo(name)
            info.type = kind
            info.linkname = "/etc/passwd"
            archive.addfile(info)
        for name in ("../up.yaml", "/abs.yaml", "live/a.yaml", "inner.tar.gz"):
            info = tarfile.TarInfo(name)
            info.size = len(CONFIG)
            archive.addfile(info, io.BytesIO(CONFIG.encode()))
    bundle = read_bundle([path])
    assert names(bundle.live) == ["NAME"]
    assert len(bundle.unknown) == 5


def test_limits(tmp_path: Path) -> None:
    big = folder(tmp_path / "big", {"live/a.yaml": CONFIG + "#" * 5000, "live/b.yaml": CONFIG})
    bundle = read_bundle([big], limits=BundleLimits(file_bytes=2000))
    assert [(gap.what, gap.why) for gap in bundle.gaps] == [
        ("live/a.yaml", "the file is larger than 1.95 KiB (--max-file-size)")
    ]
    with pytest.raises(TooLarge, match="more than 1 files"):
        read_bundle([big], limits=BundleLimits(files=1))
    with pytest.raises(TooLarge, match="unpacks to more than"):
        read_bundle([big], limits=BundleLimits(unpacked_bytes=3000))
    bomb = tmp_path / "bomb.tar.gz"
    with tarfile.open(bomb, "w:gz") as archive:
        info = tarfile.TarInfo("junk.bin")  # skipped by its name, and still counted
        info.size = 80 << 20
        archive.addfile(info, io.BytesIO(bytes(80 << 20)))
    with pytest.raises(TooLarge):
        read_bundle([bomb], limits=BundleLimits(unpacked_bytes=1 << 20))


def test_long_logs_keep_their_end(tmp_path: Path) -> None:
    lines = "".join(f"line {n}\n" for n in range(20_000))
    folder(tmp_path, {"logs/shop/p/c.log": lines, "logs/odd.log": "x"})
    bundle = read_bundle([tmp_path])
    assert len(bundle.logs[0].lines) == 5000
    assert bundle.logs[0].lines[-1] == "line 19999"
    assert bundle.gaps[0].what == "the beginning of logs/shop/p/c.log"
    assert bundle.unknown == ("logs/odd.log",)
    bundle = read_bundle([tmp_path], limits=BundleLimits(log_bytes=100))
    assert bundle.logs[0].lines[0].startswith("line ")
    assert sum(map(len, bundle.logs[0].lines)) < 100


def test_a_newer_bundle_is_refused(tmp_path: Path) -> None:
    folder(tmp_path, {"bundle.yaml": "apiVersion: whysync.dev/v9\nkind: Bundle\n"})
    with pytest.raises(Unreadable, match="version v9"):
        read_bundle([tmp_path])


@pytest.mark.parametrize(
    "content",
    [b"", b"\x00\x01\x02\xff" * 50, b"# nothing\n", b"\x1f\x8b junk", b"PK\x03\x04junk", b"BZh9", b"hello"],
)
def test_junk_is_a_clear_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "junk"
    path.write_bytes(content)
    for given_path, stdin in ((str(path), None), ("-", io.BytesIO(content))):
        with pytest.raises(Unreadable) as caught:
            read_bundle([given_path], stdin=stdin)
        assert caught.value.next


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        read_bundle([tmp_path / "none"])
    with pytest.raises(NotFound):
        read_bundle([])
    with pytest.raises(NotFound):
        read_bundle(["-"])
    with pytest.raises(Unreadable, match="nothing that whysync can read"):
        read_bundle([tmp_path])
    folder(tmp_path, {"a.md": "x"})
    with pytest.raises(Unreadable) as caught:
        read_bundle([tmp_path])
    assert "a.md" in caught.value.why


def test_truncated_archives(tmp_path: Path) -> None:
    data = tar(tmp_path / "b.tar.gz", FILES).read_bytes()
    (tmp_path / "b.tar.gz").write_bytes(data[: len(data) // 2])
    with pytest.raises(Unreadable, match="broken archive"):
        read_bundle([tmp_path / "b.tar.gz"])


@settings(deadline=None)
@given(
    st.one_of(st.binary(max_size=300), st.text(alphabet="{}[]:-\n akindv1\"'/", max_size=80).map(str.encode))
)
def test_any_input_is_read_or_refused(content: bytes) -> None:
    for head in (b"", b"\x1f\x8b\x08\0", b"PK\x03\x04", b"apiVersion: v1\nkind: List\nitems:\n"):
        try:
            read_bundle(["-"], stdin=io.BytesIO(head + content))
        except WhysyncError as problem:
            if not problem.what:
                raise
