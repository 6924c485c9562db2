"""A chart that this chart depends on cannot be found or fetched.

## What happens
`helm dependency build` runs before rendering. It fails when `Chart.lock` and `Chart.yaml` disagree,
when a dependency is not in `charts/`, when its repository is not known to Argo CD, or when that
version is not there. Nothing can be compared.

## How whysync knows
Helm's own words: `found in Chart.yaml, but missing in charts/ directory`, `no repository definition
for`, `could not download`, `chart … not found`.

## Fix
Run `helm dependency update`, commit `Chart.lock` (and `charts/` if you vendor them); add the
chart's repository to Argo CD where it needs credentials. Where the repository does not answer, Git
is not wrong: wait for it, then refresh hard.

## When it is something else
The registry rejects the login: repo-auth. A certificate is not trusted: tls-trust. The chart is
there and does not render: helm-render.
"""

import re
from collections.abc import Iterator
from shlex import quote

from whysync.argocd.api.application import Source
from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, rule
from whysync.diagnosis.sentences import one_line
from whysync.messages.patterns.helm import HelmDependency
from whysync.queries.commands import hard_refresh, with_comment
from whysync.queries.group_failures import grouped
from whysync.queries.sources import failing_source

# The repository is known, and does not answer: another Chart.lock would not change that.
_AWAY = re.compile(
    r"\b50[0234] |timeout|timed out|connection refused|no such host|connection reset", re.IGNORECASE
)


@rule(cause="helm-dependency", since="0.1")
def helm_dependency_missing(case: Case) -> Iterator[Finding]:
    for group in grouped(case, HelmDependency, by=lambda f: (f.chart, f.repo, f.version)):
        failure = group.failure
        source = failing_source(case, group.message)
        name = " ".join(part for part in (failure.chart, failure.version) if part)
        place = f" from {failure.repo}" if failure.repo else ""
        yield Finding(
            about=case.application.ref,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"Helm cannot get {f'the dependency {name}' if name else 'a dependency'}{place}"
            + (f": {one_line(failure.detail)}" if failure.detail else ""),
            root=one_line(failure.detail) or None,
            evidence=group.cited(says="Helm's own words"),
            fixes=tuple(_fixes(case, failure, source)),
        )


def _fixes(case: Case, failure: HelmDependency, source: Source | None) -> Iterator[Fix]:
    folder = quote(source.path) if source and source.path else "CHART_FOLDER"
    repo = quote(failure.repo) if failure.repo else "URL"
    if _AWAY.search(failure.detail):
        yield Fix.run(
            with_comment(f"curl -sSI {repo}/index.yaml", "does the chart repository answer?"),
            hard_refresh(case),
            title="Nothing is wrong in Git: when the chart repository answers again, refresh hard",
        )
        return
    yield Fix.run(
        f"cd {folder} && helm dependency update && git add Chart.lock",
        "git commit -m 'Update chart dependencies' && git push",
        hard_refresh(case),
        title="Update the chart's dependencies and commit Chart.lock, then refresh hard",
    )
    yield Fix.run(
        f"argocd repo add {repo} --type helm --name NAME   # --username, --password if it is private",
        hard_refresh(case),
        title="Tell Argo CD the chart's repository",
    )
