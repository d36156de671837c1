"""Train adapters for the recognizers: docs/training.md, "The recognizers' adapters"."""
