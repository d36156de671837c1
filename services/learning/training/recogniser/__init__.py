"""Training an adapter for the recogniser: docs/training.md, "The recogniser's adapter"."""
