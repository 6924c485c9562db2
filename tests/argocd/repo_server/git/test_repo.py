from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

import whysync
from tests.argocd.repo_server.git.conftest import GitCheckout, served
from whysync.argocd.repo_server.git import (
    GitFailed,
    RevisionUnknown,
    open_repo,
    tree_of_folder,
    tree_of_work_tree,
    without_credentials,
)
from whysync.argocd.repo_server.git.command import Git
from whysync.errors import NotFound, Refused, Unreadable
from whysync.processes.forked import forked


def files_of(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): path.read_text() for path in sorted(root.rglob("*")) if path.is_file()
    }


def test_the_files_of_a_commit_without_touching_the_work_tree(checkout: GitCheckout) -> None:
    first = checkout.commit({"app/a.yaml": "one\n", "b.yaml": "b\n"})
    second = checkout.commit({"app/a.yaml": "two\n"})
    (checkout.folder / "app/a.yaml").write_text("not committed\n")
    before = checkout.git("status", "--porcelain")
    repo = open_repo(str(checkout.folder))
    with repo.tree(first) as tree:
        assert files_of(tree.root) == {"app/a.yaml": "one\n", "b.yaml": "b\n"}
        assert checkout.folder not in tree.root.parents
    assert not tree.root.exists()
    with repo.tree(second) as tree, tree_of_folder(checkout.folder) as now:
        assert files_of(tree.root)["app/a.yaml"] == "two\n"
        assert files_of(now.root) == {"app/a.yaml": "not committed\n", "b.yaml": "b\n"}
    assert checkout.git("status", "--porcelain") == before


def test_revisions_bases_and_changes(checkout: GitCheckout) -> None:
    base = checkout.commit({"a": "1", "old name.yaml": "x"})
    checkout.git("checkout", "-q", "-b", "feature")
    checkout.git("mv", "old name.yaml", "new\nname.yaml")
    head = checkout.commit({"c": "3"})
    checkout.git("checkout", "-q", "main")
    main = checkout.commit({"a": "2"})
    checkout.git("tag", "-a", "v1.0.0", "-m", "one")
    repo = open_repo(str(checkout.folder / ".git"))
    assert repo.resolve("") == main
    assert repo.resolve("feature") == head
    assert repo.resolve("1.x") == main
    assert repo.resolve(head[:9]) == head
    assert repo.commit("main~1") == base
    assert (
        repo.merge_base("main", "feature") == base
        if repo.has("main")
        else repo.merge_base(main, head) == base
    )
    assert repo.changed_paths(base, head) == ("c", "new\nname.yaml", "old name.yaml")
    assert repo.read(head, "c") == b"3"
    with pytest.raises(RevisionUnknown):
        repo.resolve("no-such-branch")


def test_a_checkout_knows_its_url_without_credentials(checkout: GitCheckout) -> None:
    checkout.commit({"a": "1"})
    checkout.git("remote", "add", "origin", "https://user:t0ken@example.org/org/repo.git")
    (checkout.folder / "deep/er").mkdir(parents=True)
    assert open_repo(str(checkout.folder / "deep/er")).url == "https://example.org/org/repo.git"


def test_a_branch_that_only_the_origin_has(checkout: GitCheckout) -> None:
    commit = checkout.commit({"a": "1"})
    checkout.git("update-ref", "refs/remotes/origin/release", commit)
    assert open_repo(str(checkout.folder)).resolve("release") == commit


def test_a_linked_work_tree(checkout: GitCheckout, tmp_path: Path) -> None:
    checkout.commit({"a": "1"})
    checkout.git("worktree", "add", "-q", "-b", "other", str(tmp_path / "linked"))
    repo = open_repo(str(tmp_path / "linked"))
    with repo.tree(repo.resolve("other")) as tree:
        assert files_of(tree.root) == {"a": "1"}


