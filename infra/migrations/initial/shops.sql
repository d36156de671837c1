-- Shops with their menus, people, keys, endpoints and audit log. One statement per paragraph.
-- JSON rather than JSONB, which doesn't keep the order of keys: a menu's prices are in the order of its sizes.

CREATE TABLE shops (
    id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    created_at {time} NOT NULL,
    keep_recordings_days INTEGER,
    keep_transcripts_days INTEGER,
    keep_orders_days INTEGER,
    needs_second_step BOOLEAN NOT NULL,
    accepts_at_once BOOLEAN NOT NULL DEFAULT false,
    accepts_allergies BOOLEAN NOT NULL DEFAULT false,
    colour VARCHAR,
    logo VARCHAR,
    PRIMARY KEY (id)
);

INSERT INTO shops (id, name, created_at, needs_second_step)
    VALUES ('main', 'Main shop', CURRENT_TIMESTAMP, false);

CREATE TABLE menus (
    shop_id VARCHAR NOT NULL,
    id VARCHAR NOT NULL,
    version INTEGER NOT NULL,
    digest VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    document JSON NOT NULL,
    created_at {time} NOT NULL,
    currency VARCHAR NOT NULL,
    language VARCHAR NOT NULL,
    items INTEGER NOT NULL,
    sold_out INTEGER NOT NULL,
    PRIMARY KEY (shop_id, id, version),
    FOREIGN KEY (shop_id) REFERENCES shops (id)
);

-- All columns of a header, so that listing menus doesn't read documents.
CREATE INDEX ix_menus_header
    ON menus (shop_id, id, version, digest, name, currency, language, items, sold_out, created_at);

CREATE TABLE staff (
    id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    password_hash VARCHAR NOT NULL,
    created_at {time} NOT NULL,
    disabled_at {time},
    shop_id VARCHAR NOT NULL,
    role VARCHAR NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY (shop_id) REFERENCES shops (id)
);

CREATE UNIQUE INDEX ix_staff_name ON staff (name);

CREATE TABLE staff_sessions (
    token_hash VARCHAR NOT NULL,
    id VARCHAR NOT NULL,
    staff_id VARCHAR NOT NULL,
    used_at {time} NOT NULL,
    expires_at {time} NOT NULL,
    id_token VARCHAR,
    PRIMARY KEY (token_hash),
    FOREIGN KEY (staff_id) REFERENCES staff (id)
);

CREATE INDEX ix_staff_sessions_staff ON staff_sessions (staff_id);

CREATE TABLE staff_challenges (
    token_hash VARCHAR NOT NULL,
    staff_id VARCHAR NOT NULL,
    expires_at {time} NOT NULL,
    PRIMARY KEY (token_hash),
    FOREIGN KEY (staff_id) REFERENCES staff (id)
);

CREATE INDEX ix_staff_challenges_staff ON staff_challenges (staff_id);

CREATE TABLE staff_totp (
    staff_id VARCHAR NOT NULL,
    secret VARCHAR NOT NULL,
    begun_by VARCHAR NOT NULL,
    confirmed_at {time},
    last_step BIGINT,
    PRIMARY KEY (staff_id),
    FOREIGN KEY (staff_id) REFERENCES staff (id)
);

CREATE TABLE staff_recovery_codes (
    staff_id VARCHAR NOT NULL,
    code_hash VARCHAR NOT NULL,
    PRIMARY KEY (staff_id, code_hash),
    FOREIGN KEY (staff_id) REFERENCES staff (id)
);

CREATE TABLE staff_oidc (
    staff_id VARCHAR NOT NULL,
    issuer VARCHAR NOT NULL,
    subject VARCHAR,
    email VARCHAR,
    PRIMARY KEY (staff_id),
    FOREIGN KEY (staff_id) REFERENCES staff (id)
);

CREATE UNIQUE INDEX ix_staff_oidc_email ON staff_oidc (issuer, email);

CREATE UNIQUE INDEX ix_staff_oidc_subject ON staff_oidc (issuer, subject);

CREATE TABLE sign_in_attempts (
    key VARCHAR NOT NULL,
    attempts INTEGER NOT NULL,
    last_at {time} NOT NULL,
    PRIMARY KEY (key)
);

CREATE INDEX ix_sign_in_attempts_age ON sign_in_attempts (last_at);

CREATE TABLE api_keys (
    id VARCHAR NOT NULL,
    shop_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    secret_hash VARCHAR,
    scopes JSON NOT NULL,
    staff_id VARCHAR,
    created_at {time} NOT NULL,
    expires_at {time},
    revoked_at {time},
    last_used_at {time},
    PRIMARY KEY (id),
    FOREIGN KEY (shop_id) REFERENCES shops (id),
    FOREIGN KEY (staff_id) REFERENCES staff (id)
);

CREATE INDEX ix_api_keys_shop ON api_keys (shop_id, created_at);

CREATE TABLE webhook_endpoints (
    id VARCHAR NOT NULL,
    shop_id VARCHAR NOT NULL,
    url VARCHAR NOT NULL,
    secret VARCHAR NOT NULL,
    events JSON,
    till VARCHAR,
    location VARCHAR,
    created_at {time} NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY (shop_id) REFERENCES shops (id)
);

CREATE INDEX ix_webhook_endpoints_shop ON webhook_endpoints (shop_id, created_at);

-- All text, including `at`: digests must not depend on the driver or time zone.
CREATE TABLE audit_log (
    shop_id VARCHAR NOT NULL,
    seq BIGINT NOT NULL,
    at VARCHAR NOT NULL,
    actor VARCHAR NOT NULL,
    address VARCHAR,
    request_id VARCHAR,
    action VARCHAR NOT NULL,
    object_type VARCHAR NOT NULL,
    object_id VARCHAR NOT NULL,
    before VARCHAR,
    after VARCHAR,
    PRIMARY KEY (shop_id, seq)
);

CREATE INDEX ix_audit_log_at ON audit_log (at);
