"""`/v1/webhooks`: where the caller's shop is told of its orders (docs/webhooks.md)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Response

from schemas.shops.endpoint import (
    Endpoint,
    NewWebhook,
    Rotation,
    Webhook,
    WebhookChange,
    WebhookList,
    WebhookMade,
    WebhookRemoved,
    WebhookTest,
)
from services.api.gate.access import SetsWebhooks
from services.api.gate.bodies import body
from services.api.problems import CONFLICT

router = APIRouter(prefix="/v1/webhooks", tags=["webhooks"])


@router.get("", response_model=WebhookList)
def all_of_them(box: SetsWebhooks) -> WebhookList:
    """The shop's endpoints, oldest first; never a secret."""
    return WebhookList(webhooks=[_shown(one) for one in box.endpoints.list()])


@router.post("", status_code=201, response_model=WebhookMade, responses=CONFLICT)
def make(
    box: SetsWebhooks, wanted: Annotated[NewWebhook, Depends(body(NewWebhook))], answer: Response
) -> WebhookMade:
    """Make an endpoint; its secret is in this answer alone. From now on the shop is told there, and no more
    at the deployment's own URL."""
    made, secret = box.endpoints.add(box.shop, wanted.url, wanted.events, enabled=wanted.enabled, by=box.by)
    return _made(made, secret, answer)


@router.get("/{webhook_id}", response_model=Webhook)
def one(webhook_id: str, box: SetsWebhooks) -> Webhook:
    """One endpoint, with what waits for it and how its last test message went."""
    return _shown(box.endpoints.get(webhook_id))


@router.patch("/{webhook_id}", response_model=Webhook, responses=CONFLICT)
def change(
    webhook_id: str, box: SetsWebhooks, wanted: Annotated[WebhookChange, Depends(body(WebhookChange))]
) -> Webhook:
    """Change what is named. A disabled endpoint is told nothing new, and what waits for it stays."""
    named = wanted.model_dump(include=wanted.model_fields_set)
    return _shown(box.endpoints.change(webhook_id, named, by=box.by))


@router.post("/{webhook_id}/rotate", response_model=WebhookMade)
def rotate(
    webhook_id: str,
    box: SetsWebhooks,
    wanted: Annotated[Rotation, Depends(body(Rotation))],
    answer: Response,
) -> WebhookMade:
    """A new secret, in this answer alone; until the overlap is over each message is signed under both."""
    changed, secret = box.endpoints.rotate(webhook_id, wanted.overlap_s, by=box.by)
    return _made(changed, secret, answer)


@router.post("/{webhook_id}/test", status_code=202, response_model=Webhook, responses=CONFLICT)
def test(webhook_id: str, box: SetsWebhooks) -> Webhook:
    """Have a message of type `webhook.test` sent, once; ask for the endpoint to see how it went."""
    return _shown(box.endpoints.ask_test(webhook_id, by=box.by))


@router.delete("/{webhook_id}", response_model=WebhookRemoved)
def remove(webhook_id: str, box: SetsWebhooks) -> WebhookRemoved:
    """Remove an endpoint; what waits for it is dropped."""
    return WebhookRemoved(id=webhook_id, withdrawn=box.endpoints.remove(webhook_id, by=box.by))


def _made(one: Endpoint, secret: str, answer: Response) -> WebhookMade:
    answer.headers["Cache-Control"] = "no-store"
    return WebhookMade(**_shown(one).model_dump(), secret=secret)


def _shown(one: Endpoint) -> Webhook:
    test = None
    if one.test_asked_at is not None:
        test = WebhookTest(asked_at=one.test_asked_at, sent_at=one.test_sent_at, error=one.test_error)
    return Webhook(
        id=one.id,
        url=one.url,
        events=None if one.events is None else list(one.events),
        enabled=one.disabled_at is None,
        created_at=one.created_at,
        old_secret_until=one.old_secret_until,
        waiting=one.waiting,
        dead=one.dead,
        test=test,
    )
