"""What rules ask of a Case, by noun: Pods, references, owners, revisions, quotas."""
