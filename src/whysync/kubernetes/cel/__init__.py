"""The Common Expression Language, as CRD rules and admission policies use it."""
