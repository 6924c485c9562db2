"""Prometheus alerting rules for Argo CD, each with a runbook."""
