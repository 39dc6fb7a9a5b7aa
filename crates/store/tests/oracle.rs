//! Oracle's views, and the queries that people run on them, in the real sqlite3 shell and through the crate.

mod common;

use common::*;
use fathom_record::Counts;
use fathom_spec::{Bytes, MIB, Mix, QueueKind, Sizes, Verb, Work};
use fathom_store::Store;
use serde_json::json;

const ASYNCHRONOUS: &str = "select name,asynch_io from v$datafile f,v$iostat_file i
where f.file#=i.file_no
and (filetype_name='Data File' or filetype_name='Temp File');";

const ASYNCHRONOUS_SHORT: &str = "SELECT d.name, i.asynch_io FROM v$datafile d, v$iostat_file i WHERE
d.file# = i.file_no AND i.filetype_name = 'Data File';";

const IOSTAT: &str = "select
FILE_NO, SMALL_READ_MEGABYTES, SMALL_READ_REQS, LARGE_READ_MEGABYTES, LARGE_READ_REQS from v$iostat_file";

#[test]
fn the_calibration_is_found_under_oracles_columns_with_whole_numbers_and_three_decimals() {
    let (_directory, path) = place();
    let mut store = Store::open(&path).unwrap();
    store.finish(&calibration("aa-1")).unwrap();
    let answer = store.query("select * from dba_rsrc_io_calibrate").unwrap();
    assert_eq!(
        answer.columns,
        [
            "START_TIME",
            "END_TIME",
            "MAX_IOPS",
            "MAX_MBPS",
            "MAX_PMBPS",
            "LATENCY",
            "NUM_PHYSICAL_DISKS",
            "ADDITIONAL_INFO"
        ]
    );
    assert_eq!(
        json!(answer.rows),
        json!([[
            "2026-01-02T03:04:05.123456Z",
            "2026-01-02T03:05:06.654321Z",
            24002,
            175,
            186,
            10.868,
            3,
            "fathom 0.1.0: believable, label before the move, targets /data/one"
        ]])
    );
}

#[test]
fn only_the_latest_complete_calibration_is_shown() {
    let (_directory, path) = place();
    let mut store = Store::open(&path).unwrap();
    assert_eq!(rows(&store, "select * from dba_rsrc_io_calibrate").len(), 0);
    store.finish(&calibration("aa-1")).unwrap();
    for (id, tool, ending) in [
        ("aa-2", "calibrate", fathom_record::Ending::Interrupted),
        ("aa-3", "calibrate", fathom_record::Ending::Failed),
        ("aa-4", "fio", fathom_record::Ending::Complete),
    ] {
        let mut record = calibration(id);
        (record.tool, record.ending) = (tool.into(), ending);
        record.summary.clear();
        store.finish(&record).unwrap();
    }
    assert_eq!(rows(&store, "select max_iops from dba_rsrc_io_calibrate"), [[json!(24002)]]);
    assert_eq!(rows(&store, "select count(*) from v$iostat_file"), [[json!(1)]]);
}

#[test]
fn the_status_has_one_row_even_in_an_empty_store() {
    let (_directory, path) = place();
    let mut store = Store::open(&path).unwrap();
    let status = "select * from v$io_calibration_status";
    assert_eq!(json!(rows(&store, status)), json!([["NOT AVAILABLE", null, 0]]));
    store.finish(&calibration("aa-1")).unwrap();
    let ended = "2026-01-02T03:05:06.654321Z";
    assert_eq!(json!(rows(&store, status)), json!([["READY", ended, 0]]));
    store.begin(&beginning("aa-2"), &owner(), None).unwrap();
    let plain = store.query("select * from io_calibration_status").unwrap();
    assert_eq!(plain.columns, ["STATUS", "CALIBRATION_TIME"]);
    assert_eq!(json!(plain.rows), json!([["IN PROGRESS", ended]]));
}

#[test]
fn the_white_papers_queries_run_letter_by_letter_through_the_crate() {
    let (_directory, path) = place();
    let mut store = Store::open(&path).unwrap();
    store.finish(&calibration("aa-1")).unwrap();
    for query in [ASYNCHRONOUS, ASYNCHRONOUS_SHORT] {
        assert_eq!(json!(rows(&store, query)), json!([["/data/one", "ASYNC_ON"]]));
    }
    assert_eq!(json!(rows(&store, IOSTAT)), json!([[1, 33, 4167, 181, 181]]));
}

#[test]
fn the_sqlite3_shell_runs_them_but_for_the_bare_number_sign() {
    let (_directory, path) = place();
    let mut store = Store::open(&path).unwrap();
    store.finish(&calibration("aa-1")).unwrap();
    let Some((out, err)) = shell(&path, "select max_iops, latency, max_mbps from dba_rsrc_io_calibrate")
    else {
        return;
    };
    assert_eq!((out.as_str(), err.as_str()), ("24002|10.868|175\n", ""));
    let (out, err) = shell(&path, IOSTAT).unwrap();
    assert_eq!((out.as_str(), err.as_str()), ("1|33|4167|181|181\n", ""));
    let (out, err) = shell(&path, "select status from v$io_calibration_status;").unwrap();
    assert_eq!((out.as_str(), err.as_str()), ("READY\n", ""));
    let (out, err) = shell(&path, ASYNCHRONOUS).unwrap();
    assert!(out.is_empty() && err.contains("unrecognized token: \"#\""), "{out}{err}");
    for instead in ["f.file_no", "f.\"file#\"", "f.[file#]", "f.`FILE#`"] {
        let (out, err) = shell(&path, &ASYNCHRONOUS.replace("f.file#", instead)).unwrap();
        assert_eq!((out.as_str(), err.as_str()), ("/data/one|ASYNC_ON\n", ""), "{instead}");
    }
}

