"""`/v1/keys`: keys of the caller's shop, for its administrators.

The same acts as `saycart keys`, with the same entries in the audit log; what may be handed on is bounded:
`services/storage/people/key_grants.py`.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Response

from schemas.key import Key, KeyMade, KeyPage, NewKey
from schemas.shops.endpoint import Rotation
from services.api.deps import Cursor, Limit
from services.api.gate.access import Administers
from services.api.gate.bodies import body
from services.api.problems import CONFLICT
from services.storage.people.api_keys import ApiKey

router = APIRouter(prefix="/v1/keys", tags=["keys"])


@router.get("", response_model=KeyPage)
def page(box: Administers, cursor: Cursor = None, limit: Limit = 50) -> KeyPage:
    """Every key of the shop, oldest first; never a secret."""
    found = box.keys.list(limit=limit + 1, after=cursor)
    shown = found[:limit]
    more = shown[-1].cursor if len(found) > limit else None
    return KeyPage(keys=[_shown(key) for key in shown], next_cursor=more)


@router.post("", status_code=201, response_model=KeyMade)
def make(box: Administers, wanted: Annotated[NewKey, Depends(body(NewKey))], answer: Response) -> KeyMade:
    """Make a key; its secret is in this answer alone.

    It may hold what an admin of the shop may, and act only for the person whom the caller's key acts
    for; it ends no later than the caller's.
    """
    made, token = box.keys.add(
        box.shop,
        wanted.name,
        wanted.scopes,
        by=box.by,
        person=wanted.person,
        lasts_s=wanted.lasts_s,
        grant=box.keys.grant(box.access),
    )
    return _made(made, token, answer)


@router.post("/{key_id}/rotate", response_model=KeyMade, responses=CONFLICT)
def rotate(
    key_id: str, box: Administers, wanted: Annotated[Rotation, Depends(body(Rotation))], answer: Response
) -> KeyMade:
    """A new key like an old one, within the same bounds; the old one ends after the overlap."""
    grant = box.keys.grant(box.access)
    made, token = box.keys.rotate(key_id, wanted.overlap_s, by=box.by, grant=grant)
    return _made(made, token, answer)


@router.post("/{key_id}/revoke", response_model=Key)
def revoke(key_id: str, box: Administers) -> Key:
    """End a key with its next request; twice is the same as once."""
    return _shown(box.keys.revoke(key_id, by=box.by))


def _made(key: ApiKey, token: str, answer: Response) -> KeyMade:
    answer.headers["Cache-Control"] = "no-store"
    return KeyMade(**_shown(key).model_dump(), key=token)


def _shown(key: ApiKey) -> Key:
    return Key(
        id=key.id,
        prefix=key.id if key.is_page else f"saycart_{key.id}",
        name=key.name,
        scopes=sorted(key.scopes),
        page=key.is_page,
        person=key.person,
        created_at=key.created_at,
        expires_at=key.expires_at,
        revoked_at=key.revoked_at,
        last_used_at=key.last_used_at,
    )
