"""A config management plugin failed, or Argo CD cannot find it.

## What happens
A plugin in a sidecar of the repo-server renders the source. The plugin's command failed, the sidecar is not
running, or no plugin's discovery rule matches the source. Nothing can be compared.

## How whysync knows
`plugin sidecar failed`, `could not find cmp-server plugin`, and the last line of the plugin's output. A
command that ended with `signal: killed` most likely exceeded the memory of its container.

## Fix
Correct what the plugin reports; its sidecar's log shows what it printed before. If Argo CD finds no plugin,
compare the name in the Application with the sidecars, and the discovery rules with the source.

## When it is something else
If the error of the tool inside the plugin is recognized (a missing Helm repository, a rejected token), that
cause is reported first.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, rule
from whysync.diagnosis.sentences import one_line
from whysync.messages.patterns.manifests import PluginFailed, VaultRefusal
from whysync.queries.commands import argocd_namespace, comment, hard_refresh, with_comment
from whysync.queries.group_failures import grouped


@rule(cause="plugin", since="0.1")
def config_management_plugin_failed(case: Case) -> Iterator[Finding]:
    for group in grouped(case, PluginFailed, by=lambda failure: (failure.plugin, failure.detail)):
        failure = group.failure
        name = f"plugin {failure.plugin}" if failure.plugin else "the config management plugin"
        yield Finding(
            about=case.application.ref,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=_verdict(name, failure),
            root=one_line(failure.text),
            evidence=group.cited(says="error of the plugin or the repo-server"),
            fixes=tuple(_fixes(case, failure, name)),
        )


def _fixes(case: Case, failure: PluginFailed, name: str) -> Iterator[Fix]:
    namespace = argocd_namespace(case)
    if failure.killed:
        yield _more_memory(case)
    elif failure.unknown:
        yield _install(case, failure.plugin)
    elif failure.vault is not None:
        yield from _vault(case, failure.vault)
    else:
        yield Fix.run(
            with_comment(
                f"kubectl -n {namespace} logs deploy/argocd-repo-server --all-containers --tail=100",
                "what the plugin printed before the error",
            ),
            hard_refresh(case),
            title=f"Correct what {name} reports, then hard refresh",
        )


def _install(case: Case, plugin: str) -> Fix:
    """A plugin is a sidecar with a socket of its name: `metadata.name` of plugin.yaml, and `spec.version`."""
    namespace = argocd_namespace(case)
    containers = (
        f"kubectl -n {namespace} get pods -l app.kubernetes.io/name=argocd-repo-server"
        " -o 'jsonpath={range .items[*]}{.spec.containers[*].name}{\"\\n\"}{end}'"
    )
    return Fix.run(
        with_comment(containers, "is there a sidecar for the plugin?"),
        comment(
            "its name is metadata.name in the sidecar's plugin.yaml, with -VERSION if spec.version is set;"
        ),
        comment("if it has rules in spec.discover, they must match the source"),
        hard_refresh(case),
        title="Install the plugin as a sidecar of the repo-server, or correct plugin.name in the Application"
        if plugin
        else "Install a plugin whose discovery rules match the source, or correct these rules",
    )


def _verdict(name: str, failure: PluginFailed) -> str:
    vault = failure.vault
    if failure.unknown:
        return (
            f"the repo-server has no plugin{f' {failure.plugin}' if failure.plugin else ''} for this source"
        )
    if failure.killed:
        return f"{name} failed: `{failure.killed}` was killed: most likely its container ran out of memory"
    if vault is None:
        return f"{name} failed: {one_line(failure.text)}"
    if vault.mount:
        return f"{vault.server} refuses the login of {name} (auth/{vault.mount}/login): permission denied"
    return f"{vault.server} does not let {name} read {vault.path}: permission denied"


def _more_memory(case: Case) -> Fix:
    """A plugin runs in a sidecar, whose limit is its own."""
    namespace = argocd_namespace(case)
    pods = f"kubectl -n {namespace} get pods -l app.kubernetes.io/name=argocd-repo-server"
    return Fix.run(
        with_comment(f"{pods} -o yaml | grep -B2 -A4 -E 'limits:|OOMKilled'", "the limits of each container"),
        with_comment(
            f"kubectl -n {namespace} set resources deploy/argocd-repo-server -c SIDECAR --limits=memory=SIZE",
            "the container of the plugin",
        ),
        hard_refresh(case),
        title="Increase the memory limit of the plugin's container, then hard refresh",
        risk="the Pods of the repo-server restart, which interrupts renderings in progress",
    )


def _vault(case: Case, vault: VaultRefusal | None) -> Iterator[Fix]:
    """Vault names the request, but not the rule: the role must bind the identity that logs in."""
    if vault is None:
        return
    namespace = argocd_namespace(case)
    account = with_comment(
        f"kubectl -n {namespace} get deploy argocd-repo-server"
        " -o jsonpath='{.spec.template.spec.serviceAccountName}'",
        "the ServiceAccount that logs in",
    )
    if not vault.mount:
        yield Fix.run(
            with_comment(
                "vault policy read POLICY", f"of the plugin's role: it must permit read on {vault.path}"
            ),
            hard_refresh(case),
            title=f"Permit the plugin's role in Vault to read {vault.path}, then hard refresh",
            risk="the permission applies to everything that uses this role",
        )
        return
    is_kubernetes = "kubernetes" in vault.mount
    yield Fix.run(
        *((account,) if is_kubernetes else ()),
        with_comment(
            f"vault read auth/{quote(vault.mount)}/role/ROLE",
            "must have it in bound_service_account_names, its namespace in bound_service_account_namespaces"
            if is_kubernetes
            else "does it exist, and is the plugin's secret id valid?",
        ),
        *(
            (
                with_comment(
                    f"vault read auth/{quote(vault.mount)}/config", "its API server, CA, token reviewer"
                ),
            )
            if is_kubernetes
            else ()
        ),
        hard_refresh(case),
        title="Bind the repo-server's ServiceAccount to the plugin's role in Vault, then hard refresh"
        if is_kubernetes
        else f"Renew the credential with which the plugin logs in to auth/{vault.mount}, then hard refresh",
    )
