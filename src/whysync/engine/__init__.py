"""Compares as Argo CD does: acts on facts, or on a cluster, by what `semantics/` decides.

`compare.compare(Inputs) -> Comparison` is the comparison of one Application; the types are in `comparison`.
`live` says which live objects it looks at, `scopes` which kinds live in namespaces, `ignored` what ignore
rules took out. `judging.judged` tells the health of a single object. Nothing is imported here, so that a
verb loads no more than it needs.
"""
