-- Only for SQLite. An entry of the audit log must be the next one of its shop, which also prevents
-- INSERT OR REPLACE: it deletes rows without calling the DELETE trigger.

CREATE TRIGGER audit_log_next BEFORE INSERT ON audit_log
    WHEN NEW.seq <> 1 + coalesce((SELECT max(seq) FROM audit_log WHERE shop_id = NEW.shop_id), 0)
    BEGIN SELECT RAISE(ABORT, 'audit_log: an entry follows the newest one of its shop'); END;

CREATE TRIGGER audit_log_no_update BEFORE UPDATE ON audit_log
    BEGIN SELECT RAISE(ABORT, 'audit_log: entries are never changed'); END;

CREATE TRIGGER audit_log_no_delete BEFORE DELETE ON audit_log
    BEGIN SELECT RAISE(ABORT, 'audit_log: entries are never removed'); END;
