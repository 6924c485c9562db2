"""Turns a Fix, which is data, into text that can be applied; and applies it to a Case."""
