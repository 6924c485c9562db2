"""Apache Solr. Nothing in its status could make it Degraded."""

from __future__ import annotations

from whysync.argocd.health.shipped.vocabulary import (
    Check,
    absent,
    each,
    healthy,
    in_order,
    none_of,
    progressing,
    true,
    when,
)

GROUP = "solr.apache.org"
CHECKS: dict[str, Check] = {
    "SolrCloud": in_order(
        when(absent(".status?.solrNodes"), then=progressing("Waiting for solr to exist")),
        each(
            ".status.solrNodes",
            when(none_of(true("ready")), then=progressing("Not all replicas are ready")),
        ),
        healthy("Solr is ready"),
    ),
}
