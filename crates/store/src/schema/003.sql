-- Where a run was made and on which disks, for lists that people filter; and whether nothing but a simulated device was
-- measured: such a run is no calibration of this machine.

ALTER TABLE results ADD COLUMN host TEXT;
ALTER TABLE results ADD COLUMN device TEXT;
ALTER TABLE results ADD COLUMN simulated INTEGER NOT NULL DEFAULT 0 CHECK (simulated IN (0, 1));

UPDATE results SET
    host = (SELECT json_extract(record, '$.facts.machine.hostname') FROM records WHERE number = results.number),
    device = (SELECT group_concat(name, ',') FROM (
        SELECT DISTINCT json_extract(disk.value, '$.name') AS name
        FROM records r, json_each(r.record, '$.facts.storage') storage, json_each(storage.value, '$.disks') disk
        WHERE r.number = results.number)),
    simulated = EXISTS (SELECT 1 FROM json_each(results.targets) WHERE value LIKE 'sim:%');

DROP VIEW latest_calibration;

CREATE VIEW latest_calibration AS
SELECT * FROM results
WHERE tool = 'calibrate' AND state = 'complete' AND simulated = 0
ORDER BY number DESC
LIMIT 1;

DROP VIEW io_calibration_status;

CREATE VIEW io_calibration_status AS
SELECT CASE
           WHEN EXISTS (SELECT 1 FROM results WHERE tool = 'calibrate' AND state = 'in progress' AND simulated = 0)
               THEN 'IN PROGRESS'
           WHEN EXISTS (SELECT 1 FROM latest_calibration) THEN 'READY'
           ELSE 'NOT AVAILABLE'
       END AS STATUS,
       (SELECT ended FROM latest_calibration) AS CALIBRATION_TIME;

-- One line a run, for people who ask in SQL.
CREATE VIEW runs AS
SELECT r.number, r.started, r.ended, r.host, r.device,
       (SELECT group_concat(value, ' ') FROM json_each(r.targets)) AS target,
       r.tool, r.label, r.state, r.verdict, iops.value AS iops, iops.half_width AS iops_half_width,
       latency.value / 1000.0 AS latency_us, mbps.value AS mbps,
       (SELECT value FROM figures WHERE id = r.id AND name = 'commits_per_second') AS commits_per_second
FROM results r
LEFT JOIN figures iops ON iops.id = r.id AND iops.name =
    (SELECT max(name) FROM figures WHERE id = r.id AND name IN ('max_iops', 'iops'))
LEFT JOIN figures latency ON latency.id = r.id AND latency.name =
    (SELECT min(name) FROM figures WHERE id = r.id AND name IN ('latency', 'read_latency', 'write_latency'))
LEFT JOIN figures mbps ON mbps.id = r.id AND mbps.name =
    (SELECT min(name) FROM figures WHERE id = r.id AND name IN ('max_mbps', 'mbps'));
