"""An automated Application without a retry policy.

## Why
Argo CD retries a failed automated sync five times within about two and a half minutes. If the cluster or a
webhook is unavailable for longer, that commit is never retried. With `limit: 0` there is no retry.

## Bad
```yaml
syncPolicy:
  automated: {}
```

## Good
```yaml
syncPolicy:
  automated: {}
  retry:
    limit: 10
    backoff: {duration: 10s, factor: 2, maxDuration: 10m}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.rule import Layer, rule
from whysync.json_tree import dig
from whysync.manifests.files import finding
from whysync.manifests.tree import Tree


@rule(layer=Layer.ARGOCD, severity=Severity.WARNING, cause="autosync-given-up", since="0.1")
def app_without_retry(tree: Tree) -> Iterator[Finding]:
    for app in tree.app_specs:
        automated = dig(app.spec, "syncPolicy", "automated")
        if not isinstance(automated, dict) or automated.get("enabled") is False:
            continue
        retry = dig(app.spec, "syncPolicy", "retry")
        if not isinstance(retry, dict):
            yield finding(
                app.item,
                "no retry policy: a sync that fails for more than a few minutes is not retried",
                field=f"{app.at}/syncPolicy",
                hint="set syncPolicy.retry",
                severity=Severity.INFO,
            )
        elif retry.get("limit") == 0:
            yield finding(
                app.item,
                "retry.limit is 0: a failed automated sync is not retried",
                field=f"{app.at}/syncPolicy/retry/limit",
            )
