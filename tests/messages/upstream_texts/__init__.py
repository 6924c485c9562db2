"""Error texts of Argo CD, Git, Helm, Kustomize, registries and plugins, as an Application reports them.

The shapes are those that the programs can produce; names and values are invented. Each group has the wrapper
that Argo CD puts around the texts, and each text the causes that an expert accepts as the first one.
"""

from __future__ import annotations

from tests.messages.upstream_texts import (
    api_server,
    application_sets,
    bare_tools,
    cluster_cache,
    comparison,
    git,
    helm,
    kubelet_events,
    kustomize,
    logins,
    logs,
    oci,
    operations,
    own_logs,
    plugins,
    repo_server,
    unwrapped,
)
from tests.messages.upstream_texts.group import Group

GROUPS: tuple[Group, ...] = (
    *api_server.GROUPS,
    *application_sets.GROUPS,
    *bare_tools.GROUPS,
    *cluster_cache.GROUPS,
    *comparison.GROUPS,
    *git.GROUPS,
    *helm.GROUPS,
    *kubelet_events.GROUPS,
    *kustomize.GROUPS,
    *logins.GROUPS,
    *logs.GROUPS,
    *oci.GROUPS,
    *operations.GROUPS,
    *own_logs.GROUPS,
    *plugins.GROUPS,
    *repo_server.GROUPS,
    *unwrapped.GROUPS,
)
