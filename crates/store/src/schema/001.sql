-- The first layout. docs/store.md describes every table, view and column. The file is also read by the sqlite3
-- shells of old distributions (3.26), so nothing newer stands here: no STRICT, no iif().

CREATE TABLE results (
    number             INTEGER PRIMARY KEY AUTOINCREMENT,
    id                 TEXT NOT NULL UNIQUE,
    tool               TEXT NOT NULL,
    version            TEXT NOT NULL,
    label              TEXT,
    command            TEXT NOT NULL,
    targets            TEXT NOT NULL,
    started            TEXT NOT NULL,
    ended              TEXT,
    state              TEXT NOT NULL CHECK (state IN ('in progress', 'complete', 'interrupted', 'failed')),
    verdict            TEXT CHECK (verdict IN ('believable', 'not believable', 'cannot tell')),
    num_physical_disks INTEGER,
    measured           INTEGER NOT NULL CHECK (measured IN (0, 1)),
    owner_pid          INTEGER,
    owner_start        INTEGER,
    owner_boot         TEXT,
    record             TEXT NOT NULL
);

CREATE INDEX results_by_tool ON results (tool, state, number);

CREATE TABLE figures (
    id              TEXT NOT NULL REFERENCES results (id) ON DELETE CASCADE,
    name            TEXT NOT NULL,
    value           REAL,
    half_width      REAL,
    confidence      REAL,
    unit            TEXT NOT NULL,
    converged       INTEGER NOT NULL CHECK (converged IN (0, 1)),
    bound           TEXT,
    load_small      INTEGER,
    load_large      INTEGER,
    latency_ns_mean REAL,
    latency_ns_p50  INTEGER,
    latency_ns_p90  INTEGER,
    latency_ns_p99  INTEGER,
    latency_ns_p999 INTEGER,
    latency_ns_max  INTEGER,
    PRIMARY KEY (id, name)
);

CREATE TABLE points (
    id              TEXT NOT NULL REFERENCES results (id) ON DELETE CASCADE,
    curve           TEXT NOT NULL,
    ordinal         INTEGER NOT NULL,
    load_small      INTEGER NOT NULL,
    load_large      INTEGER NOT NULL,
    iops            REAL,
    iops_half_width REAL,
    mbps            REAL,
    latency_ns_mean REAL,
    latency_ns_p50  INTEGER,
    latency_ns_p90  INTEGER,
    latency_ns_p99  INTEGER,
    latency_ns_p999 INTEGER,
    latency_ns_max  INTEGER,
    exploring       INTEGER NOT NULL CHECK (exploring IN (0, 1)),
    knee            INTEGER NOT NULL CHECK (knee IN (0, 1)),
    PRIMARY KEY (id, curve, ordinal)
);

-- File 0 is no file: it holds the I/O that was spread over several files and cannot be told apart. What a file
-- did is NULL where some of it is in file 0.
CREATE TABLE files (
    id                       TEXT NOT NULL REFERENCES results (id) ON DELETE CASCADE,
    file_no                  INTEGER NOT NULL,
    name                     TEXT,
    written                  INTEGER NOT NULL CHECK (written IN (0, 1)),
    size_bytes               INTEGER,
    block_size_bytes         INTEGER,
    asynchronous             INTEGER CHECK (asynchronous IN (0, 1)),
    small_reads              INTEGER,
    small_read_bytes         INTEGER,
    small_read_service_ns    INTEGER,
    small_writes             INTEGER,
    small_write_bytes        INTEGER,
    small_write_service_ns   INTEGER,
    large_reads              INTEGER,
    large_read_bytes         INTEGER,
    large_read_service_ns    INTEGER,
    large_writes             INTEGER,
    large_write_bytes        INTEGER,
    large_write_service_ns   INTEGER,
    small_sync_reads         INTEGER,
    small_sync_read_ns       INTEGER,
    PRIMARY KEY (id, file_no)
);

CREATE VIEW latest_calibration AS
SELECT * FROM results
WHERE tool = 'calibrate' AND state = 'complete'
ORDER BY number DESC
LIMIT 1;

