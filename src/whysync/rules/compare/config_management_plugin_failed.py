"""A config management plugin failed, or Argo CD cannot find it.

## What happens
A plugin in a sidecar of the repo-server renders the source. The plugin's command failed, the sidecar is not
running, or no plugin's discovery rule matches the source. Nothing can be compared.

## How whysync knows
`plugin sidecar failed`, `could not find cmp-server plugin`, and the last line of the plugin's output.

## Fix
Read the sidecar's log, check the plugin's name and its discovery rules, and run its command in the sidecar.

## When it is something else
If the error of the tool inside the plugin is recognized (a missing Helm repository, a rejected token), that
cause is reported first.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, rule
from whysync.diagnosis.sentences import one_line
from whysync.messages.patterns.manifests import PluginFailed
from whysync.queries.commands import argocd_namespace, hard_refresh
from whysync.queries.group_failures import grouped


@rule(cause="plugin", since="0.1")
def config_management_plugin_failed(case: Case) -> Iterator[Finding]:
    for group in grouped(case, PluginFailed, by=lambda failure: (failure.plugin, failure.detail)):
        failure = group.failure
        name = f"plugin {failure.plugin}" if failure.plugin else "the config management plugin"
        namespace = argocd_namespace(case)
        yield Finding(
            about=case.application.ref,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"{name} failed: {one_line(failure.text)}",
            root=one_line(failure.text),
            evidence=group.cited(says="error of the plugin or the repo-server"),
            fixes=(
                Fix.run(
                    f"kubectl -n {namespace} get pods -l app.kubernetes.io/name=argocd-repo-server",
                    f"kubectl -n {namespace} logs deploy/argocd-repo-server --all-containers --tail=100",
                    hard_refresh(case),
                    title=f"Find the failing step of {name} in its sidecar's log, fix it, then hard refresh",
                ),
            ),
        )
