"""Confidence by field: hearings kept once, labels, the fit of the shipped table, and what each lever gives."""
