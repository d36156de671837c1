"""All settings, with their defaults and reasons. Read once and frozen; nothing else reads the environment."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

from platformdirs import user_cache_path
from pydantic import AfterValidator, AliasChoices, Field
from pydantic_settings import SettingsConfigDict

from infra.keep_days import KeepDays
from infra.settings_engines import EngineSettings

REPOSITORY = Path(__file__).resolve().parent.parent


def _readable(text: str) -> str:
    KeepDays.of(text)
    return text


class Settings(EngineSettings):
    """Environment variables are `SAYCART_` and the field's name in capitals, except for the two URLs."""

    model_config = SettingsConfigDict(
        env_prefix="SAYCART_", frozen=True, use_attribute_docstrings=True, extra="ignore"
    )

    home: Path = REPOSITORY / ".saycart"
    """Everything that a running stack writes: database, recordings, Redis file, logs, pids."""

    models_dir: Path = user_cache_path("saycart") / "models"
    """The folder of weights, shared by all checkouts so that they are fetched once."""

    recordings_url: str = ""
    """Where recordings are stored. Empty: a folder in `home`. `s3://BUCKET/PREFIX`: a bucket, which several
    machines can share; keys and region come from AWS's own variables (`AWS_ACCESS_KEY_ID` and so on). For a
    server other than AWS: `?endpoint=https://...`."""

    database_url: str = Field("", validation_alias=AliasChoices("DATABASE_URL", "database_url"))
    """SQLAlchemy URL. Empty: SQLite (WAL) in `home`. PostgreSQL: `postgresql+psycopg://...`."""

    migrate_at_start: bool = True
    """Update the tables when the API or a command starts. False: run `saycart migrate` first; the parts wait
    a minute for it."""

    redis_url: str = Field("", validation_alias=AliasChoices("REDIS_URL", "redis_url"))
    """Broker. Empty: an embedded redis-server on loopback, started and supervised by saycart."""

    api_host: str = "127.0.0.1"
    """Address that the API listens on, and `metrics_port` if that is set."""

    api_port: int = 8420
    """Port of the API."""

    key: str = ""
    """The API key that commands use. Empty: the one that `saycart run` stores in `home`."""

    page_shop: str = "main"
    """The shop with its order page at `/`. Empty: none; each shop's own is at `/at/PAGE_KEY`."""

    secret: str = ""
    """Signs customers' links and cookies. With several, separated by spaces, the first one signs. Empty: one
    is generated in `home`, which several machines can't share."""

    hosts: str = ""
    """Host names of the API, separated by commas, besides the loopback names, `api_host` and `public_url`'s;
    requests for others are refused (421). `*`: any, which allows DNS rebinding by any web page."""

    public_url: str = ""
    """The address for browsers behind a proxy: `https://order.example`. With https, cookies are Secure, so
    people can only sign in there."""

    proxies: str = ""
    """Addresses and networks of proxies, separated by commas, whose `X-Forwarded-For` and `-Proto` are
    trusted. Empty: none, not even loopback."""

    masked_tasks: str = ""
    """Tasks for `POST /v1/masked/{name}`: `module:attribute`, separated by commas; see docs/masked.md."""

    least_free_bytes: int = Field(500_000_000, ge=0)
    """With less free space for uploads, new recordings are refused (507); orders as text still work. 0: until
    the disk is full."""

    max_audio_s: float = 60.0
    """Longer recordings are refused, and uploads over 250 kB for each of these seconds while they stream in
    (413). From the pages of one address come at most twice as many bytes a minute (429)."""

    asr_threshold: float = 0.72
    """Calibrated ASR confidence below which an order goes to a human."""

    max_order_total: int = 50_000
    """Minor units; a larger order is probably a mistake and goes to a human."""

    stage_lease_s: float = 30.0
    """How long a worker's claim of an order lasts. A live worker renews it; a dead one's order is released
    then."""

    decode_concurrency: int = Field(1, ge=1, le=256)
    """Orders that one worker decodes at once, in threads. Above 1 only helps if the server batches (vLLM)."""

    sweep_s: float = 5.0
    """Interval for finding lost notifications: orders that have waited this long in SQL without a message in
    Redis. They are enqueued again."""

    cancel_completed_s: float = Field(0, ge=0)
    """How long a completed order can be cancelled, unless the shop has taken it (`/taken`). 0: not at all."""

    review_lease_s: float = 300.0
    """How long a claimed review is reserved for its reviewer, and for the customer when staff ask them."""

    client_backlog: int = 100
    """Orders of one key that may wait for workers; more are refused (429). 0: any number."""

    address_backlog: int = 30
    """Orders from pages at one address, by page key, that may wait for workers or a person, half of them from
    one browser; more are refused (429). 0: any number."""

    shop_backlog: int = 500
    """Orders of one shop that may wait for workers, half of them from pages; more are refused (429). 0: any
    number."""

    max_backlog: int = 2000
    """Orders in all that may wait for workers; more are refused (503). 0: any number."""

    model_seconds_per_minute: int = Field(240, ge=0)
    """Seconds that workers may spend in a minute on one key's orders; on a shop's twice as many, half of
    them for pages, and on those from pages at one address an eighth. Until the next minute more are refused
    (429), and those of one address that were accepted wait. 0: any number."""

    key_requests_per_minute: int = Field(1200, ge=0)
    """Requests of one key, or of one signed-in person; of all keys of a shop five times as many. More are
    refused (429). 0: any number."""

    address_requests_per_minute: int = Field(240, ge=0)
    """Requests without a credential from one address (IPv6: a /64): order pages before there is an order, and
    sign-ins. Wrong keys, each page key, and the customers of each order are counted separately. 0: any
    number."""

    shop_menus_per_hour: int = Field(120, ge=0)
    """New menus and menu changes of one shop per hour; more are refused (429), since each must be prepared
    for the model. 0: any number."""

    shop_recording_bytes_per_day: int = Field(10_000_000_000, ge=0)
    """Bytes of recordings per shop and day; more are refused (429), orders as text still work. At most half
    of it from pages, and a twentieth from one address. 0: any number."""

    limits_url: str = ""
    """A Redis, in the form of `REDIS_URL`, in which several API processes share these counts; its user must
    be allowed to run scripts. Empty: each process counts for itself."""

    keep_days: Annotated[str, AfterValidator(_readable)] = "recordings=30, transcripts=90, orders=730"
    """Days that data is kept after an order's end, or `forever`: its recording; its transcript and metadata,
    without the priced lines; the whole order with its history and review. Omitted ones have their defaults;
    `saycart shops set` overrides them for one shop."""

    webhook_endpoints: Literal["off", "public", "private"] = "off"
    """Where shops may have webhook endpoints: `private` includes this machine and private networks. Except
    for `off`, the courier runs."""

    webhook_attempts: int = 24
    """Attempts to deliver a message; after that only `saycart webhooks replay` sends it."""

    webhook_wait_cap_s: float = 3600.0
    """Maximum wait between attempts, even if the receiver asks for a longer one."""

    log_level: str = "INFO"
    """Level of the structured logs."""

    log_json: bool = False
    """Log JSON lines instead of `key=value`, for collectors."""

    traces_url: str = ""
    """A collector's address for OTLP over HTTP (`http://127.0.0.1:4318/v1/traces`); see docs/metrics.md.
    Empty: no traces. `?sample=0.1` sends that share of them."""

    metrics_port: int = Field(0, ge=0, le=65_535)
    """Port on which each worker, sweeper and courier serves Prometheus, on machines without an API. 0: none;
    the API serves the parts of its own machine. Whoever reaches the port (on `api_host`) can read counts and
    times of all shops."""

    @property
    def database(self) -> str:
        return self.database_url or f"sqlite:///{self.home / 'saycart.db'}"

    @property
    def max_upload_bytes(self) -> int:
        """The size of the longest recording as WAV, at more than 48 kHz in stereo."""
        return round(self.max_audio_s * 250_000)

    @property
    def address_seconds_per_minute(self) -> int:
        """The part of `model_seconds_per_minute` for pages at one address, at least 1 unless that is 0."""
        return -(-self.model_seconds_per_minute // 8)

    @property
    def keeps(self) -> KeepDays:
        return KeepDays.of(self.keep_days)

    @property
    def masked_at_once(self) -> int:
        """Concurrent masked calls of one API process; more are refused (503). They share the decode servers
        with orders, so more of them are allowed if those are batched."""
        return max(4, self.decode_concurrency)

    @property
    def blobs(self) -> Path:
        """The folder of recordings; with a bucket, of unfinished uploads only."""
        return self.home / "recordings"


@lru_cache(maxsize=1)
def settings() -> Settings:
    """The process's settings, read once."""
    return Settings()
