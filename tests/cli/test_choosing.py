"""Which facts and which apps: verbs, names, bundles, selectors, columns, environment."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from tests.cli.running import Whysync
from tests.situations import EXAMPLES, ROOT, application, bundle, documents

DOCS = str(ROOT / "examples/push-not-seen")
BILLING = ROOT / "examples/settings-missing.yaml"
ALL = [word for path in EXAMPLES for word in ("--bundle", str(path))]


def test_an_app_alone_means_diagnose(whysync: Whysync) -> None:
    assert whysync("docs", "--bundle", DOCS) == whysync("diagnose", "docs", "--bundle", DOCS)
    assert whysync("--bundle", DOCS) == whysync("diagnose", "--bundle", DOCS)


def test_a_verb_wins_over_an_app_of_that_name(whysync: Whysync, tmp_path: Path) -> None:
    path = bundle(tmp_path, application("list"), application("other"))
    assert whysync("list", "--bundle", path, "-o", "name").out == "argocd/list\nargocd/other\n"
    assert whysync("diagnose", "list", "--bundle", path, "-o", "name").out == "argocd/list\n"


@pytest.mark.parametrize(
    ("typed", "verb"), [("diagnos", "diagnose"), ("lsit", "list"), ("diag", "diagnose"), ("lint2", "lint")]
)
def test_a_verb_with_a_slip_in_it_is_suggested(whysync: Whysync, typed: str, verb: str) -> None:
    result = whysync(typed, "--bundle", DOCS)
    assert result.code == 2
    assert f"hint   did you mean whysync {verb}? {typed} is not a command" in result.err


def test_an_app_with_a_name_like_a_verb_is_an_app(whysync: Whysync, tmp_path: Path) -> None:
    path = bundle(tmp_path, application("diagnos"))
    assert whysync("diagnos", "--bundle", path, "-o", "name").out == "argocd/diagnos\n"
    assert "hint" not in whysync("shop", "--bundle", path).err


def test_an_app_by_its_namespace(whysync: Whysync, tmp_path: Path) -> None:
    path = bundle(tmp_path, application("web", namespace="one"), application("web", namespace="two"))
    assert whysync("two/web", "--bundle", path, "-o", "name").out == "two/web\n"
    assert whysync("web", "--bundle", path, "-o", "name").out == "one/web\ntwo/web\n"
    assert "APP-NAMESPACE" in whysync("list", "--bundle", path).out
    once = whysync("web", "one/web", "web", "--bundle", path, "-o", "name").out
    assert once == "one/web\ntwo/web\n"


def test_an_unknown_app_gets_a_suggestion(whysync: Whysync, tmp_path: Path) -> None:
    path = bundle(tmp_path, application("checkout"), application("billing"))
    near = whysync("chekout", "--bundle", path)
    assert near.code == 2
    assert "did you mean argocd/checkout?" in near.err
    far = whysync("zzz", "--bundle", path)
    assert "none of the 2 known names is similar" in far.err


def test_several_bundles_are_one_fleet(whysync: Whysync) -> None:
    names = whysync("list", *ALL, "-o", "name", "--sort", "name").out.split()
    assert names == [
        "argocd/billing",
        "argocd/checkout",
        "argocd/docs",
        "argocd/my-api-service",
        "argocd/shop",
    ]
    assert (
        whysync(
            "list", *reversed([f"--bundle={path}" for path in EXAMPLES]), "-o", "name", "--sort", "name"
        ).out.split()
        == names
    )


def test_a_bundle_from_standard_input(whysync: Whysync) -> None:
    piped = whysync("diagnose", "--bundle", "-", stdin=BILLING.read_bytes())
    assert piped == whysync("diagnose", "--bundle", str(BILLING))


def test_an_archive_says_the_same_as_its_folder(whysync: Whysync, tmp_path: Path) -> None:
    packed = tmp_path / "docs.tar.gz"
    with tarfile.open(packed, "w:gz") as archive:
        archive.add(DOCS, arcname="docs")
    assert whysync("diagnose", "--bundle", str(packed)) == whysync("diagnose", "--bundle", DOCS)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "nothing that whysync can read"),
        (b"just words", "nothing that whysync can read"),
        (b"a: [", "nothing that whysync can read"),
        (b"\x1f\x8b not a gzip after all", "broken archive"),
        (b"PK\x03\x04 not a zip after all", "broken archive"),
        (b"\x00\xff\xfe binary", "nothing that whysync can read"),
        (b"[" * 100_000, "nothing that whysync can read"),
        (b'{"a":' * 100_000, "nothing that whysync can read"),
        (documents({"apiVersion": "v1", "kind": "ConfigMap"}).encode(), "no Application found"),
    ],
    ids=["empty", "words", "yaml", "gzip", "zip", "binary", "deep-list", "deep-map", "no-app"],
)
def test_nonsense_is_a_clear_error(whysync: Whysync, tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "bundle.yaml"
    path.write_bytes(content)
    result = whysync("diagnose", "--bundle", str(path))
    assert result.code == 2
    assert expected in result.err
    assert "Traceback" not in result.err


def test_an_empty_folder_is_a_clear_error(whysync: Whysync, tmp_path: Path) -> None:
    result = whysync("diagnose", "--bundle", str(tmp_path))
    assert result.code == 2
    assert "it is empty" in result.err


def names(whysync: Whysync, *arguments: str) -> list[str]:
    sort = () if "--sort" in arguments else ("--sort", "name")
    return [name.rpartition("/")[2] for name in whysync("list", "-o", "name", *sort, *arguments).out.split()]


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--project", "prod"], ["billing", "checkout", "my-api-service", "shop"]),
        (["--project", "PROD", "--sync", "outofsync"], ["my-api-service", "shop"]),
        (["--health", "Degraded"], ["billing"]),
        (["--health", "Degraded", "--health", "Unknown"], ["billing"]),
        (["--destination", "p*"], ["my-api-service", "shop"]),
        (["--cluster", "*kubernetes.default*"], ["billing", "checkout", "docs", "my-api-service", "shop"]),
        (["--policy", "auto*"], ["docs", "my-api-service"]),
        (["--cause", "repo-auth"], ["checkout"]),
        (["--condition", "comparisonerror"], ["checkout"]),
        (["--namespace", "argocd", "--cause", "crash*"], ["billing"]),
        (["--project", "nobody"], []),
        (["--project", "!prod"], ["docs"]),
        (["--sync", "!Synced"], ["checkout", "my-api-service", "shop"]),
        (["--sync", "!Synced,!Unknown"], ["my-api-service", "shop"]),
        (["--sync", "Synced, Unknown"], ["billing", "checkout", "docs"]),
        (["--health", "Degraded,Missing"], ["billing"]),
        (
            ["--health", "!degraded", "--project", "prod,default"],
            ["checkout", "docs", "my-api-service", "shop"],
        ),
        (["--cause", "!repo-auth,!hook-*", "--project", "prod"], ["billing", "my-api-service"]),
        (["--condition", "!ComparisonError", "--project", "prod"], ["billing", "my-api-service", "shop"]),
    ],
)
def test_filters_by_any_column(whysync: Whysync, flags: list[str], expected: list[str]) -> None:
    assert names(whysync, *ALL, *flags) == expected


def test_filters_hold_for_diagnose_too(whysync: Whysync) -> None:
    result = whysync("diagnose", *ALL, "--cause", "repo-auth", "-o", "name")
    assert result.out == "argocd/checkout\n"
    assert whysync("diagnose", *ALL, "--project", "nobody").code == 0


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("severity", ["billing", "checkout", "shop", "docs", "my-api-service"]),
        ("name", ["billing", "checkout", "docs", "my-api-service", "shop"]),
        ("project", ["docs", "billing", "checkout", "my-api-service", "shop"]),
        ("sync", ["my-api-service", "shop", "billing", "docs", "checkout"]),
        ("destination", ["billing", "checkout", "docs", "my-api-service", "shop"]),
        ("health", ["billing", "checkout", "docs", "my-api-service", "shop"]),
    ],
)
def test_sorts_by_any_column(whysync: Whysync, column: str, expected: list[str]) -> None:
    assert names(whysync, *ALL, "--sort", column) == expected
    assert names(whysync, *ALL, "--sort", column, "--reverse") == expected[::-1]


def test_since_sorts_by_time_not_by_letters(whysync: Whysync, tmp_path: Path) -> None:
    """9 minutes come before 50 minutes, and an hour after both."""

    def ailing(name: str, begun: str) -> str:
        app = application(
            name, health="Degraded", status={"health": {"status": "Degraded", "lastTransitionTime": begun}}
        )
        return bundle(tmp_path, app, name=f"{name}.yaml")

    paths = [
        ailing("nine-minutes", "2026-03-02T03:01:00Z"),
        ailing("fifty-minutes", "2026-03-02T02:20:00Z"),
        ailing("three-hours", "2026-03-02T00:10:00Z"),
    ]
    bundles = [argument for path in paths for argument in ("--bundle", path)]
    assert names(whysync, *bundles, "--sort", "since") == ["nine-minutes", "fifty-minutes", "three-hours"]


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("team=web", ["a"]),
        ("team==web", ["a"]),
        ("team!=web", ["b", "c"]),
        ("team", ["a", "b"]),
        ("!team", ["c"]),
        ("team in (web, data)", ["a", "b"]),
        ("team notin (web),tier=gold", ["c"]),
        ("tier=gold,team=web", []),
        ("argo/x.y-z=1", ["b"]),
        ("team=", []),
    ],
)
def test_selector_as_kubectl_reads_it(
    whysync: Whysync, tmp_path: Path, selector: str, expected: list[str]
) -> None:
    path = bundle(
        tmp_path,
        application("a", labels={"team": "web"}),
        application("b", labels={"team": "data", "argo/x.y-z": "1"}),
        application("c", labels={"tier": "gold"}),
    )
    assert names(whysync, "--bundle", path, "-l", selector) == expected


def test_flags_come_from_the_environment_and_the_line_wins(whysync: Whysync) -> None:
    assert whysync("list", WHYSYNC_BUNDLE=DOCS, WHYSYNC_OUTPUT="name").out == "argocd/docs\n"
    other = whysync("list", "--bundle", str(BILLING), WHYSYNC_BUNDLE=DOCS, WHYSYNC_OUTPUT="name")
    assert other.out == "argocd/billing\n"
    assert whysync("list", *ALL, "-o", "name", WHYSYNC_PROJECT="default").out == "argocd/docs\n"
    both = whysync(
        "list", *ALL, "-o", "name", "--project", "prod", "--health", "degraded", WHYSYNC_PROJECT="default"
    )
    assert both.out == "argocd/billing\n"
    assert whysync("diagnose", "--bundle", DOCS, WHYSYNC_EXIT_ZERO="1").code == 0
    assert whysync("diagnose", "--bundle", DOCS, WHYSYNC_EXIT_ZERO="false").code == 1
    assert whysync("diagnose", "--bundle", DOCS, WHYSYNC_FAIL_ON="critical").code == 0
    assert whysync("diagnose", "--bundle", DOCS, "--fail-on", "info", WHYSYNC_FAIL_ON="critical").code == 1


def test_a_bad_value_in_the_environment_is_named(whysync: Whysync) -> None:
    result = whysync("list", "--bundle", DOCS, WHYSYNC_SORT="colour")
    assert result.code == 2
    assert "invalid WHYSYNC_SORT 'colour'" in result.err


def test_flags_are_not_guessed_from_their_beginning(whysync: Whysync) -> None:
    """`--clust` may mean two flags in the next version."""
    assert whysync("list", "--bundle", DOCS, "--clust", "x").code == 2


def test_get_shows_one_app(whysync: Whysync) -> None:
    shown = whysync("get", "shop", *ALL, "--show-operation").out
    for fact in (
        "Name:               argocd/shop",
        "Sync Policy:        Manual",
        "Phase:              Failed",
    ):
        assert fact in shown
    job = next(line for line in shown.splitlines() if "shop-migrate" in line)
    assert "PreSync" in job
    assert "backoff limit" in job


def test_a_list_of_nothing(whysync: Whysync) -> None:
    result = whysync("list", *ALL, "--project", "nobody")
    assert result.code == 0
    assert "0 of 0 need attention" in result.out


def test_standard_input_that_is_an_archive(whysync: Whysync) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        archive.add(DOCS, arcname=".")
    assert "docs" in whysync("diagnose", "--bundle", "-", stdin=buffer.getvalue()).out


def test_the_environment_counts_for_the_verb_alone(whysync: Whysync) -> None:
    """`name` is no output of diff, and `critical` no severity of health: list does not mind."""
    result = whysync("list", "--bundle", DOCS, WHYSYNC_OUTPUT="name", WHYSYNC_FAIL_ON="critical")
    assert (result.code, result.out) == (0, "argocd/docs\n")
    assert whysync("diff", "--bundle", DOCS, WHYSYNC_OUTPUT="name").code == 2


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (("--sync", "foo"), "whysync: invalid --sync 'foo'; one of: Synced, OutOfSync, Unknown\n"),
        (("--health", "!Degrad"), "  why    did you mean Degraded?\n"),
        (("--cause", "hok-failed"), "invalid --cause 'hok-failed'; did you mean hook-failed"),
        (("--cause", "quota,zzz"), "  why    one of: admission-denied, "),
    ],
)
def test_a_typo_in_a_filter_is_an_error(whysync: Whysync, flags: tuple[str, str], expected: str) -> None:
    result = whysync("list", "--bundle", str(ROOT / "examples" / "autoscaler-loop"), *flags)
    assert result.code == 2
    assert expected in result.err


def test_list_sorts_by_severity_unless_told_otherwise(whysync: Whysync) -> None:
    every = ["billing", "checkout", "shop", "docs", "my-api-service"]
    assert [line.rpartition("/")[2] for line in whysync("list", *ALL, "-o", "name").out.split()] == every


def test_broken_leaves_out_what_is_fine_or_in_progress(whysync: Whysync, tmp_path: Path) -> None:
    path = bundle(
        tmp_path,
        application("fine"),
        application("bad", health="Degraded"),
        application(
            "busy",
            sync="OutOfSync",
            status={
                "operationState": {
                    "phase": "Running",
                    "startedAt": "2026-03-02T03:09:30Z",
                    "message": "waiting for healthy state of apps/Deployment/web",
                }
            },
        ),
    )
    assert names(whysync, "--bundle", path) == ["bad", "busy", "fine"]
    assert names(whysync, "--bundle", path, "--broken") == ["bad"]


def test_a_piped_list_cuts_nothing(whysync: Whysync, tmp_path: Path) -> None:
    name = "a-very-long-name-of-an-application-" * 5 + "x"
    path = bundle(tmp_path, application(name, health="Degraded"))
    result = whysync("list", *ALL, "--bundle", path)
    assert name in result.out
    assert "…" not in result.out
