"""Compares as Argo CD does: acts on facts, or on a cluster, by what `semantics/` decides."""
