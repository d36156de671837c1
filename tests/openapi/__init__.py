"""schemathesis over the OpenAPI document, with keys, against an API process; a short form runs in CI."""

OTHER = "other"
"""A second shop."""
SECRET = "zanzibar"
"""A word in each of its orders and its menus' names."""