@pytest.fixture
def loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.mark.usefixtures("loopback")
def test_a_url_is_fetched_one_commit_at_a_time_into_the_cache(checkout: GitCheckout, tmp_path: Path) -> None:
    first = checkout.commit({"a": "1"})
    second = checkout.commit({"a": "2"})
    with served(tmp_path) as address:
        url = f"{address}/checkout/.git"
        repo = open_repo(url, network=True, cache=tmp_path / "cache")
        assert repo.resolve("main") == second
        with repo.tree(second) as tree:
            assert files_of(tree.root) == {"a": "2"}
        assert not repo.has(first)
    again = open_repo(url, network=True, cache=tmp_path / "cache")
    assert again.has(second)


@pytest.mark.usefixtures("loopback")
def test_settings_in_the_cache_are_replaced(checkout: GitCheckout, tmp_path: Path) -> None:
    """A cache may be restored from a place that others can write to."""
    commit = checkout.commit({"a": "1"})
    mark = tmp_path / "ran"
    with served(tmp_path) as address:
        url = f"{address}/checkout/.git"
        git_dir = open_repo(url, network=True, cache=tmp_path / "cache").git.repository
        assert isinstance(git_dir, Path)
        for key, value in {
            "core.fsmonitor": f"touch {mark}",
            "credential.helper": f"!touch {mark}",
            f"url.ext::touch% {mark}#.insteadOf": address,
            "protocol.ext.allow": "always",
        }.items():
            checkout.git("config", "--file", str(git_dir / "config"), key, value)
        (git_dir / "commondir").write_text(str(checkout.folder / ".git"))
        repo = open_repo(url, network=True, cache=tmp_path / "cache")
        with repo.tree(repo.resolve("main")) as tree:
            assert files_of(tree.root) == {"a": "1"}
        assert repo.resolve("HEAD") == commit
    assert not mark.exists()
    assert not (git_dir / "commondir").exists()


@pytest.mark.usefixtures("loopback")
def test_a_repository_that_is_not_there(tmp_path: Path) -> None:
    repo = open_repo("http://127.0.0.1:9/nope", network=True, cache=tmp_path / "cache")
    with pytest.raises(GitFailed, match=r"failed to list refs: `git ls-remote .*` failed exit status 128: "):
        repo.resolve("main")


def test_a_file_url_is_read_in_place(checkout: GitCheckout, tmp_path: Path) -> None:
    """Git's own transport would start a program in that repository, with the repository's settings."""
    commit = checkout.commit({"a": "1"})
    bare = tmp_path / "with blank"
    checkout.git("clone", "-q", "--bare", str(checkout.folder), str(bare))
    repo = open_repo(f"file://{tmp_path}/with%20blank", cache=tmp_path / "cache")
    assert repo.resolve("main") == commit
    assert repo.url == f"file://{tmp_path}/with%20blank"
    assert not (tmp_path / "cache").exists()
    with pytest.raises(NotFound):
        open_repo(f"file://{tmp_path}/nope")


def test_a_protocol_is_allowed_only_for_the_call_that_asks(checkout: GitCheckout) -> None:
    checkout.commit({"a": "1"})
    git = open_repo(str(checkout.folder)).git
    with pytest.raises(GitFailed, match="transport 'file' not allowed"):
        git.text("ls-remote", str(checkout.folder))
    assert "refs/heads/main" in git.text("ls-remote", str(checkout.folder), protocols="file")


def test_nothing_is_fetched_from_the_network_unasked(tmp_path: Path) -> None:
    for url in ("https://user:t0ken@example.org/x.git", "git@example.org:x.git", "ssh://example.org/x"):
        with pytest.raises(Refused) as refused:
            open_repo(url, cache=tmp_path)
        assert "t0ken" not in refused.value.what


def test_a_path_without_a_repository_is_not_found(tmp_path: Path) -> None:
    for path in (str(tmp_path / "nope"), str(tmp_path)):
        with pytest.raises(NotFound):
            open_repo(path)


def test_a_missing_commit_fails_with_the_message_of_the_repo_server(checkout: GitCheckout) -> None:
    checkout.commit({"a": "1"})
    with pytest.raises(GitFailed, match=r"failed to checkout revision f{40}: .*unable to read tree"):
        open_repo(str(checkout.folder)).tree("f" * 40)


