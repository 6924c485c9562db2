"""Notifications about incidents: from the outbox of the history to webhooks, Slack and Alertmanager."""
