-- Alerts that were received, each with the diagnosis of its time.

CREATE TABLE IF NOT EXISTS investigations (
    fingerprint VARCHAR NOT NULL,     -- Alertmanager's name of the alert's labels
    received_at DOUBLE NOT NULL,
    content     JSON NOT NULL,        -- the alert, what became of it, the verdict
    diagnosis   BLOB                  -- report and series, NULL until it is made
);