def test_a_revision_that_looks_like_an_option(checkout: GitCheckout) -> None:
    checkout.commit({"a": "1"})
    repo = open_repo(str(checkout.folder))
    for name in ("--upload-pack=touch x", "-x", "a\0b"):
        with pytest.raises((GitFailed, RevisionUnknown)):
            repo.commit(name)
        with pytest.raises((GitFailed, RevisionUnknown)):
            repo.resolve(name)


def test_neither_hooks_nor_filters_nor_monitors_run(checkout: GitCheckout, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    checkout.commit({".gitattributes": "*.yaml filter=evil\n", "a.yaml": "kept\n"})
    hook = checkout.folder / ".git/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {mark}\n")
    hook.chmod(0o755)
    for key in ("filter.evil.smudge", "core.fsmonitor", "core.sshCommand", "core.pager", "diff.external"):
        checkout.git("config", key, f"touch {mark}")
    repo = open_repo(str(checkout.folder))
    head = repo.resolve("HEAD")
    with repo.tree(head) as tree:
        assert files_of(tree.root)["a.yaml"] == "kept\n"
    repo.changed_paths(head, head)
    assert not mark.exists()


def test_links_are_kept_as_links_and_submodules_are_named(checkout: GitCheckout) -> None:
    os.symlink("real.yaml", checkout.folder / "link.yaml")
    os.symlink("/etc/passwd", checkout.folder / "out.yaml")
    checkout.commit({"real.yaml": "x"})
    checkout.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    checkout.git("commit", "-qm", "submodule")
    repo = open_repo(str(checkout.folder))
    with repo.tree(repo.resolve("HEAD")) as tree:
        assert os.readlink(tree.root / "link.yaml") == "real.yaml"
        assert os.readlink(tree.root / "out.yaml") == "/etc/passwd"
        assert "submodule at sub" in tree.warnings[0]


