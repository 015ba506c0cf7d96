-- The store holds evidence: native names and original times. One row an input; everything of an input
-- arrives in one transaction and is replaced as a whole when the same input is read again.

CREATE TABLE IF NOT EXISTS inputs (
    input_id   INTEGER PRIMARY KEY,
    source     VARCHAR NOT NULL,
    digest     VARCHAR NOT NULL UNIQUE,
    kind       VARCHAR NOT NULL,
    engine     VARCHAR,
    version    VARCHAR,
    timed      BOOLEAN NOT NULL,      -- false: the times are an order only
    time_basis VARCHAR NOT NULL
);

CREATE TABLE IF NOT EXISTS series (
    series_id  BIGINT PRIMARY KEY,
    input_id   INTEGER NOT NULL,
    name       VARCHAR NOT NULL,
    labels     JSON NOT NULL,
    le         DOUBLE                 -- upper edge of a histogram bucket
);

-- Ordered by (series_id, t). increment: reset-corrected growth since the sample before, NULL at the first.
CREATE TABLE IF NOT EXISTS samples (
    series_id  BIGINT NOT NULL,
    t          DOUBLE NOT NULL,
    value      DOUBLE,
    increment  DOUBLE
);

CREATE TABLE IF NOT EXISTS settings (
    input_id   INTEGER NOT NULL,
    name       VARCHAR NOT NULL,
    value      VARCHAR NOT NULL,
    provenance VARCHAR NOT NULL,
    learnt_at  VARCHAR NOT NULL,
    labels     JSON NOT NULL
);

CREATE TABLE IF NOT EXISTS events (
    input_id   INTEGER NOT NULL,
    t          DOUBLE,
    kind       VARCHAR NOT NULL,
    text       VARCHAR NOT NULL,
    fields     JSON NOT NULL,
    labels     JSON NOT NULL
);
