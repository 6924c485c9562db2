"""What a commit would do, before it is merged: its sync, run on models of a cluster."""
