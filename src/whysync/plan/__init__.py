"""`whysync plan`: what a commit would do, simulated by syncing it to models of a cluster."""
