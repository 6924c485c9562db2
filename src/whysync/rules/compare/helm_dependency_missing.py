"""Helm cannot find or download a dependency of the chart.

## What happens
`helm dependency build` runs before rendering. It fails if `Chart.lock` and `Chart.yaml` disagree, a
dependency is not in `charts/`, Helm does not know its repository, or the version does not exist. Nothing
can be compared. Argo CD adds the repositories that `dependencies` of `Chart.yaml` names by an `https` URL,
registered or not; a registration only adds the credentials, and the URL of an `@name`.

## How whysync knows
Helm's error: `found in Chart.yaml, but missing in charts/ directory`, `no repository definition
for`, `could not download`, `chart … not found`.

## Fix
Run `helm dependency update` and commit `Chart.lock` (and `charts/` if you vendor dependencies). Add the
chart's repository to Argo CD if it needs credentials. If Helm has no definition of a URL, commit `charts/`,
or declare the dependency in `Chart.yaml`: `requirements.yaml` is not read for repositories. If the repository
does not answer, nothing is wrong in Git: wait, then hard refresh.

## When it is something else
If the registry rejects the credentials: repo-auth. If a certificate is not trusted: tls-trust. If the chart
does not render: helm-render.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.argocd.api.application import Source
from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, rule
from whysync.diagnosis.sentences import one_line
from whysync.messages.patterns.helm import HelmDependency
from whysync.queries.commands import comment, hard_refresh, with_comment
from whysync.queries.group_failures import grouped
from whysync.queries.sources import failing_source


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
            verdict=f"Helm cannot resolve {f'the dependency {name}' if name else 'a dependency'}{place}"
            + (f": {one_line(failure.detail)}" if failure.detail else ""),
            root=one_line(failure.detail) or None,
            evidence=group.cited(says="Helm's error"),
            fixes=tuple(_fixes(case, failure, source)),
        )


def _fixes(case: Case, failure: HelmDependency, source: Source | None) -> Iterator[Fix]:
    folder = quote(source.path) if source and source.path else "CHART_FOLDER"
    repo = quote(failure.repo) if failure.repo else "URL"
    if failure.repo_is_unavailable:
        yield Fix.run(
            with_comment(f"curl -sSI {repo}/index.yaml", "does the chart repository answer?"),
            hard_refresh(case),
            title="Hard refresh when the chart repository answers again: nothing is wrong in Git",
        )
        return
    if failure.repo_is_unknown:
        yield from _repository_is_unknown(case, failure, folder)
        return
    update = Fix.run(
        f"helm dependency update {folder}",
        f"git add {folder}/{failure.lock_file}",
        "git commit -m 'Update chart dependencies' && git push",
        hard_refresh(case),
        title=f"Update the chart's dependencies and commit {failure.lock_file}, then hard refresh",
    )
    if failure.lock_is_stale:
        yield update
        return
    register = Fix.run(
        with_comment(f"argocd repo add {repo} --type helm --name NAME", "with --username and --password"),
        hard_refresh(case),
        title=f"If the repository {failure.repo or 'of the dependency'} is private: add its credentials to"
        " Argo CD, then hard refresh",
    )
    yield from (update, register)


def _repository_is_unknown(case: Case, failure: HelmDependency, folder: str) -> Iterator[Fix]:
    """`helm dependency build` downloads what the lock file names, only from repositories that Helm knows.

    A new lock file names the same repository and does not help; a chart in `charts/` is not downloaded.
    Mirrors `getHelmRepos`, Argo CD 3.6: it adds the repositories of `Chart.yaml`, an `https` URL also if it
    is not registered, a name only if a repository is registered under it.
    """
    alias = failure.repo_alias
    repo = quote(failure.repo) if failure.repo and not alias else "URL"
    name = quote(alias) if alias else "NAME"
    if alias:
        yield Fix.run(
            with_comment(
                f"argocd repo add {repo} --type helm --name {name}", "--username, --password if it is private"
            ),
            hard_refresh(case),
            title=f"Add the Helm repository under the name {alias} to Argo CD, then hard refresh",
        )
    yield Fix.run(
        with_comment(f"helm repo add {name} {repo}", "on your machine"),
        f"helm dependency build {folder}",
        with_comment(f"git add {folder}/charts", "the downloaded charts; remove charts/ from .gitignore"),
        "git commit -m 'Vendor chart dependencies' && git push",
        hard_refresh(case),
        title=f"{'Or commit' if alias else 'Commit'} the dependency to charts/, so that Argo CD does not"
        " download it",
    )
    if not alias:
        yield _declared_for_argocd(case, failure, folder)


def _declared_for_argocd(case: Case, failure: HelmDependency, folder: str) -> Fix:
    what = failure.repo.rstrip(".") or "the repository"
    return Fix.run(
        with_comment(
            f"grep -n -A4 -e apiVersion -e dependencies {folder}/Chart.yaml",
            f"is {what} in dependencies, by its https URL?",
        ),
        comment("if it is in requirements.yaml: move dependencies to Chart.yaml with apiVersion: v2, and"),
        comment(
            "delete requirements.yaml and requirements.lock; if a plugin runs Helm: helm repo add in its init"
        ),
        f"helm dependency update {folder}",
        f"git add {folder}",
        "git commit -m 'Declare chart dependencies in Chart.yaml' && git push",
        hard_refresh(case),
        title="Or declare the dependency in Chart.yaml, by its https URL: Argo CD adds only these"
        " repositories, and argocd repo add does not add others",
    )
