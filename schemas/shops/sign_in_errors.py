"""What may go wrong between a person, saycart and the provider that they sign in by. `errors.py` has the rest
of the tree.

    SaycartError
    ├── InputError
    │   ├── NotBegunHere                the answer belongs to no sign-in that this browser has begun
    │   └── NotLetIn                    the provider, or what it says of the person, lets nobody in
    └── ProviderAway                    it does not answer: worth another try
"""

from __future__ import annotations

from schemas.errors import InputError, SaycartError


class NotBegunHere(InputError):
    code = "not_begun_here"
    hint = "Begin again on the sign-in page. Each sign-in works once, and in the browser where it was begun."


class NotLetIn(InputError):
    code = "not_let_in"
    hint = "Tell whoever runs saycart; the audit log and the logs say more."


class ProviderAway(SaycartError):
    code = "provider_away"
    retryable = True
    hint = "Try again in a minute, or sign in with name and password if you have one here."
    wait_s = 5.0
