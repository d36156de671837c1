"""The only room where ports meet adapters. Everything is made on first use, and imported then, so that
the API needs no Whisper and a Whisper worker no web framework."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import structlog

from infra.blobs import Blobs
from infra.database import Database
from infra.notices import Notices, notices
from infra.settings import REPOSITORY, Settings, addresses
from schemas.errors import Conflict, EngineUnavailable, InputError, SaycartError, TooMuchToRead
from schemas.menu import Menu
from schemas.question import CustomerAnswer
from schemas.review import ReviewDecision
from schemas.webhook import types_named
from services.engines.ports import Recording, Transcriber
from services.pipeline.ports import Doorbell, Tools
from services.storage.load import LoadStore
from services.storage.menus import MenuStore
from services.storage.orders import OrderStore
from services.storage.outbox import Outbox
from services.storage.records import OrderRecord, Outcome, ReviewRecord
from services.storage.review_log import ReviewLog
from services.storage.reviews import ReviewStore
from services.storage.staff import StaffStore
from services.storage.tallies import TallyStore
from services.storage.watched import CHANNEL, WatchedStore

if TYPE_CHECKING:
    import threading
    from pathlib import Path

    from infra.webhooks import Signer
    from services.engines.audio import Samples
    from services.engines.kept import Kept
    from services.engines.servers import Servers

log = structlog.get_logger()

SAMPLE = REPOSITORY / "infra" / "samples" / "recordings" / "hc-01.flac"
READY_PROBE_S = 2.0
"""How long `/readyz` waits for a decode server's proof; one that is only busy counts as ready."""


