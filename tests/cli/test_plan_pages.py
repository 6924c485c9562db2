"""A plan as a page and as a picture: goldens, well-formed, nothing in it but text, never too large."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.cli.running import Whysync
from tests.golden import Golden
from tests.plan.shop import DEPLOYMENT, HOOK, HPA, SECRET, Shop
from tests.situations import ROOT
from whysync.diagnosis.report import Reason, ReasonKind, Safety, SyncSafety
from whysync.facts.snapshot import Gap, GapKind
from whysync.kubernetes.api.ref import Ref
from whysync.plan.plan import AppPlan, Change, ChangeKind, Item, Plan, PlannedCluster, Run, State, Step
from whysync.reports import plan_html, plan_markdown, plan_svg, plan_text
from whysync.reports.annotations import github, junit
from whysync.reports.annotations.plan_rows import app_rows, run_rows
from whysync.reports.output import Safe
from whysync.reports.terminal import Terminal

NO_CHART = Gap(kind=GapKind.NOT_RENDERED, what="its manifests", why="no chart")
HERE = ROOT / "tests/reports/plan"


def junit_text(plan: Plan) -> Safe:
    return junit.render("whysync plan", run_rows(plan), empty="nothing changes")


FORMATS = {"html": plan_html.render, "svg": plan_svg.render, "junit": junit_text}
EVIL = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</style><svg onload=alert(1)>",
    "]]>&lt;<!--",
    "javascript:alert(1)",
    "a\x00b\x1b[31m\u202e\ud800\ufffe",
    "日本語" * 40,
    "x" * 5_000,
)


def planned(name: str = "shop", *, resources: int = 1, waves: int = 1, apps: int = 1) -> Plan:
    """One that fails, with this name wherever there can be one."""
    refs = [
        Ref(kind="ConfigMap", namespace=name, name=f"{name}{number or ''}") for number in range(resources)
    ]
    steps = tuple(
        Step(
            phase="Sync",
            wave=wave,
            items=tuple(
                Item(ref=ref, state=State.FAILED if not number else State.NOT_REACHED, note=name, hook=True)
                for number, ref in enumerate(refs)
            ),
            began=0.0,
            ended=601.0,
        )
        for wave in range(waves)
    )
    run = Run(
        cluster=PlannedCluster.EMPTY, passed=False, message=name, seconds=601, steps=steps, notes=(name,)
    )
    changes = tuple(Change(sort=ChangeKind.PRUNE, ref=ref, risk=name, origin=name) for ref in refs)
    app = AppPlan(name=f"argocd/{name}", file=name, runs=(run,), changes=changes, notes=(name,))
    return Plan(base=name, head=name, apps=(app,) * apps, untouched=(name,), notes=(name,))


class TestGoldens:
    @pytest.fixture
    def shop(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
        repo = Shop(tmp_path / "shop", base={"secret.yaml": SECRET})
        monkeypatch.chdir(repo.folder)
        repo.put("hook.yaml", f"{HOOK}---\n{HPA}")
        repo.put("deployment.yaml", DEPLOYMENT.replace("shop:1.0", "shop:1.1"))
        repo.remove("secret.yaml")
        return repo

    @pytest.mark.usefixtures("shop")
    def test_a_shop(self, whysync: Whysync, golden: Golden, tmp_path: Path) -> None:
        """Files and standard output have the same bytes each time."""
        names = ("html", "svg", "junit", "github")
        files = [f"-o{format}={tmp_path / 'out' / format}" for format in names]
        result = whysync("plan", "apps/shop", "--base", "main", *files)
        assert (result.code, result.out, result.err) == (1, "", "")
        written = {format: (tmp_path / "out" / format).read_text(encoding="utf-8") for format in names}
        for format in ("svg", "junit", "github"):
            golden(HERE / f"shop.{format}", written[format])
        assert whysync("plan", "apps/shop", "--base", "main", "-o", "html").out == written["html"]
        _assert_page_is_complete(written["html"])

    def test_a_page(self, golden: Golden) -> None:
        """Without a diagnosis, whose words are those of the rules."""
        golden(HERE / "page.html", plan_html.render(planned("shop", resources=3, waves=2)))

    def test_the_guide_shows_the_drawing(self) -> None:
        shown = (ROOT / "docs/examples/plan.svg").read_text()
        assert shown == (HERE / "shop.svg").read_text(), "copy tests/reports/plan/shop.svg there"

    @pytest.mark.usefixtures("shop")
    def test_the_guide_shows_the_text(self, whysync: Whysync, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COLUMNS", "100")
        overview = whysync("plan", "apps/shop", "--base", "main").out.partition("\n\n  Job ")[0]
        assert (
            f"$ whysync plan apps/shop --base main\n{overview}\n```"
            in (ROOT / "docs/planning.md").read_text()
        )


class TestHostileNames:
    @pytest.mark.parametrize("format", FORMATS)
    @pytest.mark.parametrize("name", EVIL, ids=range(len(EVIL)))
    def test_text_is_never_markup(self, format: str, name: str) -> None:
        """The elements of the page are the same for every name."""
        page = ElementTree.fromstring(FORMATS[format](planned(name)).encode("utf-8"))
        usual = ElementTree.fromstring(FORMATS[format](planned("shop")))
        assert _shape(page) <= _shape(usual)

    @pytest.mark.parametrize("format", FORMATS)
    @given(name=st.text(min_size=1, max_size=60))
    @example(name="\r\x85\u2028")
    def test_any_text(self, format: str, name: str) -> None:
        page = FORMATS[format](planned(name))
        assert _shape(ElementTree.fromstring(page)) <= _shape(
            ElementTree.fromstring(FORMATS[format](planned("shop")))
        )

    @given(name=st.text(min_size=1, max_size=60))
    @example(name="x\n::set-output name=a::b")
    def test_no_command_of_github_is_smuggled_in(self, name: str) -> None:
        lines = github.render(app_rows(planned(name))).split("\n")
        assert [line.startswith("::error ") for line in lines] == [True, False]

    def test_the_page_loads_no_external_resource(self) -> None:
        page = plan_html.render(planned("http://evil.example/x.png"))
        assert "default-src 'none'" in page.replace("&#x27;", "'")
        assert not re.search(r"<(script|link|iframe|img|object|embed|form|base)\b", page)
        assert not re.search(r"\bon[a-z]+=|url\(|@import", page)
        assert not [url for url in re.findall(r'(?:href|src)="([^"]*)"', page) if not url.startswith("#")]


class TestSize:
    @pytest.mark.parametrize(("resources", "waves", "apps"), [(2_000, 1, 1), (100, 300, 1), (60, 40, 500)])
    def test_it_is_bounded(self, resources: int, waves: int, apps: int) -> None:
        plan = planned("a-name-of-usual-length-", resources=resources, waves=waves, apps=apps)
        page, picture = plan_html.render(plan), plan_svg.render(plan)
        assert len(page) < 2 * plan_html.LARGEST
        assert len(picture) < 2_500_000
        ElementTree.fromstring(page)
        ElementTree.fromstring(picture)

    def test_what_fails_is_drawn_among_thousands(self) -> None:
        items = [Item(ref=Ref(kind="Job", name=f"j{n}"), state=State.DONE) for n in range(2_000)]
        items[1_999] = Item(ref=Ref(kind="Job", name="the-one"), state=State.FAILED, note="boom")
        step = Step(phase="Sync", wave=0, items=tuple(items), began=0.0, ended=9.0)
        run = Run(cluster=PlannedCluster.LIVE, passed=False, message="boom", seconds=9, steps=(step,))
        plan = Plan(base="a", head="b", apps=(AppPlan(name="argocd/a", file="", runs=(run,)),))
        for text in (plan_html.render(plan), plan_svg.render(plan)):
            assert "the-one" in text
            assert "and 1,976 more" in text


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        (Plan(base="a", head="b", apps=()), "Nothing changes"),
        (Plan(base="a", head="b", apps=(AppPlan(name="argocd/a", file="", unseen=(NO_CHART,)),)), "Unknown"),
    ],
)
def test_without_a_run(plan: Plan, expected: str) -> None:
    for render in (plan_html.render, plan_svg.render):
        text = render(plan)
        ElementTree.fromstring(text)
        assert expected in text
    ElementTree.fromstring(junit_text(plan))


def _shape(root: ElementTree.Element) -> set[tuple[str, frozenset[str]]]:
    return {(element.tag, frozenset(element.attrib)) for element in root.iter()}


def _assert_page_is_complete(page: str) -> None:
    flat = " ".join("".join(ElementTree.fromstring(page).itertext()).split())
    assert page.index("Would fail") < page.index("<main>"), "the verdict comes first"
    for phrase in (
        "needs Service shop, which is created only later",
        "waits for Service/shop … deadline 600 s",
        "would fail after 10 min 1 s",
        "would pass in 16 s",
        "the sync ends here, after 10 min 1 s",
        "HorizontalPodAutoscaler shop: not reached",
        "Secret old-token (pruned! its data is deleted with it)",
        "not safe to merge",
        "Run the hook after the sync: as a PostSync hook ✓ proven",
        "+ argocd.argoproj.io/hook: PostSync",
    ):
        assert phrase in flat, phrase


def test_what_fails_is_not_called_safe_to_merge() -> None:
    """No data is lost, but the change must not be merged."""
    lost = Safety(
        sync=SyncSafety.SAFE, reasons=(Reason(kind=ReasonKind.DELETES, text="it deletes ConfigMap shop/old"),)
    )
    for passed, expected in ((True, "safe to merge"), (False, "safe otherwise")):
        run = Run(cluster=PlannedCluster.BASE, passed=passed, message="" if passed else "boom", seconds=9)
        app = AppPlan(name="argocd/a", file="", runs=(run,), safety=lost)
        plan = Plan(base="a", head="b", apps=(app,))
        assert expected in plan_html.render(plan)
        assert expected in plan_text.render(plan, Terminal(width=100))
        assert f"**{expected.capitalize()}**" in plan_markdown.render(plan)
