"""The composition root: the only module that connects ports to adapters.

Parts are created and imported on first use, so that the API loads no Whisper and a Whisper worker no web
framework.
"""

from __future__ import annotations

import os
from functools import cached_property, partial
from typing import TYPE_CHECKING

import structlog

from infra.blobs.store import Blobs
from infra.observability import tracing
from infra.settings import REPOSITORY, Settings
from infra.sql.database import Database
from schemas.decision import Policy
from schemas.errors import EngineUnavailable
from schemas.menu import Menu
from schemas.shops.access import EVERY_SHOP
from services.engine_parts import EngineParts
from services.readiness import HealthCheck, queue_state, results
from services.recordings import delete_unused, local_recording, store_of
from services.settings_checks import check_addresses
from services.storage.audit.log import AuditLog
from services.storage.orders.load import LoadStore
from services.storage.orders.store import OrderStore
from services.storage.orders.watched import WatchedStore
from services.storage.outbox.endpoints import EndpointStore
from services.storage.outbox.store import Outbox
from services.storage.people.api_keys import KeyStore
from services.storage.people.provider_accounts import ProviderAccounts
from services.storage.people.second_step import SecondSteps
from services.storage.people.sessions import SessionStore
from services.storage.people.sign_in import SignIns
from services.storage.people.staff import StaffStore
from services.storage.reviews.store import ReviewStore
from services.storage.shops.menus import MenuStore
from services.storage.shops.store import ShopStore
from services.transcription.ports import Recording

if TYPE_CHECKING:
    import threading

    from infra.oidc import Provider
    from services.decoding.tasks import MaskedTasks
    from services.doorbell import Doorbell
    from services.pipeline.stages import Tools

log = structlog.get_logger()
# Menus that a worker warms before it serves, the most recently used first.
WARM_MENUS = 8

SAMPLE = REPOSITORY / "infra" / "samples" / "recordings" / "hc-01.flac"
READY_PROBE_S = 2.0
"""How long `/readyz` waits for the decode server to prove its mask; a busy one counts as ready."""


