"""Admission: webhooks, policies, quotas, limit ranges, Pod Security, namespace lifecycle."""
