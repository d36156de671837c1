"""The mask by hand: what a constrained decoder does, in code to be read beside docs/masking.md.

Read in this order: `steps` (what is done to logits), `masks` (what a mask is, and from bytes to tokens),
`regex` and `automaton` (a regular expression), `json_machine` (a small JSON Schema), `library` (llguidance
behind the same interface), `decode` (the loop).
"""
