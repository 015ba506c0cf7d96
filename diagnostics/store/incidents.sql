-- What watch keeps: incidents with their evidence, and what is still to be told. One row an incident; it is
-- written when it opens, gets worse or is resolved.

CREATE TABLE IF NOT EXISTS incidents (
    number      VARCHAR NOT NULL,
    deployment  VARCHAR NOT NULL,
    rule        VARCHAR NOT NULL,
    severity    VARCHAR NOT NULL,
    opened_at   DOUBLE NOT NULL,
    resolved_at DOUBLE,               -- NULL while it is open
    finding     JSON NOT NULL         -- as in the JSON report
);

-- A message stays here until its target took it. The target is a digest: addresses of webhooks are secrets.
CREATE TABLE IF NOT EXISTS outbox (
    incident    VARCHAR NOT NULL,
    state       VARCHAR NOT NULL,
    changed_at  DOUBLE NOT NULL,
    note        VARCHAR NOT NULL,
    target      VARCHAR NOT NULL
);
