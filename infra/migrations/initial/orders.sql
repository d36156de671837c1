-- Orders with their history, reviews and messages. One statement per paragraph.

CREATE TABLE orders (
    id VARCHAR NOT NULL,
    shop_id VARCHAR NOT NULL,
    state VARCHAR NOT NULL,
    version INTEGER NOT NULL,
    menu_id VARCHAR NOT NULL,
    menu_version INTEGER NOT NULL,
    language VARCHAR NOT NULL,
    audio_key VARCHAR,
    audio_format VARCHAR,
    transcript JSON,
    utterances JSON NOT NULL DEFAULT '[]',
    draft JSON,
    cart JSON,
    before JSON,
    findings JSON NOT NULL,
    reasons JSON NOT NULL,
    answer JSON,
    decision JSON,
    error JSON,
    metadata JSON,
    timings JSON NOT NULL,
    engine JSON NOT NULL,
    attempt INTEGER NOT NULL,
    lease_owner VARCHAR,
    lease_until {time},
    claimed_at {time},
    next_attempt_at {time},
    created_at {time} NOT NULL,
    updated_at {time} NOT NULL,
    confirm BOOLEAN NOT NULL,
    client VARCHAR,
    source VARCHAR,
    taken_at {time},
    erased_at {time},
    traceparent VARCHAR,
    PRIMARY KEY (id),
    FOREIGN KEY (shop_id) REFERENCES shops (id)
);

-- Claims and heartbeats change no indexed column, so PostgreSQL updates the row in its page (HOT).
CREATE INDEX ix_orders_left
    ON orders (updated_at)
    WHERE state NOT IN ('received', 'transcribed', 'decoded');

CREATE INDEX ix_orders_listing ON orders (created_at, id);

CREATE INDEX ix_orders_may_go_on
    ON orders (state, updated_at)
    WHERE state IN ('proposed', 'in_review', 'failed');

CREATE INDEX ix_orders_shop_listing ON orders (shop_id, created_at, id);

CREATE INDEX ix_orders_status_listing ON orders (shop_id, state, created_at, id);

CREATE INDEX ix_orders_waiting
    ON orders (updated_at, id)
    WHERE state IN ('received', 'transcribed', 'decoded');

CREATE INDEX ix_orders_waiting_clients
    ON orders (shop_id, client, state)
    WHERE state IN ('received', 'transcribed', 'decoded');

-- Orders that retention has still to process.
CREATE INDEX ix_orders_with_recording
    ON orders (shop_id, updated_at)
    WHERE audio_key IS NOT NULL AND state IN ('completed', 'rejected', 'failed', 'cancelled');

CREATE INDEX ix_orders_with_words
    ON orders (shop_id, updated_at)
    WHERE erased_at IS NULL AND state IN ('completed', 'rejected', 'failed', 'cancelled');

CREATE TABLE order_events (
    order_id VARCHAR NOT NULL,
    seq INTEGER NOT NULL,
    at {time} NOT NULL,
    type VARCHAR NOT NULL,
    state VARCHAR NOT NULL,
    detail JSON NOT NULL,
    PRIMARY KEY (order_id, seq),
    FOREIGN KEY (order_id) REFERENCES orders (id) ON DELETE CASCADE
);

CREATE TABLE reviews (
    id VARCHAR NOT NULL,
    shop_id VARCHAR NOT NULL,
    order_id VARCHAR NOT NULL,
    status VARCHAR NOT NULL,
    reasons JSON NOT NULL,
    version INTEGER NOT NULL,
    claimed_by VARCHAR,
    lease_until {time},
    decision VARCHAR,
    decided_by VARCHAR,
    decided_at {time},
    reason VARCHAR,
    proposed JSON,
    created_at {time} NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY (shop_id) REFERENCES shops (id),
    FOREIGN KEY (order_id) REFERENCES orders (id) ON DELETE CASCADE
);

CREATE UNIQUE INDEX ix_reviews_order ON reviews (order_id);

CREATE INDEX ix_reviews_undecided
    ON reviews (shop_id, created_at, id)
    WHERE status IN ('open', 'claimed');

CREATE TABLE review_records (
    id VARCHAR NOT NULL,
    review_id VARCHAR NOT NULL,
    at {time} NOT NULL,
    actor VARCHAR NOT NULL,
    action VARCHAR NOT NULL,
    decision VARCHAR,
    before JSON,
    after JSON,
    reason VARCHAR,
    PRIMARY KEY (id),
    FOREIGN KEY (review_id) REFERENCES reviews (id) ON DELETE CASCADE
);

CREATE INDEX ix_review_records_decided ON review_records (at) WHERE action = 'decided';

CREATE INDEX ix_review_records_review ON review_records (review_id, at, id);

CREATE TABLE idempotency (
    shop_id VARCHAR NOT NULL,
    client VARCHAR NOT NULL,
    key VARCHAR NOT NULL,
    body_hash VARCHAR NOT NULL,
    order_id VARCHAR NOT NULL,
    created_at {time} NOT NULL,
    PRIMARY KEY (shop_id, client, key),
    FOREIGN KEY (shop_id) REFERENCES shops (id),
    FOREIGN KEY (order_id) REFERENCES orders (id) ON DELETE CASCADE
);

CREATE INDEX ix_idempotency_age ON idempotency (created_at);

CREATE INDEX ix_idempotency_order ON idempotency (order_id);

CREATE TABLE outbox (
    id VARCHAR NOT NULL,
    order_id VARCHAR NOT NULL,
    seq INTEGER NOT NULL,
    type VARCHAR NOT NULL,
    payload JSON NOT NULL,
    version INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    last_error VARCHAR,
    created_at {time} NOT NULL,
    delivered_at {time},
    dead_at {time},
    due_at {time},
    endpoint_id VARCHAR NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY (order_id) REFERENCES orders (id) ON DELETE CASCADE
);

CREATE INDEX ix_outbox_dead ON outbox (created_at, id) WHERE dead_at IS NOT NULL;

CREATE INDEX ix_outbox_delivered ON outbox (delivered_at) WHERE delivered_at IS NOT NULL;

-- Partial, since only a few messages are open.
CREATE INDEX ix_outbox_endpoint_due
    ON outbox (endpoint_id, due_at, id)
    WHERE delivered_at IS NULL AND dead_at IS NULL;

CREATE INDEX ix_outbox_first
    ON outbox (order_id, endpoint_id, seq)
    WHERE coalesce(delivered_at, dead_at) IS NULL;

CREATE UNIQUE INDEX ix_outbox_place ON outbox (order_id, endpoint_id, seq);

CREATE INDEX ix_outbox_waiting
    ON outbox (created_at, id)
    WHERE delivered_at IS NULL AND dead_at IS NULL;

-- Clocks by which waiting orders take turns; a shop's own clock has an empty source.
CREATE TABLE turns (
    shop_id VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    begun FLOAT NOT NULL,
    spent FLOAT NOT NULL,
    at {time} NOT NULL,
    minute INTEGER NOT NULL,
    used FLOAT NOT NULL,
    PRIMARY KEY (shop_id, source),
    FOREIGN KEY (shop_id) REFERENCES shops (id)
);

CREATE INDEX ix_turns_shops ON turns (begun) WHERE source = '';

-- For the seconds of work in the last minute, which the API looks up for each order.
CREATE INDEX ix_turns_at ON turns (at);
