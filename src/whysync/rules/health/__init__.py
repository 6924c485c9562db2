"""Health problems: the resources are applied, but not Healthy."""
