-- What PostgreSQL alone has: notices of changes, the audit log's guards, and what policies ask.
-- A claim and a heartbeat change the row within its page (HOT), which needs room there.

ALTER TABLE orders SET (fillfactor = 80);

-- An INSERT sends no notice: no client waits for an order before it is stored, and a review opens in the
-- transaction that moves its order. Two equal notices in one transaction are sent once.
CREATE FUNCTION saycart_notice_orders() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_notify('saycart_orders', NEW.id); RETURN NULL; END $$;

CREATE TRIGGER saycart_notice AFTER UPDATE ON orders FOR EACH ROW
    WHEN (OLD.version <> NEW.version OR OLD.state <> NEW.state)
    EXECUTE FUNCTION saycart_notice_orders();

CREATE FUNCTION saycart_notice_reviews() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_notify('saycart_orders', NEW.order_id); RETURN NULL; END $$;

CREATE TRIGGER saycart_notice AFTER UPDATE ON reviews FOR EACH ROW
    WHEN (OLD.version <> NEW.version OR OLD.status <> NEW.status)
    EXECUTE FUNCTION saycart_notice_reviews();

CREATE FUNCTION audit_log_next() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.seq <> 1 + coalesce((SELECT max(seq) FROM audit_log WHERE shop_id = NEW.shop_id), 0) THEN
        RAISE EXCEPTION 'audit_log: an entry follows the newest one of its shop'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION audit_log_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit_log: entries are never changed or removed'
        USING ERRCODE = 'integrity_constraint_violation';
END $$;

CREATE TRIGGER audit_log_next BEFORE INSERT ON audit_log
    FOR EACH ROW EXECUTE FUNCTION audit_log_next();

CREATE TRIGGER audit_log_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log
    FOR EACH STATEMENT EXECUTE FUNCTION audit_log_stays();
