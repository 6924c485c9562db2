"""No program that a repository names is run: every Git setting that can name one, on the real verbs.

Each row of the table puts a canary into a repository. The control runs plain git and shows that the canary
works; where there is none, its reason says why.
"""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.argocd.repo_server.git.conftest import GitCheckout
from tests.cli.running import Whysync
from tests.situations import ROOT

APP = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop, namespace: argocd}
spec:
  project: default
  destination: {server: https://kubernetes.default.svc, namespace: shop}
  source: {repoURL: https://git.example.com/x.git, path: p, targetRevision: main}
"""
MANIFEST = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: shop}\ndata: {a: "1"}\n'
ATTRIBUTES = "*.yaml filter=evil diff=evil merge=evil\n"
PROMISOR = {
    "core.repositoryformatversion": "1",
    "extensions.partialClone": "evil",
    "remote.evil.promisor": "true",
}
READ_MISSING = "git cat-file -p feature:p/a.yaml"
NEEDS_A_PROGRAM = "the part of Git that reads it is a package of its own"
NEEDS_A_NEWER_GIT = "this version of Git does not know it"
PROTECTED = "Git ignores it in the configuration of a repository"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """`@` in a value is the canary's path, `%` the folder next to the repository."""

    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    control: str = ""
    no_control: str = ""
    missing: bool = False
    """The content of a file is missing, as in a partial clone."""
    tty: bool = False
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    """Files to write, relative to the repository."""

    @property
    def name(self) -> str:
        return "+".join(key for key in self.settings if key not in PROMISOR) or next(iter(self.files))


def setting(key: str, value: str = "@", control: str = "", *, tty: bool = False, **more: str) -> Row:
    return Row(settings={key: value, **_dotted(more)}, control=control, tty=tty)


def unreached(key: str, why: str, value: str = "@") -> Row:
    return Row(settings={key: value}, no_control=why)


def lazy(settings: Mapping[str, str]) -> Row:
    """What would fetch a missing object."""
    return Row(settings={**PROMISOR, **settings}, control=READ_MISSING, missing=True)


def _dotted(more: Mapping[str, str]) -> dict[str, str]:
    return {key.replace("__", "."): value for key, value in more.items()}


CREDENTIALS = "printf 'protocol=https\\nhost=h\\n\\n' | git credential fill"
SIGNED = "git commit -q -S --allow-empty -m x"
DIFF = "git diff main feature"
HOOKS = (
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "proc-receive",
    "push-to-checkout",
    "reference-transaction",
    "sendemail-validate",
    "update",
)

TABLE = (
    # Missing objects of a partial clone
    lazy({"remote.evil.url": "%/shop", "remote.evil.uploadpack": "@;git-upload-pack"}),
    lazy({"remote.evil.url": "ext::@", "protocol.ext.allow": "always"}),
    lazy({"remote.evil.url": "evil::x"}),
    lazy({"remote.evil.url": "x", "remote.evil.vcs": "evil"}),
    lazy({"remote.evil.url": "ssh://127.0.0.1:9/x", "core.sshCommand": "@"}),
    lazy({"remote.evil.url": "git://127.0.0.1:9/x", "core.gitProxy": "@"}),
    lazy({"remote.evil.url": "https://h/x", "url.evil::.insteadOf": "https://h/"}),
    lazy({"remote.evil.url": "https://h/x", "include.path": "evil.inc"}),
    # Read by commands that look at files and commits
    setting("core.fsmonitor", control="git status"),
    Row(settings={"core.hooksPath": "%/hooks"}, control="git checkout -q -b x"),
    Row(files={f".git/hooks/{name}": "#!/bin/sh\n@\n" for name in HOOKS}, control="git checkout -q -b x"),
    setting("filter.evil.clean", control="touch p/a.yaml; git add p"),
    setting("filter.evil.smudge", control="git checkout -q main"),
    setting("filter.evil.process", control="git checkout -q main"),
    setting("diff.external", control=DIFF),
    setting("diff.evil.command", control=DIFF),
    setting("diff.evil.textconv", control=DIFF),
    setting("merge.evil.driver", control="git merge -q other"),
    setting("core.pager", control="git log", tty=True),
    setting("pager.log", control="git log", tty=True),
    unreached("pager.rev-parse", "Git starts no pager for this command"),
    setting("tar.evil.command", control="git archive --format=evil HEAD"),
    setting("alias.evil", "!@", "git evil"),
    unreached("alias.rev-parse", "Git does not let an alias replace a command", "!@"),
    # Configuration files besides .git/config
    Row(
        settings={"include.path": "evil.inc"},
        files={".git/evil.inc": "[core]\n\tfsmonitor = @\n"},
        control="git status",
    ),
    Row(
        settings={"includeIf.gitdir:/.path": "evil.inc"},
        files={".git/evil.inc": "[core]\n\tfsmonitor = @\n"},
        control="git status",
    ),
    Row(
        settings={"includeIf.onbranch:feature.path": "evil.inc"},
        files={".git/evil.inc": "[core]\n\tfsmonitor = @\n"},
        control="git status",
    ),
    Row(
        settings={"core.repositoryformatversion": "1", "extensions.worktreeConfig": "true"},
        files={".git/config.worktree": "[core]\n\tfsmonitor = @\n"},
        control="git status",
    ),
    # Credentials and transports
    setting("core.askPass", control=CREDENTIALS),
    setting("credential.helper", "!@", CREDENTIALS),
    setting("credential.https://h.helper", "!@", CREDENTIALS),
    setting("core.sshCommand", control="git ls-remote ssh://127.0.0.1:9/x"),
    setting("core.gitProxy", control="git ls-remote git://127.0.0.1:9/x"),
    Row(
        settings={"core.alternateRefsCommand": "@"},
        files={".git/objects/info/alternates": "%/bare.git/objects\n"},
        control="git fetch -q ../bare.git other",
    ),
    setting("remote.evil.uploadpack", control="git fetch -q evil", remote__evil__url="../bare.git"),
    setting("remote.evil.receivepack", control="git push -q evil main", remote__evil__url="../bare.git"),
    setting("remote.evil.vcs", "evil", "git fetch -q evil", remote__evil__url="x"),
    setting("url.evil::.insteadOf", "https://git.example.com/", "git fetch -q origin"),
    setting("url.evil::.pushInsteadOf", "https://git.example.com/", "git push -q origin main"),
    setting("protocol.ext.allow", "always", "git ls-remote evil", remote__evil__url="ext::@"),
    unreached("uploadpack.packObjectsHook", PROTECTED),
    Row(
        settings={"submodule.sub.update": "!@", "submodule.sub.url": "../bare.git"},
        no_control="it needs a submodule that was fetched",
        files={".gitmodules": '[submodule "sub"]\n\tpath = sub\n\turl = ../bare.git\n\tupdate = !@\n'},
    ),
    # Signatures
    setting("gpg.program", control=SIGNED, user__signingKey="x"),
    setting("gpg.openpgp.program", control=SIGNED, user__signingKey="x"),
    setting("gpg.x509.program", control=SIGNED, gpg__format="x509", user__signingKey="x"),
    setting("gpg.ssh.program", control=SIGNED, gpg__format="ssh", user__signingKey="key::ssh-rsa x"),
    setting("gpg.ssh.defaultKeyCommand", control=SIGNED, gpg__format="ssh"),
    # Commands that whysync does not call
    setting("core.editor", control="git commit --amend"),
    setting("sequence.editor", control="git rebase -i HEAD~1"),
    setting("interactive.diffFilter", control="echo x >> p/a.yaml; echo q | git add -p", tty=True),
    setting("trailer.evil.command", control="echo x | git interpret-trailers --trailer evil=1"),
    setting("trailer.evil.cmd", control="echo x | git interpret-trailers --trailer evil=1"),
    setting("difftool.evil.cmd", control="git difftool -y main feature", diff__tool="evil"),
    setting("difftool.meld.path", control="git difftool -y main feature", diff__tool="meld"),
    setting("difftool.gui.cmd", control="git difftool -y -g main feature", diff__guitool="gui"),
    setting("mergetool.evil.cmd", control="git merge -q other; git mergetool -y", merge__tool="evil"),
    setting("mergetool.meld.path", control="git merge -q other; git mergetool -y", merge__tool="meld"),
    setting("mergetool.gui.cmd", control="git merge -q other; git mergetool -y -g", merge__guitool="gui"),
    setting("browser.evil.cmd", control="git web--browse x", web__browser="evil"),
    setting("browser.firefox.path", control="git web--browse -b firefox x"),
    setting("man.evil.cmd", control="git help -m git", man__viewer="evil"),
    setting("man.konqueror.path", control="DISPLAY=:0 git help -m git", man__viewer="konqueror"),
    unreached("help.browser", "it names a browser.<tool>, tried above", "evil"),
    unreached("instaweb.browser", NEEDS_A_PROGRAM),
    unreached("instaweb.httpd", NEEDS_A_PROGRAM),
    unreached("guitool.evil.cmd", NEEDS_A_PROGRAM),
    unreached("imap.tunnel", NEEDS_A_PROGRAM),
    unreached("sendemail.sendmailCmd", NEEDS_A_PROGRAM),
    unreached("sendemail.smtpServer", NEEDS_A_PROGRAM),
    unreached("sendemail.toCmd", NEEDS_A_PROGRAM),
    unreached("sendemail.ccCmd", NEEDS_A_PROGRAM),
    unreached("sendemail.headerCmd", NEEDS_A_PROGRAM),
    unreached("lfs.customtransfer.evil.path", NEEDS_A_PROGRAM),
    unreached("gc.recentObjectsHook", NEEDS_A_NEWER_GIT),
    unreached("hook.evil.command", NEEDS_A_NEWER_GIT),
)
NO_PROGRAMS = {
    "clean.requireForce": "asks for a flag",
    "credential.<url>.*": "its helper is in the table",
    "core.fsmonitorHookVersion": "a number",
    "gitcvs.dbDriver": "a database, in a package of its own",
    "merge.<driver>.recursive": "the name of another driver",
    "notes.rewrite.<command>": "true or false",
    "diff.tool": "a name of difftool.<tool>",
    "diff.guitool": "a name of difftool.<tool>",
    "merge.tool": "a name of mergetool.<tool>",
    "merge.guitool": "a name of mergetool.<tool>",
    "web.browser": "a name of browser.<tool>",
    "column.clean": "a layout",
    "diff.<driver>.cachetextconv": "true or false",
    "pager.<cmd>": "pager.log is in the table",
    "color.pager": "true or false",
}
VARIABLES = (
    "GIT_ASKPASS",
    "GIT_EDITOR",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_PROXY_COMMAND",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_TEMPLATE_DIR",
    "PAGER",
    "EDITOR",
    "VISUAL",
    "SSH_ASKPASS",
)


class Hostile(GitCheckout):
    """A repository on the branch `feature`, next to a folder with the canary and one more repository."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "shop"
        self.outside = folder
        self.mark = folder / "ran"
        self.canary = folder / "bin/canary"
        self.canary.parent.mkdir()
        (folder / "hooks").mkdir()
        for path in (
            self.canary,
            folder / "bin/git-remote-evil",
            *(folder / "hooks" / hook for hook in HOOKS),
        ):
            self._program(path, f"#!/bin/sh\ntouch {self.mark}\nexit 1\n")

    def _program(self, path: Path, text: str) -> None:
        path.write_text(text)
        path.chmod(0o755)

    def apply(self, row: Row) -> None:
        for key, value in row.settings.items():
            self.git("config", key, self._filled(value))
        for name, text in row.files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            self._program(path, self._filled(text))
        if row.missing:
            (self.folder / ".git/evil.inc").write_text('[url "evil::"]\n\tinsteadOf = https://h/\n')
            blob = self.git("rev-parse", "feature:p/a.yaml")
            (self.folder / ".git/objects" / blob[:2] / blob[2:]).unlink()

    def _filled(self, value: str) -> str:
        return value.replace("@", str(self.canary)).replace("%", str(self.outside))

    def path(self) -> str:
        """With the helper `git-remote-evil`."""
        return f"{self.canary.parent}{os.pathsep}{os.environ['PATH']}"

    def plain(self, command: str, *, tty: bool) -> None:
        env = {
            "PATH": self.path(),
            "HOME": str(self.outside),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "TERM": "xterm",
            **{
                f"GIT_{role}_{field}": "a@b"
                for role in ("AUTHOR", "COMMITTER")
                for field in ("NAME", "EMAIL")
            },
        }
        ours, theirs = pty.openpty()
        try:
            subprocess.run(
                ["sh", "-c", command],
                cwd=self.folder,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=theirs if tty else subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=False,
                timeout=60,
            )
        finally:
            os.close(ours)
            os.close(theirs)


@pytest.fixture(scope="module")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`shop` and `bare.git`, which each test copies."""
    folder = tmp_path_factory.mktemp("repositories")
    shop = GitCheckout(folder / "shop")
    shop.git("remote", "add", "origin", "https://git.example.com/x.git")
    shop.commit({"app.yaml": APP, "p/a.yaml": MANIFEST, ".gitattributes": ATTRIBUTES})
    shop.git("checkout", "-q", "-b", "other")
    shop.commit({"p/a.yaml": MANIFEST.replace('"1"', '"3"')})
    shop.git("clone", "-q", "--bare", str(shop.folder), str(folder / "bare.git"))
    shop.git("checkout", "-q", "-b", "feature", "main")
    shop.commit({"p/a.yaml": MANIFEST.replace('"1"', '"2"')})
    return folder


@pytest.fixture
def hostile(repositories: Path, tmp_path: Path) -> Hostile:
    shutil.copytree(repositories, tmp_path, dirs_exist_ok=True)
    return Hostile(tmp_path)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_plan_does_not_run_it(
    row: Row, hostile: Hostile, whysync: Whysync, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile.apply(row)
    hostile.mark.unlink(missing_ok=True)
    monkeypatch.chdir(hostile.folder)
    committed = whysync("plan", "--base", "main", "--head", "feature", "--no-proof", PATH=hostile.path())
    edited = whysync("plan", "--base", "main", "--empty", "--no-proof", PATH=hostile.path())
    assert not hostile.mark.exists()
    assert edited.code == 0, edited
    if row.missing:
        assert committed.code == 3
        assert "the content of 'p/a.yaml' is missing in this partial clone" in " ".join(committed.out.split())
    else:
        assert committed.code == 0, committed


@pytest.mark.parametrize("row", [entry for entry in TABLE if entry.control], ids=lambda row: row.name)
def test_plain_git_runs_it(row: Row, hostile: Hostile) -> None:
    hostile.apply(row)
    hostile.mark.unlink(missing_ok=True)
    hostile.plain(row.control, tty=row.tty)
    assert hostile.mark.exists()


@pytest.mark.parametrize("row", [entry for entry in TABLE if not entry.control], ids=lambda row: row.name)
def test_a_row_without_a_control_has_a_reason(row: Row) -> None:
    assert row.no_control


def test_variables_of_the_environment_do_not_run_anything(
    hostile: Hostile, whysync: Whysync, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(hostile.folder)
    variables = {name: str(hostile.canary) for name in VARIABLES}
    variables |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor"}
    variables |= {
        "GIT_CONFIG_VALUE_0": str(hostile.canary),
        "GIT_DIR": "/nowhere",
        "GIT_EXEC_PATH": "/nowhere",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert whysync("plan", "--base", "main", "--no-proof").code == 0
    assert not hostile.mark.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("lint", "."),
        ("lint", "--render", "."),
        ("fix", "my-api-service", "--bundle", "EXAMPLE", "--checkout", ".", "--no-proof"),
        ("diagnose", "--bundle", "EXAMPLE"),
        ("diagnose", "--bundle", "."),
    ],
    ids=" ".join,
)
def test_other_verbs_do_not_call_git_at_all(
    arguments: tuple[str, ...], hostile: Hostile, whysync: Whysync, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(hostile.folder)
    shutil.copy(hostile.canary, hostile.canary.with_name("git"))
    example = str(ROOT / "examples/autoscaler-loop")
    done = whysync(
        *(example if argument == "EXAMPLE" else argument for argument in arguments), PATH=hostile.path()
    )
    assert done.code in (0, 1, 2, 3)
    assert not hostile.mark.exists()


def test_the_table_has_every_key_that_names_a_program() -> None:
    """Compared with `git help --config` of the installed Git."""
    listed = subprocess.run(["git", "help", "--config"], capture_output=True, text=True, check=True).stdout
    suffixes = (
        r"askpass|browser|clean|cmd>?|command>?|driver|editor|external|fsmonitor|gitproxy|helper|hook|hookspath|httpd|"
        r"insteadof|pager|\.path|process|program|receivepack|smudge|textconv|tool|tunnel|uploadpack|vcs"
    )
    keys = [
        key
        for key in listed.split()
        if re.search(rf"(?:{suffixes})$", key, re.IGNORECASE) and not key.startswith("advice.")
    ]
    known = {_shape(key) for row in TABLE for key in row.settings}
    assert len(keys) > 40
    assert [key for key in keys if key not in NO_PROGRAMS and _shape(key) not in known] == []


def _shape(key: str) -> str:
    """Section and name, without what is between them."""
    first, _, rest = key.lower().partition(".")
    return f"{first}.{rest.rpartition('.')[2]}"