class Container:
    """One process's parts, wired from settings."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        settings.home.mkdir(parents=True, exist_ok=True)
        self.database = Database(settings.database)
        # Who moves orders checks the secret too: messages that nobody could sign would only pile up.
        tells = types_named(settings.webhook_events) if webhook_signer(settings) else frozenset[str]()
        self.orders = OrderStore(self.database, tells)
        self.reviews = ReviewStore(self.database, tells)
        self.outbox = Outbox(self.database)
        self.load = LoadStore(self.database)
        self.tallies = TallyStore(self.database)
        self.review_log = ReviewLog(self.database)
        self.menus = MenuStore(self.database)
        self.staff = StaffStore(self.database)
        self.watched = WatchedStore(self.database)

    @cached_property
    def blobs(self) -> Blobs:
        return Blobs(self.settings.blobs)

    @cached_property
    def notices(self) -> Notices:
        return notices(self.database.url, CHANNEL)

    @cached_property
    def doorbell(self) -> Doorbell:
        from infra.broker import make_celery
        from services.doorbell import CeleryDoorbell

        return CeleryDoorbell(make_celery(self.settings.redis_url))

    @cached_property
    def transcriber(self) -> Transcriber:
        return self._transcriber(self.settings.whisper_model)

    @cached_property
    def second_transcriber(self) -> Transcriber | None:
        name = self.settings.whisper_second
        return self._transcriber(name) if name else None

    def _transcriber(self, name: str) -> Transcriber:
        from infra.models import resolve
        from services.engines.whisper import WhisperTranscriber

        config = self.settings
        return WhisperTranscriber(
            resolve(name, config.models_dir),
            name=name,
            device=config.whisper_device,
            threads=config.whisper_threads,
        )

    def decode_audio(self, file: Path) -> Samples:
        """Samples of a stored recording; raises as `services.engines.audio.read`."""
        from services.engines.audio import DecodeLimits, read

        config = self.settings
        limits = DecodeLimits(
            max_audio_s=config.max_audio_s,
            max_bytes=config.max_upload_bytes,
            memory_bytes=config.decode_child_memory,
            child_s=config.decode_child_s,
        )
        return read(file, limits)

    @cached_property
    def decoder(self) -> Servers:
        return self._decoder(self.settings.llm_url, self.settings.llm_dialect)

    @cached_property
    def fallback_decoder(self) -> Servers | None:
        if not self.settings.fallback_llm_url:
            return None
        return self._decoder(self.settings.fallback_llm_url, self.settings.fallback_llm_dialect)

    def _decoder(self, urls: str, dialect: str) -> Servers:
        from services.engines.decoder import OpenAIDecoder
        from services.engines.servers import Servers

        config = self.settings
        if not urls:
            raise EngineUnavailable(
                "No decode server is set",
                hint="`saycart run` starts the embedded one; or set SAYCART_LLM_URL.",
            )
        decoders = [
            OpenAIDecoder(
                url,
                dialect=dialect,
                model=config.llm_model,
                timeout_s=config.llm_timeout_s,
                api_key=config.llm_api_key,
                score=config.score_drafts,
                adapter=self._adapter.name if self._adapter else "",
            )
            for url in addresses(urls)
        ]
        # A quarter: with the full time of a second server it stays under the stage's limit.
        return Servers(decoders, patience_s=config.llm_timeout_s / 4)

    @cached_property
    def _adapter(self) -> Path | None:
        """The learned reader for the model that is set; None where there is none, or it is off."""
        from services.engines.adapters import made_for

        return made_for(self.settings.llm_model) if self.settings.reader != "off" else None

    @cached_property
    def tools(self) -> Tools:
        from services.engines.confidence import agreement

        return Tools(
            transcriber=lambda: self.transcriber,
            decoder=lambda: self.decoder,
            fallback_decoder=lambda: self.fallback_decoder,
            menu=self.menus.get,
            recording=self.blobs.path,
            decode_audio=self.decode_audio,
            second_transcriber=lambda: self.second_transcriber,
            agreement=agreement,
            asr_threshold=self.settings.asr_threshold,
            field_threshold=self.settings.field_threshold,
            max_order_total=self.settings.max_order_total,
            skip_settled=self.settings.skip_settled,
            check_settled=self.settings.check_settled,
            reader=self.settings.reader if self._adapter else "off",
        )

    def keep(self, folder: Path) -> tuple[Tools, Kept]:
        """`tools` whose hearings and carts are kept in `folder`, and what counts them. For measurements."""
        from services.engines.adapters import release
        from services.engines.kept import Kept, KeptDecoder, KeptEars

        kept, config = Kept(folder), self.settings
        model = f"{config.llm_dialect}:{config.llm_model}"
        reader = release(self._adapter) if self._adapter else ""
        device = config.whisper_device

        def second() -> Transcriber | None:
            ears = self.second_transcriber
            return KeptEars(ears, f"{config.whisper_second}/{device}", kept) if ears else None

        tools = replace(
            self.tools,
            transcriber=lambda: KeptEars(self.transcriber, f"{config.whisper_model}/{device}", kept),
            second_transcriber=second,
            decoder=lambda: KeptDecoder(self.decoder, model, kept, reader),
        )
        return tools, kept

    def load_hearing(self) -> None:
        """Load both recognisers, and have each hear a shipped sample: the first time takes a second longer.

        Raises:
            EngineMisconfigured: as `Transcriber.load`, of the first one; an order can do without the second.
        """
        self.transcriber.load()
        sample = Recording(SAMPLE, self.decode_audio)
        try:
            self.transcriber.transcribe(sample, "en")
            if self.second_transcriber is not None:
                self.second_transcriber.transcribe(sample, "en")
        except Exception:
            log.warning("transcribe.not_warmed", exc_info=True)

    def wanted_menus(self) -> list[tuple[Menu, int]]:
        """The menus that were ordered from last, with their newest versions."""
        found = self.menus.lately_used(self.settings.warm_menus)
        return [(stored.menu, stored.version) for stored in found]

    def read_menus(self) -> None:
        """Read a sentence against each wanted menu once, so that their words and the tables that every order
        needs are at hand; a database that is away is only logged."""
        from services.pipeline import fields
        from services.pipeline.retrieve import retrieve

        fields.models()
        try:
            for menu, version in self.wanted_menus():
                try:
                    retrieve("hello", menu, version)
                except TooMuchToRead as error:  # stored by an older release; the others are read all the same
                    log.warning("menus.not_read", menu=menu.id, error=error.detail)
        except SaycartError as error:
            log.warning("menus.not_read", error=error.detail)

    def check_menu(self, menu: Menu, version: int) -> None:
        """Compile the menu's grammar and fold its names before it serves.

        Raises:
            InvalidMenu: the grammar does not compile, or the names take more than the work budget.
        """
        from services.engines.grammar import check_menu
        from services.pipeline.reading import check_names

        check_names(menu)
        check_menu(menu)
        log.info("menu.grammar_compiled", menu=menu.id, version=version)

    def warm_menu(self, menu: Menu, version: int, called_off: threading.Event | None = None) -> None:
        """Put the menu's part of the prompt into the decode server's cache; raises as `CartDecoder.warm`."""
        from services.pipeline.retrieve import retrieve

        self.decoder.warm(retrieve("hello", menu, version), called_off)

    def prove_decoder(self) -> None:
        """See that the decode servers apply the mask, before the first order. One that is away is only
        logged: it has to pass when it is back.

        Raises:
            EngineMisconfigured: none of them applies it.
        """
        try:
            self.decoder.prove()
        except EngineUnavailable as error:
            log.warning("decoder.not_proved", error=error.detail)

    def settle_review(self, order: OrderRecord, decision: ReviewDecision) -> Outcome:
        """What a reviewer's decision makes of the order; raises InvalidCart."""
        from services.pipeline.review import settle

        return settle(order, decision, self.menus.get(order.menu_id, order.menu_version))

    def answer_order(self, order_id: str, answer: CustomerAnswer) -> OrderRecord:
        """Settle an order by the customer's answer to its one question.

        Raises:
            NotFound, Conflict, InvalidCart, StaleState: as the order store's `answer` and `settle_by_answer`.
        """
        from services.pipeline.review import settle_by_answer

        order = self.orders.get(order_id)
        menu = self.menus.get(order.menu_id, order.menu_version)
        answered = self.orders.answer(order, settle_by_answer(order, answer, menu))
        log.info("order.answered", order_id=order_id, question=answer.question, answer=answer.answer)
        return answered

    def decide_review(self, review_id: str, decision: ReviewDecision) -> ReviewRecord:
        """Settle a review, or let the decision stand for a second person; the review as it is then.

        Raises:
            NotFound, Conflict, InvalidCart, StaleState: as the review store's `decide` and `settle_review`.
        """
        review = self.reviews.get(review_id)
        if review.version != decision.version:
            # Before the cart is looked at: a cart against an old reading is not worth complaining about.
            raise Conflict(f"The review is at version {review.version}, not {decision.version}")
        decided, order = self.reviews.decide(
            review_id,
            reviewer=decision.reviewer,
            version=decision.version,
            action=decision.action,
            reason=decision.reason,
            outcome=self.settle_review(self.orders.get(review.order_id), decision),
            second_above=self.settings.second_review_above,
        )
        name = "review.decided" if decided.status == "decided" else "review.awaits_second"
        log.info(name, order_id=order.id, review_id=review_id, action=decision.action)
        return decided

    def cart_schema(self, menu_id: str | None) -> dict[str, Any]:
        """The published JSON Schema; with a menu, closed to its newest version. Raises NotFound."""
        from services.engines.json_schema import cart_schema

        if menu_id is None:
            return cart_schema()
        stored = self.menus.get(menu_id)
        return cart_schema(stored.menu, stored.version)

    def ready(self) -> dict[str, str]:
        """Each thing that orders lean on: `ok`, or what is wrong with it."""
        checks = {
            "database": self._database_check,
            "queue": self._queue_check,
            "decoder": self._decoder_check,
        }
        return {name: check() for name, check in checks.items()}

    def _database_check(self) -> str:
        try:
            self.database.ping()
        except Exception:
            # Drivers name hosts and users in their words; `/readyz` is open to anyone.
            log.warning("ready.database_away", exc_info=True)
            return "no answer"
        return "ok"

    def _queue_check(self) -> str:
        import redis

        try:
            with redis.Redis.from_url(self.settings.redis_url, socket_timeout=1.0) as client:
                client.ping()
        except (redis.RedisError, ValueError):
            log.warning("ready.queue_away", exc_info=True)
            return "no answer"
        return "ok"

    def _decoder_check(self) -> str:
        if not self.settings.llm_url:
            return "no decode server is set (SAYCART_LLM_URL)"
        return self.decoder.state(READY_PROBE_S)

    def close(self) -> None:
        self.database.close()


def webhook_signer(settings: Settings) -> Signer | None:
    """What signs messages to the shop's system; None when none are sent.

    Raises:
        InputError: there is a URL, and it or the secret can't be used.
    """
    if not settings.webhook_url:
        return None
    from infra.webhooks import Signer

    if not settings.webhook_url.startswith(("https://", "http://")):
        raise InputError("SAYCART_WEBHOOK_URL is no http address", hint="It begins with https:// or http://.")
    try:
        return Signer(settings.webhook_secret)
    except ValueError as error:
        raise InputError(
            f"SAYCART_WEBHOOK_URL is set and SAYCART_WEBHOOK_SECRET can't be used: {error}",
            hint='Make one with: echo "whsec_$(openssl rand -base64 32)", and give the receiver the same.',
        ) from None


def bootstrap(settings: Settings) -> Container:
    """Wire a process. Cheap: engines and connections are made when first used."""
    return Container(settings)
