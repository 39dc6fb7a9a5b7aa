-- The records go into a table of their own, compressed: a short run is 16 KiB of JSON, and a fifth of that in zlib's
-- format. `sqlar_uncompress` is fathom's and the sqlite3 shell's own; a program that lacks it reads everything but `records`.

CREATE TABLE record_data (
    number     INTEGER PRIMARY KEY REFERENCES results (number) ON DELETE CASCADE,
    size_bytes INTEGER NOT NULL,
    zlib       BLOB NOT NULL
);

INSERT INTO record_data
SELECT number, length(CAST(record AS BLOB)), sqlar_compress(record) FROM results;

ALTER TABLE results DROP COLUMN record;

CREATE VIEW records AS
SELECT r.number, r.id, CAST(sqlar_uncompress(d.zlib, d.size_bytes) AS TEXT) AS record
FROM results r JOIN record_data d USING (number);
