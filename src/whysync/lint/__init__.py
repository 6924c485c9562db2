"""`whysync lint`: run the rules that files can feed, without a cluster."""
