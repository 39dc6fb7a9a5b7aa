//! The record as rows: what is indexed of it, so that SQL can ask for it. All of it can be made again from the record.

use crate::compression::Compressed;
use crate::files::{FileUse, Tally, files_of};
use crate::state::{Measured, State};
use fathom_record::{LatencyFigures, ResultRecord};
use rusqlite::{Connection, ToSql, named_params, params};
use serde_json::{Value, json};

/// Writes the record and every row that is made from it, in place of what stood there; answers its number.
pub(crate) fn put(
    transaction: &Connection,
    record: &ResultRecord,
    data: &Compressed,
    state: State,
    measured: Measured,
) -> rusqlite::Result<i64> {
    let number = put_result(transaction, record, data, state, measured)?;
    for table in ["figures", "points", "files"] {
        transaction.execute(&format!("DELETE FROM {table} WHERE id = ?1"), [&record.id])?;
    }
    put_figures(transaction, record)?;
    put_points(transaction, record)?;
    for file in files_of(record) {
        put_file(transaction, &record.id, &file)?;
    }
    Ok(number)
}

/// A whole number `num_physical_disks` at the top of the record's facts.
pub(crate) fn disks_in(record: &ResultRecord) -> Option<i64> {
    record.facts.get("num_physical_disks").and_then(Value::as_i64)
}

fn text_at(facts: &Value, at: &str) -> Option<String> {
    Some(facts.pointer(at)?.as_str()?.to_owned())
}

/// The disks below the targets, by their kernel's names with commas between them.
fn device(facts: &Value) -> Option<String> {
    let disks = facts.get("storage")?.as_array()?.iter().filter_map(|one| one.get("disks")?.as_array());
    let mut names: Vec<&str> = disks.flatten().filter_map(|disk| disk.get("name")?.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    (!names.is_empty()).then(|| names.join(","))
}

fn put_result(
    transaction: &Connection,
    record: &ResultRecord,
    data: &Compressed,
    state: State,
    measured: Measured,
) -> rusqlite::Result<i64> {
    let (ended, verdict) = match state {
        State::InProgress => (None, None),
        _ => (Some(record.ended.as_str()), Some(record.verdict.state.to_string())),
    };
    // An upsert would take a number for every row that is already there.
    transaction.execute(
        "INSERT INTO results (id, tool, version, command, targets, started, state, measured)
         SELECT ?1, '', '', '', '', '', 'in progress', 0 WHERE NOT EXISTS (SELECT 1 FROM results WHERE id = ?1)",
        [&record.id],
    )?;
    let values: &[(&str, &dyn ToSql)] = named_params! {
        ":id": record.id,
        ":tool": record.tool,
        ":version": record.version,
        ":label": record.label,
        ":command": Value::from(record.command.clone()).to_string(),
        ":targets": Value::from(record.targets.clone()).to_string(),
        ":started": record.started,
        ":ended": ended,
        ":state": state.name(),
        ":verdict": verdict,
        ":host": text_at(&record.facts, "/machine/hostname"),
        ":device": device(&record.facts),
        ":simulated": record.simulated,
        ":disks": disks_in(record),
        ":measured": measured == Measured::Something,
    };
    transaction.execute(
        "UPDATE results SET
             tool = :tool, version = :version, label = :label, command = :command, targets = :targets,
             started = :started, ended = :ended, state = :state, verdict = :verdict,
             host = :host, device = :device, simulated = :simulated,
             num_physical_disks = coalesce(:disks, num_physical_disks), measured = :measured
         WHERE id = :id",
        values,
    )?;
    let number = transaction
        .query_row("SELECT number FROM results WHERE id = ?1", [&record.id], |row| row.get::<_, i64>(0))?;
    transaction.execute(
        "INSERT OR REPLACE INTO record_data (number, size_bytes, zlib) VALUES (?1, ?2, ?3)",
        params![number, data.size_bytes as i64, data.zlib],
    )?;
    Ok(number)
}

/// The name under which the record writes an enum without fields.
fn word(value: Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn percentile_ns(latency: &LatencyFigures, quantile: f64) -> Option<i64> {
    let found = latency.percentiles.iter().find(|p| (p.quantile - quantile).abs() < 1e-9)?;
    found.value_ns.map(|ns| ns as i64)
}

fn put_figures(transaction: &Connection, record: &ResultRecord) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare_cached(
        "INSERT INTO figures VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
    )?;
    for (name, figure) in &record.summary {
        let latency = figure.latency.as_ref();
        insert.execute(params![
            record.id,
            word(json!(name)),
            figure.value,
            figure.half_width,
            figure.confidence,
            word(json!(figure.unit)),
            figure.converged,
            figure.bound.as_ref().and_then(|bound| word(json!(bound.by))),
            figure.load.map(|load| load.small),
            figure.load.map(|load| load.large),
            latency.map(|l| l.mean_ns),
            latency.and_then(|l| percentile_ns(l, 0.5)),
            latency.and_then(|l| percentile_ns(l, 0.9)),
            latency.and_then(|l| percentile_ns(l, 0.99)),
            latency.and_then(|l| percentile_ns(l, 0.999)),
            latency.map(|l| l.max_ns as i64),
        ])?;
    }
    Ok(())
}

fn put_points(transaction: &Connection, record: &ResultRecord) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare_cached(
        "INSERT OR REPLACE INTO points VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
    )?;
    for curve in &record.curves {
        for (ordinal, point) in curve.points.iter().enumerate() {
            insert.execute(params![
                record.id,
                word(json!(curve.name)),
                ordinal as i64,
                point.load.small,
                point.load.large,
                point.iops,
                point.iops_half_width,
                point.mbps,
                point.latency.mean_ns,
                percentile_ns(&point.latency, 0.5),
                percentile_ns(&point.latency, 0.9),
                percentile_ns(&point.latency, 0.99),
                percentile_ns(&point.latency, 0.999),
                point.latency.max_ns as i64,
                point.exploring,
                curve.knee == Some(ordinal),
            ])?;
        }
    }
    Ok(())
}

fn put_file(transaction: &Connection, id: &str, file: &FileUse) -> rusqlite::Result<()> {
    let columns = |tally: Option<Tally>| match tally {
        Some(Tally { requests, bytes, service_ns }) => {
            [requests, bytes, service_ns].map(|count| Some(count as i64))
        }
        None => [None; 3],
    };
    let [small_reads, small_writes] = [columns(file.small_reads), columns(file.small_writes)];
    let [large_reads, large_writes] = [columns(file.large_reads), columns(file.large_writes)];
    let sync_reads = columns(file.small_sync_reads);
    transaction.prepare_cached(
        "INSERT INTO files VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18,
                                   ?19, ?20, ?21)",
    )?
    .execute(params![
        id,
        file.file_no,
        file.name,
        file.written,
        file.size_bytes.map(|bytes| bytes as i64),
        file.block_size_bytes.map(|bytes| bytes as i64),
        file.asynchronous,
        small_reads[0],
        small_reads[1],
        small_reads[2],
        small_writes[0],
        small_writes[1],
        small_writes[2],
        large_reads[0],
        large_reads[1],
        large_reads[2],
        large_writes[0],
        large_writes[1],
        large_writes[2],
        sync_reads[0],
        sync_reads[2],
    ])?;
    Ok(())
}