#[test]
fn the_file_views_have_every_column_of_oracles() {
    let (_directory, path) = place();
    let store = Store::open(&path).unwrap();
    let columns = |view: &str| store.query(&format!("select * from {view}")).unwrap().columns.join(" ");
    assert_eq!(
        columns("v$iostat_file"),
        "FILE_NO FILETYPE_ID FILETYPE_NAME SMALL_READ_MEGABYTES SMALL_WRITE_MEGABYTES LARGE_READ_MEGABYTES \
         LARGE_WRITE_MEGABYTES SMALL_READ_REQS SMALL_WRITE_REQS SMALL_SYNC_READ_REQS LARGE_READ_REQS \
         LARGE_WRITE_REQS SMALL_READ_SERVICETIME SMALL_WRITE_SERVICETIME SMALL_SYNC_READ_LATENCY \
         LARGE_READ_SERVICETIME LARGE_WRITE_SERVICETIME ASYNCH_IO ACCESS_METHOD RETRIES_ON_ERROR CON_ID"
    );
    assert_eq!(columns("v$datafile"), "FILE# FILE_NO STATUS ENABLED BYTES BLOCKS BLOCK_SIZE NAME CON_ID");
}

#[test]
fn a_files_row_counts_its_reads_by_size_and_time() {
    let (_directory, path) = place();
    let mut store = Store::open(&path).unwrap();
    let mut record = calibration("aa-1");
    record.runs.push(reads(&["/data/two"], QueueKind::Psync, 8192, 10));
    store.finish(&record).unwrap();
    let service = "select file_no, small_read_servicetime, large_read_servicetime, small_sync_read_reqs,
                   small_sync_read_latency, small_write_reqs, asynch_io from v$iostat_file";
    assert_eq!(
        json!(rows(&store, service)),
        json!([[1, 2084, 91, 0, 0, 0, "ASYNC_ON"], [2, 5, 0, 10, 5, 0, "ASYNC_OFF"]])
    );
    let files = "select file#, name, status, enabled, bytes, blocks, block_size from v$datafile";
    assert_eq!(
        json!(rows(&store, files)),
        json!([
            [1, "/data/one", "ONLINE", "READ ONLY", 1 << 30, 1 << 17, 8192],
            [2, "/data/two", "ONLINE", "READ ONLY", 1 << 30, 1 << 17, 8192]
        ])
    );
}

#[test]
fn what_was_spread_over_several_files_stands_in_file_zero_and_is_unknown_for_each() {
    let (_directory, path) = place();
    let mut store = Store::open(&path).unwrap();
    let mut record = calibration("aa-1");
    record.runs =
        vec![reads(&["/a", "/b"], QueueKind::Libaio, 8192, 1000), reads(&["/b"], QueueKind::Libaio, MIB, 7)];
    store.finish(&record).unwrap();
    let query = "select file_no, filetype_name, small_read_reqs, large_read_reqs, small_write_reqs, asynch_io
                 from v$iostat_file";
    assert_eq!(
        json!(rows(&store, query)),
        json!([
            [0, "Other", 1000, 0, 0, null],
            [1, "Data File", null, 0, 0, "ASYNC_ON"],
            [2, "Data File", null, 7, 0, "ASYNC_ON"]
        ])
    );
    assert_eq!(json!(rows(&store, ASYNCHRONOUS)), json!([["/a", "ASYNC_ON"], ["/b", "ASYNC_ON"]]));
    assert_eq!(json!(rows(&store, "select name from v$datafile")), json!([["/a"], ["/b"]]));
}

#[test]
fn sizes_on_both_sides_of_128_kib_leave_small_and_large_unknown() {
    let (_directory, path) = place();
    let mut store = Store::open(&path).unwrap();
    let mut record = calibration("aa-1");
    let mut run = reads(&["/a"], QueueKind::Libaio, 8192, 1000);
    let Work::Blocks(blocks) = &mut run.plan.streams[0].work else { unreachable!() };
    blocks.mix = Mix::Random { read_percent: 50 };
    blocks.sizes = Sizes::Split(vec![
        (Verb::Read, Bytes(8192), 50),
        (Verb::Read, Bytes(MIB), 50),
        (Verb::Write, Bytes(8192), 100),
    ]);
    run.intervals[0].cells.push((Verb::Write, Default::default()));
    run.intervals[0].slots[0][1] = Counts { operations: 5, bytes: 40_960, ..Counts::default() };
    record.runs = vec![run];
    store.finish(&record).unwrap();
    let query =
        "select small_read_reqs, large_read_reqs, small_write_reqs, large_write_reqs from v$iostat_file";
    assert_eq!(json!(rows(&store, query)), json!([[null, null, 5, 0]]));
}

/// Regression: a calibration of `sim:` became the one of `status` and of Oracle's views.
#[test]
fn a_simulated_device_is_no_calibration_of_this_machine() {
    let (_directory, path) = place();
    let mut store = Store::open(&path).unwrap();
    let simulated = |id: &str| fathom_record::ResultRecord { simulated: true, ..calibration(id) };
    store.finish(&simulated("aa-1")).unwrap();
    assert_eq!(rows(&store, "select * from dba_rsrc_io_calibrate").len(), 0);
    assert_eq!(rows(&store, "select status from v$io_calibration_status"), [[json!("NOT AVAILABLE")]]);
    store.finish(&calibration("aa-2")).unwrap();
    store.finish(&simulated("aa-3")).unwrap();
    assert_eq!(rows(&store, "select id from latest_calibration"), [[json!("aa-2")]]);
    assert_eq!(store.list(&Default::default(), &|_| true).unwrap().len(), 3, "the history has all of them");
}