def forged(checkout: GitCheckout, entries: list[tuple[str, str, str]]) -> str:
    """A commit of a tree that `git add` would never make."""
    raw = b"".join(f"{mode} {name}".encode() + b"\0" + bytes.fromhex(blob) for mode, name, blob in entries)
    tree = checkout.git("hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=raw)
    return checkout.git("commit-tree", tree, "-m", "forged")


def test_a_forged_tree_writes_nothing_outside(checkout: GitCheckout) -> None:
    blob = checkout.git("hash-object", "-w", "--stdin", stdin=b"evil")
    repo = open_repo(str(checkout.folder))
    for name in ("..", ".git", ".GIT", "."):
        commit = forged(checkout, [("100644", name, blob)])
        with pytest.raises(Unreadable):
            repo.tree(commit)


def test_no_file_is_written_through_a_link(checkout: GitCheckout, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    blob = checkout.git("hash-object", "-w", "--stdin", stdin=b"evil")
    target = checkout.git("hash-object", "-w", "--stdin", stdin=str(outside).encode())
    inner = checkout.git("mktree", stdin=f"100644 blob {blob}\tfile\n".encode())
    commit = forged(checkout, [("120000", "a", target), ("40000", "a", inner)])
    with pytest.raises(Unreadable):
        open_repo(str(checkout.folder)).tree(commit)
    assert list(outside.iterdir()) == []


def test_credentials_never_reach_a_message(tmp_path: Path) -> None:
    assert without_credentials("see https://u:p@h/x and ssh://git@h/y") == "see https://h/x and ssh://h/y"
    with pytest.raises(GitFailed) as failed:
        Git(tmp_path).text("ls-remote", "https://u:t0ken@127.0.0.1:9/x")
    assert "t0ken" not in failed.value.message


def test_equal_folders_are_one_identity(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name / "x").mkdir(parents=True)
        (tmp_path / name / "x" / "f").write_text("same" if name != "c" else "other")
    trees = [tree_of_folder(tmp_path / name) for name in ("a", "b", "c")]
    try:
        assert trees[0].identity == trees[1].identity != trees[2].identity
    finally:
        for tree in trees:
            tree.close()


def test_a_work_tree_without_what_git_ignores(checkout: GitCheckout) -> None:
    checkout.commit({".gitignore": "node_modules/\n", "a": "1", "gone": "x"})
    (checkout.folder / "gone").unlink()
    for path, content in {"node_modules/big": "no", "new/b": "2", "a": "edited"}.items():
        (checkout.folder / path).parent.mkdir(exist_ok=True)
        (checkout.folder / path).write_text(content)
    with tree_of_work_tree(str(checkout.folder / "new")) as tree:
        assert files_of(tree.root) == {".gitignore": "node_modules/\n", "a": "edited", "new/b": "2"}


def test_a_clone_with_missing_files(checkout: GitCheckout) -> None:
    commit = checkout.commit({"a": "kept", "lost/b": "gone"})
    blob = checkout.git("rev-parse", "HEAD:lost/b")
    (checkout.folder / ".git/objects" / blob[:2] / blob[2:]).unlink()
    with open_repo(str(checkout.folder)).tree(commit) as tree:
        assert files_of(tree.root) == {"a": "kept"}
        assert tree.missing == ("lost/b",)
        assert "partial clone" in tree.warnings[0]


def test_a_very_deep_folder_is_refused(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["d"] * 300)
    deep.mkdir(parents=True)
    with pytest.raises(Unreadable, match="cannot be written out"):
        tree_of_folder(tmp_path)


def test_upstreams_reflogs_and_fetched_heads_are_revisions(checkout: GitCheckout, tmp_path: Path) -> None:
    first = checkout.commit({"a": "1"})
    checkout.git("clone", "-q", "--bare", str(checkout.folder), str(tmp_path / "origin"))
    checkout.git("remote", "add", "origin", str(tmp_path / "origin"))
    checkout.git("fetch", "-q", "origin")
    checkout.git("branch", "-q", "--set-upstream-to=origin/main")
    second = checkout.commit({"a": "2"})
    repo = open_repo(str(checkout.folder))
    assert repo.commit("@{upstream}") == repo.commit("HEAD@{1}") == repo.commit("FETCH_HEAD") == first
    assert repo.commit("HEAD") == second


def test_a_shallow_clone(checkout: GitCheckout, tmp_path: Path) -> None:
    checkout.commit({"a": "1"})
    base = checkout.commit({"a": "2"})
    head = checkout.commit({"a": "3"})
    checkout.git("clone", "-q", "--depth=2", f"file://{checkout.folder}", str(tmp_path / "shallow"))
    assert open_repo(str(tmp_path / "shallow")).merge_base(base, head) == base


def test_a_split_index(checkout: GitCheckout) -> None:
    checkout.commit({"a": "1", ".gitignore": "c\n"})
    checkout.git("update-index", "--split-index")
    (checkout.folder / "b").write_text("2")
    (checkout.folder / "c").write_text("3")
    checkout.git("add", "b")
    (checkout.folder / ".git/info").mkdir(exist_ok=True)
    (checkout.folder / ".git/info/exclude").write_text("d\n")
    (checkout.folder / "d").write_text("4")
    with tree_of_work_tree(str(checkout.folder)) as tree:
        assert files_of(tree.root) == {"a": "1", ".gitignore": "c\n", "b": "2"}


def test_a_partial_clone_as_git_makes_it(checkout: GitCheckout, tmp_path: Path) -> None:
    """Nothing is fetched; the command in the warning fetches what is missing."""
    old = checkout.commit({"p/a": "1", "p/b": "b"})
    checkout.commit({"p/a": "2"})
    checkout.git("config", "uploadpack.allowFilter", "true")
    clone = GitCheckout(tmp_path / "clone")
    clone.git("remote", "add", "origin", f"file://{checkout.folder}")
    clone.git("fetch", "-q", "--filter=blob:none", "origin")
    clone.git("checkout", "-q", "-f", "-B", "main", "origin/main")
    repo = open_repo(str(clone.folder))
    with repo.tree(old) as tree:
        assert tree.missing == ("p/a",)
        assert files_of(tree.root) == {"p/b": "b"}
        assert "git fetch --refetch --no-filter" in tree.warnings[0]
    clone.git("fetch", "-q", "--refetch", "--no-filter")
    with repo.tree(old) as tree:
        assert tree.missing == ()


@pytest.fixture
def owned_by_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git believes that every repository is somebody else's; its own tests do it in this way."""
    real = shutil.which("git")
    program = tmp_path / "bin/git"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nGIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec {real} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


def test_a_repository_owned_by_another_user_is_refused(
    checkout: GitCheckout, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    checkout.commit({"a": "1"})
    checkout.git("config", "safe.directory", "*")  # settings of the repository itself do not count
    request.getfixturevalue("owned_by_others")
    for path in (checkout.folder, checkout.folder / ".git"):
        with pytest.raises(Unreadable) as refused:
            open_repo(str(path))
        assert "another user owns it" in refused.value.what
        assert refused.value.next.endswith(f"git config --global --add safe.directory {checkout.folder}")
    with pytest.raises(Unreadable, match="another user owns it"):
        tree_of_work_tree(str(checkout.folder))
    (tmp_path / ".gitconfig").write_text("[safe]\n\tdirectory = /elsewhere\n")
    with pytest.raises(Unreadable):
        open_repo(str(checkout.folder))


@pytest.mark.parametrize("trust", ["{repo}", "*", "~/checkout"])
def test_the_users_own_safe_directories_count(
    trust: str, checkout: GitCheckout, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    commit = checkout.commit({"a": "1"})
    request.getfixturevalue("owned_by_others")
    value = trust.replace("{repo}", str(checkout.folder))
    trusted = f"[safe]\n\tdirectory = /elsewhere\n\tdirectory = {value}\n"
    (tmp_path / ".gitconfig").write_text(f"{trusted}[core]\n\tfsmonitor = touch {tmp_path}/ran\n")
    repo = open_repo(str(checkout.folder))
    with repo.tree(repo.resolve("main")) as tree, tree_of_work_tree(str(checkout.folder)) as now:
        assert files_of(tree.root) == files_of(now.root) == {"a": "1"}
    assert repo.resolve("HEAD") == commit
    assert not (tmp_path / "ran").exists()


def test_safe_directories_of_the_environment_count(
    checkout: GitCheckout, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As CI systems pass them to containers."""
    commit = checkout.commit({"a": "1"})
    request.getfixturevalue("owned_by_others")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "safe.directory")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(checkout.folder))
    assert open_repo(str(checkout.folder)).resolve("main") == commit


def test_a_broken_repository_is_not_reported_as_owned_by_another_user(checkout: GitCheckout) -> None:
    (checkout.folder / ".git/HEAD").write_text("junk")
    with pytest.raises(NotFound):
        open_repo(str(checkout.folder))


def test_a_sparse_index(checkout: GitCheckout) -> None:
    checkout.commit({"p/a": "1", "q/r/b": "2"})
    checkout.git("sparse-checkout", "set", "--cone", "--sparse-index", "p")
    with tree_of_work_tree(str(checkout.folder)) as tree:
        assert files_of(tree.root) == {"p/a": "1"}


def test_git_is_started_in_one_place_only() -> None:
    """No other module looks for the program or starts a command with its name."""
    source = Path(whysync.__file__).parent
    started = re.compile(r"""which\("git"\)|(?:run|Popen)\(\s*\[?\(?"git\"""")
    result = [path for path in source.rglob("*.py") if started.search(path.read_text())]
    assert [path.relative_to(source).as_posix() for path in result] == ["argocd/repo_server/git/command.py"]


def test_a_child_process_changes_its_own_copy_of_a_tree(tmp_path: Path) -> None:
    """Kustomizations are edited for a build; another process must not see that."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a/kustomization.yaml").write_text("resources: []\n")
    (tmp_path / "link").symlink_to("a")
    with tree_of_folder(tmp_path) as tree:
        shared = tree.root

        def work(_: int) -> tuple[str, str, bool]:
            tree.unshare()
            file = tree.root / "link/kustomization.yaml"
            file.unlink()
            file.write_text("changed\n")
            return (
                str(tree.root),
                (shared / "a/kustomization.yaml").read_text(),
                file.samefile(tree.root / "a/kustomization.yaml"),
            )

        ((_, (own, seen, is_inside)),) = forked(work, [0], 1)
        tree.unshare()
        assert (tree.root, Path(own).parent) == (shared, shared.parent)
        assert own != str(shared)
        assert (seen, is_inside) == ("resources: []\n", True)
        assert Path(own).is_dir()
    assert not Path(own).exists()