CREATE VIEW dba_rsrc_io_calibrate AS
SELECT r.started AS START_TIME,
       r.ended AS END_TIME,
       (SELECT CAST(round(value) AS INTEGER) FROM figures WHERE id = r.id AND name = 'max_iops') AS MAX_IOPS,
       (SELECT CAST(round(value) AS INTEGER) FROM figures WHERE id = r.id AND name = 'max_mbps') AS MAX_MBPS,
       (SELECT CAST(round(value) AS INTEGER) FROM figures WHERE id = r.id AND name = 'max_pmbps') AS MAX_PMBPS,
       round(coalesce(
           (SELECT value FROM figures WHERE id = r.id AND name = 'latency' AND unit = 'nanoseconds'),
           (SELECT latency_ns_mean FROM figures WHERE id = r.id AND name = 'max_iops')) / 1e6, 3) AS LATENCY,
       r.num_physical_disks AS NUM_PHYSICAL_DISKS,
       substr('fathom ' || r.version || ': ' || coalesce(r.verdict, 'no verdict')
           || coalesce(', label ' || r.label, '')
           || coalesce(', targets ' || (SELECT group_concat(value, ' ') FROM json_each(r.targets)), ''),
           1, 1024) AS ADDITIONAL_INFO
FROM latest_calibration r;

CREATE VIEW io_calibration_status AS
SELECT CASE
           WHEN EXISTS (SELECT 1 FROM results WHERE tool = 'calibrate' AND state = 'in progress')
               THEN 'IN PROGRESS'
           WHEN EXISTS (SELECT 1 FROM latest_calibration) THEN 'READY'
           ELSE 'NOT AVAILABLE'
       END AS STATUS,
       (SELECT ended FROM latest_calibration) AS CALIBRATION_TIME;

CREATE VIEW "v$io_calibration_status" AS
SELECT STATUS, CALIBRATION_TIME, 0 AS CON_ID FROM io_calibration_status;

CREATE VIEW "v$iostat_file" AS
SELECT f.file_no AS FILE_NO,
       CASE f.file_no WHEN 0 THEN 0 ELSE 2 END AS FILETYPE_ID,
       CASE f.file_no WHEN 0 THEN 'Other' ELSE 'Data File' END AS FILETYPE_NAME,
       CAST(round(f.small_read_bytes / 1048576.0) AS INTEGER) AS SMALL_READ_MEGABYTES,
       CAST(round(f.small_write_bytes / 1048576.0) AS INTEGER) AS SMALL_WRITE_MEGABYTES,
       CAST(round(f.large_read_bytes / 1048576.0) AS INTEGER) AS LARGE_READ_MEGABYTES,
       CAST(round(f.large_write_bytes / 1048576.0) AS INTEGER) AS LARGE_WRITE_MEGABYTES,
       f.small_reads AS SMALL_READ_REQS,
       f.small_writes AS SMALL_WRITE_REQS,
       f.small_sync_reads AS SMALL_SYNC_READ_REQS,
       f.large_reads AS LARGE_READ_REQS,
       f.large_writes AS LARGE_WRITE_REQS,
       CAST(round(f.small_read_service_ns / 1e6) AS INTEGER) AS SMALL_READ_SERVICETIME,
       CAST(round(f.small_write_service_ns / 1e6) AS INTEGER) AS SMALL_WRITE_SERVICETIME,
       CAST(round(f.small_sync_read_ns / 1e6) AS INTEGER) AS SMALL_SYNC_READ_LATENCY,
       CAST(round(f.large_read_service_ns / 1e6) AS INTEGER) AS LARGE_READ_SERVICETIME,
       CAST(round(f.large_write_service_ns / 1e6) AS INTEGER) AS LARGE_WRITE_SERVICETIME,
       CASE f.asynchronous WHEN 1 THEN 'ASYNC_ON' WHEN 0 THEN 'ASYNC_OFF' END AS ASYNCH_IO,
       'OS_LIB' AS ACCESS_METHOD,
       0 AS RETRIES_ON_ERROR,
       0 AS CON_ID
FROM files f JOIN latest_calibration r ON f.id = r.id
ORDER BY f.file_no;

CREATE VIEW "v$datafile" AS
SELECT f.file_no AS "FILE#",
       f.file_no AS "FILE_NO",
       'ONLINE' AS STATUS,
       CASE f.written WHEN 1 THEN 'READ WRITE' ELSE 'READ ONLY' END AS ENABLED,
       f.size_bytes AS BYTES,
       f.size_bytes / f.block_size_bytes AS BLOCKS,
       f.block_size_bytes AS BLOCK_SIZE,
       f.name AS NAME,
       0 AS CON_ID
FROM files f JOIN latest_calibration r ON f.id = r.id
WHERE f.file_no > 0
ORDER BY f.file_no;
