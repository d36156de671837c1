"""Every setting, its default and its reason. Read once, frozen; nothing else reads the environment."""

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
    """Environment variables are `SAYCART_` and the field's name in capitals, but for the two URLs."""

    model_config = SettingsConfigDict(
        env_prefix="SAYCART_", frozen=True, use_attribute_docstrings=True, extra="ignore"
    )

    home: Path = REPOSITORY / ".saycart"
    """Everything that a running stack writes: database, recordings, Redis file, logs, pids."""

    models_dir: Path = user_cache_path("saycart") / "models"
    """Where weights are kept; shared by every checkout, so that they are fetched once."""

    recordings_url: str = ""
    """Where recordings are kept. Empty: a folder in `home`. `s3://BUCKET/PREFIX`: a bucket, which several
    machines can share; keys and region come from AWS's own variables (`AWS_ACCESS_KEY_ID` and so on). Another
    server than AWS's: `?endpoint=https://...`."""

    database_url: str = Field("", validation_alias=AliasChoices("DATABASE_URL", "database_url"))
    """SQLAlchemy URL. Empty: SQLite (WAL) in `home`. PostgreSQL: `postgresql+psycopg://...`."""

    migrate_at_start: bool = True
    """The API and commands bring the tables up to date when they start. False: `saycart migrate` does, run
    once before the rest; parts wait for it a minute."""

    redis_url: str = Field("", validation_alias=AliasChoices("REDIS_URL", "redis_url"))
    """Broker. Empty: the embedded redis-server, started and supervised by us on loopback."""

    api_host: str = "127.0.0.1"
    """Address that the API listens on, and `metrics_port` where that is set."""

    api_port: int = 8420
    """Port of the API."""

    key: str = ""
    """The key that commands show to the API. Empty: the one that `saycart run` keeps in `home`."""

    page_shop: str = "main"
    """The shop whose order page stands at `/`. Empty: none; each shop's own is at `/at/PAGE_KEY`."""

    secret: str = ""
    """Signs customers' links and cookies; of several, spaces between, the first signs. Empty: one is made and
    kept in `home`, which several machines can't share."""

    hosts: str = ""
    """Names that the API goes by, a comma list, besides the loopback names, `api_host` and `public_url`'s; a
    request for another is refused (421). `*`: any, and then any web page can read here (DNS rebinding)."""

    public_url: str = ""
    """The address that browsers know, where a proxy is in front: `https://order.example`. With https cookies
    are Secure, so sign-ins work there alone."""

    proxies: str = ""
    """Addresses and networks of proxies, a comma list: their `X-Forwarded-For` and `-Proto` are believed.
    Empty: none, not even loopback's."""

    masked_tasks: str = ""
    """Tasks that `POST /v1/masked/{name}` answers, a comma list of `module:attribute`; see docs/masked.md."""

    least_free_bytes: int = Field(500_000_000, ge=0)
    """Below so much free space where uploads are written, new recordings are refused (507); orders as text go
    on. 0: until the disk is full."""

    max_audio_s: float = 60.0
    """Longer recordings are refused, and uploads over 250 kB for each of these seconds while they stream in
    (413). From the pages of one address come at most twice as many bytes a minute (429)."""

    asr_threshold: float = 0.72
    """Calibrated ASR confidence under which a human looks at the order."""

    max_order_total: int = 50_000
    """Minor units; a dearer order is taken for a mistake and shown to a human."""

    stage_lease_s: float = 30.0
    """How long a claim lasts. A live worker renews it; a dead one's order is free after it."""

    decode_concurrency: int = Field(1, ge=1, le=256)
    """Orders that one worker decodes at once, in threads. Over 1 it pays where the server batches (vLLM)."""

    sweep_s: float = 5.0
    """How often lost doorbells are looked for: orders that wait in SQL, untouched for so long, and have no
    message in Redis. They are enqueued again."""

    cancel_completed_s: float = Field(0, ge=0)
    """How long a completed order can be cancelled, until the shop has taken it (`/taken`). 0: not at all."""

    review_lease_s: float = 300.0
    """How long a claimed review is held for its reviewer, and for its customer when staff ask them."""

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
    """Seconds that workers may spend in a minute on one key's orders, on a shop's twice as many, on those
    from pages at one address an eighth; until the next minute more are refused (429). 0: any number. Those of
    one address that are accepted wait for the next minute after 30 in any case."""

    key_requests_per_minute: int = Field(1200, ge=0)
    """Requests of one key, or of one person who is signed in; more are refused (429). 0: any number."""

    shop_requests_per_minute: int = Field(6000, ge=0)
    """As `key_requests_per_minute`, of all keys of a shop together."""

    address_requests_per_minute: int = Field(240, ge=0)
    """Requests from one address (IPv6: a /64) that show no credential: order pages before there is an order,
    sign-ins. Wrong keys, and each page key, are counted apart. 0: any number."""

    order_requests_per_minute: int = Field(240, ge=0)
    """Requests of an order's customers, about that order, wherever they come from. 0: any number."""

    shop_menus_per_hour: int = Field(120, ge=0)
    """New menus and changes of menus of one shop in an hour; more are refused (429), since each is new to the
    model. 0: any number."""

    shop_recording_bytes_per_day: int = Field(10_000_000_000, ge=0)
    """Bytes of recordings that one shop takes in a day; more are refused (429), orders as text go on. Half of
    it at most from pages, a twentieth from one address. 0: any number."""

    limits_url: str = ""
    """A Redis, named as in `REDIS_URL`, in which several API processes count these limits together; its user
    must be let run scripts. Empty: each process counts for itself."""

    keep_days: Annotated[str, AfterValidator(_readable)] = "recordings=30, transcripts=90, orders=730"
    """Days after an order's end, or `forever`, that these are kept: its recording; what its customer said and
    its metadata, while the priced lines stay; the whole order with its history and review. What is left out
    has its default; `saycart shops set` says otherwise for one shop."""

    webhook_endpoints: Literal["off", "public", "private"] = "off"
    """Whether shops may have webhook endpoints, and where: `private` is also this machine and private
    networks. Runs the courier for them."""

    webhook_attempts: int = 24
    """Tries of one message before it is dead and `saycart webhooks replay` is needed."""

    webhook_wait_cap_s: float = 3600.0
    """No wait is longer, even if the receiver asks for it."""

    log_level: str = "INFO"
    """Of the structured logs."""

    log_json: bool = False
    """JSON lines rather than `key=value`, for collectors."""

    traces_url: str = ""
    """A collector's address for OTLP over HTTP (`http://127.0.0.1:4318/v1/traces`); see docs/metrics.md.
    Empty: nothing is traced. `?sample=0.1` sends that share of traces."""

    metrics_port: int = Field(0, ge=0, le=65_535)
    """Where each worker, sweeper and courier answers Prometheus by itself, on machines without an API. 0:
    nowhere; the API shows the parts of its own machine. Clients that reach the port (on `api_host`) read
    counts and times of all shops."""

    @property
    def database(self) -> str:
        return self.database_url or f"sqlite:///{self.home / 'saycart.db'}"

    @property
    def max_upload_bytes(self) -> int:
        """The longest recording as WAV, at more than 48 kHz in stereo."""
        return round(self.max_audio_s * 250_000)

    @property
    def keeps(self) -> KeepDays:
        return KeepDays.of(self.keep_days)

    @property
    def masked_at_once(self) -> int:
        """Masked calls that one API process may have in hand; more are refused (503). They share the decode
        servers with orders: where these are batched, so are they."""
        return max(4, self.decode_concurrency)

    @property
    def blobs(self) -> Path:
        """The folder of recordings; with a bucket, that of unfinished ones alone."""
        return self.home / "recordings"


@lru_cache(maxsize=1)
def settings() -> Settings:
    """The process's settings, read once."""
    return Settings()
