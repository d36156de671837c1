"""Errors of signing in through an identity provider. `schemas/errors` has the rest of the tree.

SaycartError
├── InputError
│   ├── NotBegunHere                the answer doesn't belong to a sign-in from this browser
│   └── NotLetIn                    the provider refused the person, or sent claims we can't accept
└── ProviderAway                    it doesn't respond: worth a retry
"""

from __future__ import annotations

from schemas.errors import InputError, SaycartError


class NotBegunHere(InputError):
    code = "not_begun_here"
    hint = "Start again on the sign-in page. Each sign-in works once, in the browser where it started."


class NotLetIn(InputError):
    code = "not_let_in"
    hint = "Ask your saycart administrator; the audit log and the logs say why."


class ProviderAway(SaycartError):
    code = "provider_away"
    retryable = True
    hint = "Try again in a minute, or sign in with name and password if you have one."
    wait_s = 5.0
