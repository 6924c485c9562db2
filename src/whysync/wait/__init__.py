"""`whysync wait`: wait until an app is Synced and Healthy, or until it is clear that it will not be."""
