"""Prometheus rules for Argo CD, each with a runbook that whysync writes."""
