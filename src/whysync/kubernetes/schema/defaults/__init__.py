"""Fill in what the API server would fill in.

Mirrors the defaulting functions of Kubernetes 1.36 that Argo CD 3.6 compiles in (`legacyscheme`). It runs
them on both sides of a comparison, so a field that Git leaves out, or that an ignore rule took away, shows
its default.

`with_defaults(obj, type)` walks a type once to find out where in it defaults exist, and then touches
nothing else. Differs: requests of a bare Pod are not summed up into pod-level requests.
"""

from __future__ import annotations

from whysync.kubernetes.schema.defaults.walk import with_defaults

__all__ = ["with_defaults"]
