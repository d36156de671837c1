"""Confidence by field: hearings kept once, labels, and the fit of the shipped table."""
