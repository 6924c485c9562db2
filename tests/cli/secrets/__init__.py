"""Canaries: a unique secret value in every place that masking covers, looked for in every output."""
