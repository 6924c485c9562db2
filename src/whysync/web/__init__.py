"""The web page, the read API and the metrics of `whysync serve`. Nothing here writes to a cluster."""
