-- Only for PostgreSQL: the audit log's triggers, and free space for updates within a page (HOT).

ALTER TABLE orders SET (fillfactor = 80);

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
