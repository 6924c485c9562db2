"""Sync failures: an object was rejected, a hook failed, or the sync never finished."""
