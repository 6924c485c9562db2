"""Turn a Fix, which is data, into text that can be applied, and apply it to a Case."""