class Container(EngineParts):
    """One process's parts, built from its settings. The engines are in `EngineParts`."""

    def __init__(self, settings: Settings) -> None:
        check_addresses(settings)
        tracing.check(settings)
        self.settings = settings
        settings.home.mkdir(parents=True, exist_ok=True)
        self.database = Database(settings.database)
        # For all shops; callers get a `ShopScope`.
        page_s = settings.address_seconds_per_minute
        self.orders = OrderStore(self.database, EVERY_SHOP, page_s=page_s)
        self.reviews = ReviewStore(self.database, EVERY_SHOP)
        self.outbox = Outbox(self.database)
        self.load = LoadStore(self.database)
        self.menus = MenuStore(self.database, EVERY_SHOP)
        self.shops = ShopStore(self.database)
        self.keys = KeyStore(self.database)
        self.endpoints = EndpointStore(self.database, EVERY_SHOP, settings.webhook_endpoints)
        self.audit = AuditLog(self.database)
        self.staff = StaffStore(self.database)
        self.sign_ins = SignIns(self.database, but_bound=bool(settings.oidc and settings.oidc.only))
        self.provider_accounts = ProviderAccounts(self.database)
        self.sessions = SessionStore(self.database)
        self.second_steps = SecondSteps(self.database)
        self.watched = WatchedStore(self.database)

    @cached_property
    def blobs(self) -> Blobs:
        return store_of(self.settings)

    @cached_property
    def signing_keys(self) -> list[str]:
        """The secrets of customers' links; the last one signs. Raises as `signing_keys`."""
        from infra.secret import signing_keys

        return signing_keys(self.settings.secret, self.settings.home)

    @cached_property
    def provider(self) -> Provider | None:
        """The OpenID Connect provider for staff; None if none is configured."""
        if self.settings.oidc is None:
            return None
        from infra.oidc import Provider

        return Provider(self.settings.oidc, self.settings.oidc_client_secret)

    @cached_property
    def doorbell(self) -> Doorbell:
        from infra.redis.broker import make_celery
        from services.doorbell import Doorbell

        return Doorbell(make_celery(self.settings.redis_url))

    @cached_property
    def tools(self) -> Tools:
        from services.pipeline.stages import Tools
        from services.transcription.confidence import agreement

        return Tools(
            times_asked_again=self.orders.times_asked_again,
            transcriber=lambda: self.transcriber,
            decoder=lambda: self.decoder,
            menu=lambda shop, menu_id, version: self.menus.of(shop).get(menu_id, version),
            recording=partial(local_recording, self.blobs),
            compact=self._compact,
            drop_recording=partial(delete_unused, self.blobs),
            decode_audio=self.decode_audio,
            second_transcriber=lambda: self.second_transcriber,
            agreement=agreement,
            policy=self.policy,
            accepts=lambda shop: self.shops.get(shop).accepts,
        )

    @property
    def policy(self) -> Policy:
        """The limits for accepting an order without a person, of every shop."""
        limits = self.settings
        return Policy(asr_threshold=limits.asr_threshold, max_total=limits.max_order_total)

    def _compact(self, recording: Recording) -> str | None:
        from services.transcription.audio.compact import compact

        return compact(self.blobs, recording)

    def load_recognizers(self) -> None:
        """Load both recognizers and warm them with a sample recording: a first pass takes a second longer.

        Raises:
            EngineMisconfigured: as `Transcriber.load`, for the first one; orders can do without the second.
        """
        self.transcriber.load()
        sample = Recording(SAMPLE, self.decode_audio)
        try:
            for recognizer in (self.transcriber, self.second_transcriber):
                if recognizer is not None:
                    recognizer.transcribe_fitted(sample, "en")
                    recognizer.transcribe(sample, "en")
                    recognizer.transcribe_denoised(sample, "en")
        except Exception:
            log.warning("transcribe.not_warmed", exc_info=True)

    def wanted_menus(self) -> list[tuple[Menu, int]]:
        """Return the most recently used menus with their newest versions."""
        return [(stored.menu, stored.version) for stored in self.menus.recently_used(WARM_MENUS)]

    def warm_menu(self, menu: Menu, called_off: threading.Event | None = None) -> None:
        """Cache the menu's part of the prompt in the decoder; raises as `CartDecoder.warm`."""
        self.decoder.warm(menu, called_off)

    @cached_property
    def masked(self) -> MaskedTasks:
        """The tasks of `POST /v1/masked/{name}`; raises as `registered`."""
        from services.decoding.tasks import MaskedTasks, registered

        return MaskedTasks(registered(self.settings.masked_tasks), lambda: self.decoder)

    def prove_decoder(self) -> None:
        """Check that the decode server applies the mask. One that is down is only logged: it is checked
        again when it is back.

        Raises:
            EngineMisconfigured: it doesn't apply it.
        """
        try:
            self.decoder.verify()
        except EngineUnavailable as error:
            log.warning("decoder.not_proved", error=error.detail)

    def ready(self) -> dict[str, str]:
        """Return the state of each dependency: `ok` or a problem. The database is checked now; queue and
        decoder in the background, since their timeouts are long."""
        return {"database": self._database_check(), **results(self._background_checks)}

    @cached_property
    def _background_checks(self) -> dict[str, HealthCheck]:
        return {
            "queue": HealthCheck(lambda: queue_state(self.settings.redis_url)),
            "decoder": HealthCheck(self._decoder_check),
        }

    def _database_check(self) -> str:
        try:
            self.database.ping()
        except Exception:
            # Drivers' messages name hosts and users, and `/readyz` is open to anyone.
            log.warning("ready.database_away", exc_info=True)
            return "no answer"
        return "ok"

    def _decoder_check(self) -> str:
        if not self.settings.llm_url:
            return "no decode server is set (SAYCART_LLM_URL)"
        return self.decoder.status(READY_PROBE_S)

    def close(self) -> None:
        self.database.close()


def bootstrap(settings: Settings) -> Container:
    """Return the container of a process, and make its files private to its user. Cheap: engines and
    connections are created on first use."""
    os.umask(0o077)
    return Container(settings)
