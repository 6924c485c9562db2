"""Until an app is where it should be, or it is clear that it does not get there."""
