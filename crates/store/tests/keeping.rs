//! What goes into the store comes out of it.

mod common;

use common::*;
use fathom_record::Ending;
use fathom_store::{Calibrating, Filter, State, Store, StoreError};
use serde_json::json;

#[test]
fn a_full_record_comes_back_equal() {
    let (_directory, path) = place();
    let mut store = Store::open(&path).unwrap();
    let record = calibration("aa-1");
    assert_eq!(store.finish(&record).unwrap(), 1);
    drop(store);
    let store = Store::open_read_only(&path).unwrap();
    let found = store.get("aa-1", &is_dead).unwrap();
    assert_eq!(found.record, record);
    assert_eq!(found.listing.state, State::Complete);
    assert_eq!(found.listing.num_physical_disks, Some(3));
    assert_eq!(found.listing.iops.unwrap().value, 24_001.6);
    assert_eq!(found.listing.iops.unwrap().half_width, Some(24_001.6 / 100.0));
    assert_eq!(found.listing.latency_ns.unwrap().value, 10_868_123.4);
    assert_eq!(store.latest_calibration().unwrap().unwrap().record, record);
}

#[test]
fn a_run_goes_from_begun_over_saved_to_finished_under_one_number() {
    let (_directory, path) = place();
    let mut store = Store::open(&path).unwrap();
    assert_eq!(store.status(&lives).unwrap().state, Calibrating::NotAvailable);
    assert_eq!(store.begin(&beginning("aa-1"), &owner(), Some(28)).unwrap(), 1);
    assert_eq!(store.status(&lives).unwrap().state, Calibrating::InProgress);
    assert_eq!(store.status(&lives).unwrap().running[0].id, "aa-1");
    assert_eq!(store.list(&Filter::default(), &lives).unwrap()[0].verdict, None);
    assert_eq!(store.save_partial(&calibration("aa-1")).unwrap(), 1);
    assert_eq!(store.status(&|who| *who == owner()).unwrap().state, Calibrating::InProgress);
    assert!(store.latest_calibration().unwrap().is_none());
    assert_eq!(store.finish(&calibration("aa-1")).unwrap(), 1);
    let status = store.status(&lives).unwrap();
    assert_eq!((status.state, status.running.len()), (Calibrating::Ready, 0));
    assert_eq!(status.latest.unwrap().ended.as_deref(), Some("2026-01-02T03:05:06.654321Z"));
}

#[test]
fn the_number_of_disks_given_at_the_start_stays_when_the_facts_tell_none() {
    let (_directory, path) = place();
    let mut store = Store::open(&path).unwrap();
    let mut record = calibration("aa-1");
    record.facts = json!({});
    store.begin(&record, &owner(), Some(28)).unwrap();
    store.finish(&record).unwrap();
    assert_eq!(rows(&store, "select num_physical_disks from dba_rsrc_io_calibrate"), [[json!(28)]]);
}

#[test]
fn a_run_whose_owner_died_is_interrupted_and_keeps_what_was_saved() {
    let (_directory, path) = place();
    let mut store = Store::open(&path).unwrap();
    store.begin(&beginning("aa-1"), &owner(), None).unwrap();
    store.save_partial(&calibration("aa-1")).unwrap();
    assert_eq!(store.status(&is_dead).unwrap().state, Calibrating::NotAvailable);
    let found = store.get("last", &is_dead).unwrap();
    assert_eq!((found.listing.state, found.record.ending), (State::Interrupted, Ending::Interrupted));
    assert_eq!(found.record.runs, calibration("aa-1").runs);
    let status = "select status from io_calibration_status";
    assert_eq!(rows(&store, status), [["IN PROGRESS"]]);
    assert_eq!(store.settle(&lives).unwrap(), [""; 0]);
    assert_eq!(store.settle(&is_dead).unwrap(), ["aa-1"]);
    assert_eq!(rows(&store, status), [["NOT AVAILABLE"]]);
    store.finish(&calibration("aa-1")).unwrap();
    assert_eq!(rows(&store, status), [["READY"]]);
}

#[test]
fn an_abandoned_run_is_forgotten_unless_something_was_measured() {
    let (_directory, path) = place();
    let mut store = Store::open(&path).unwrap();
    store.begin(&beginning("aa-1"), &owner(), None).unwrap();
    store.begin(&beginning("aa-2"), &owner(), None).unwrap();
    store.save_partial(&calibration("aa-2")).unwrap();
    store.finish(&calibration("aa-3")).unwrap();
    for id in ["aa-1", "aa-2", "aa-3"] {
        store.abandon(id).unwrap();
    }
    let left = store.list(&Filter::default(), &lives).unwrap();
    let left: Vec<_> = left.iter().map(|l| (l.number, l.id.as_str(), l.state)).collect();
    assert_eq!(left, [(3, "aa-3", State::Complete), (2, "aa-2", State::Interrupted)]);
    assert_eq!(store.begin(&beginning("aa-4"), &owner(), None).unwrap(), 4);
}

#[test]
fn a_run_answers_to_its_name_its_beginning_its_number_and_last() {
    let (_directory, path) = place();
    let mut store = Store::open(&path).unwrap();
    for id in ["ab%1", "ab%2", "cd_3", "2b"] {
        store.finish(&calibration(id)).unwrap();
    }
    store.begin(&beginning("zz"), &owner(), None).unwrap();
    let id = |wanted: &str| store.get(wanted, &lives).unwrap().listing.id;
    assert_eq!(id("cd_3"), "cd_3");
    assert_eq!(id("c"), "cd_3");
    assert_eq!(id("2"), "ab%2");
    assert_eq!(id("#1"), "ab%1");
    assert_eq!(id("2b"), "2b");
    assert_eq!(id(" last "), "2b");
    assert_eq!(store.get("last", &is_dead).unwrap().listing.id, "zz");
    for wanted in ["", "x", "99", "%", "b%1"] {
        let error = store.get(wanted, &lives).unwrap_err();
        assert!(matches!(error, StoreError::NotFound { .. }), "{wanted}: {error}");
    }
    let error = store.get("ab", &lives).unwrap_err();
    assert!(error.to_string().starts_with("`ab` stands for several runs: ab%2, ab%1\nhint: "), "{error}");
}

#[test]
fn the_history_is_filtered_by_tool_label_state_and_length() {
    let (_directory, path) = place();
    let mut store = Store::open(&path).unwrap();
    for (id, tool, label) in [("a", "calibrate", Some("x")), ("b", "fio", None), ("c", "calibrate", None)] {
        let mut record = calibration(id);
        (record.tool, record.label) = (tool.into(), label.map(str::to_owned));
        store.finish(&record).unwrap();
    }
    store.begin(&beginning("d"), &owner(), None).unwrap();
    let ids = |filter: Filter| -> String {
        store.list(&filter, &lives).unwrap().into_iter().map(|listing| listing.id).collect()
    };
    assert_eq!(ids(Filter::default()), "dcba");
    assert_eq!(ids(Filter { tool: Some("calibrate".into()), ..Filter::default() }), "dca");
    assert_eq!(ids(Filter { label: Some("x".into()), ..Filter::default() }), "a");
    assert_eq!(ids(Filter { state: Some(State::InProgress), ..Filter::default() }), "d");
    assert_eq!(ids(Filter { limit: Some(2), ..Filter::default() }), "dc");
}

#[test]
fn figures_and_points_stand_in_tables_and_are_replaced_with_the_record() {
    let (_directory, path) = place();
    let mut store = Store::open(&path).unwrap();
    store.finish(&calibration("aa-1")).unwrap();
    store.finish(&calibration("aa-1")).unwrap();
    let figures = "select name, value, half_width, unit, bound, load_small, latency_ns_p50, latency_ns_p999
                   from figures where id = 'aa-1' and name in ('max_iops', 'latency') order by name";
    let wanted = vec![
        json!([
            "latency",
            10_868_123.4,
            10_868_123.4 / 100.0,
            "nanoseconds",
            "latency_limit",
            16,
            null,
            null
        ]),
        json!(["max_iops", 24_001.6, 24_001.6 / 100.0, "per_second", "latency_limit", 16, 900_000, null]),
    ];
    assert_eq!(json!(rows(&store, figures)), json!(wanted));
    let points = "select curve, ordinal, load_small, iops, mbps, latency_ns_max, exploring, knee from points";
    assert_eq!(
        json!(rows(&store, points)),
        json!([["small_reads", 0, 16, 24_001.6, 187.5, 20_000_000, 0, 1]])
    );
}

#[test]
fn a_query_that_would_write_is_refused() {
    let (_directory, path) = place();
    let store = Store::open(&path).unwrap();
    for sql in ["delete from results", "pragma user_version = 9", "select 1; select 2", "", "selec", "begin"]
    {
        let error = store.query(sql).unwrap_err();
        assert!(matches!(error, StoreError::Query { .. }), "{sql}: {error}");
    }
}

#[test]
fn the_history_is_chosen_by_target_host_device_and_moment() {
    let (_directory, path) = place();
    let mut store = Store::open(&path).unwrap();
    let made = |id: &str, target: &str, host: &str, disks: &[&str], started: &str| {
        let disks: Vec<_> = disks.iter().map(|name| json!({ "name": name })).collect();
        fathom_record::ResultRecord {
            targets: vec![target.to_owned()],
            facts: json!({ "machine": { "hostname": host }, "storage": [{ "disks": disks }] }),
            started: started.to_owned(),
            ..calibration(id)
        }
    };
    store.finish(&made("aa", "/a", "one", &["sda", "sdb"], "2026-01-02T03:04:05+00:00")).unwrap();
    store.finish(&made("bb", "/b \"x\"", "two", &["sda1"], "2026-02-02T03:04:05+02:00")).unwrap();
    let found = |filter: Filter| -> Vec<String> {
        store.list(&filter, &|_| true).unwrap().into_iter().map(|line| line.id).collect()
    };
    let text = |value: &str| Some(value.to_owned());
    assert_eq!(found(Filter { target: text("/a"), ..Filter::default() }), ["aa"]);
    assert_eq!(found(Filter { target: text("/b \"x\""), ..Filter::default() }), ["bb"]);
    assert_eq!(found(Filter { target: text("/"), ..Filter::default() }), [""; 0]);
    assert_eq!(found(Filter { host: text("two"), ..Filter::default() }), ["bb"]);
    assert_eq!(found(Filter { device: text("sda"), ..Filter::default() }), ["aa"]);
    assert_eq!(found(Filter { device: text("sdb"), ..Filter::default() }), ["aa"]);
    assert_eq!(found(Filter { since: text("2026-02-02T01:04:05Z"), ..Filter::default() }), ["bb"]);
    assert_eq!(found(Filter { since: text("2026-02-02T01:04:06Z"), ..Filter::default() }), [""; 0]);
    assert_eq!(found(Filter { since: text("2026-01-01"), ..Filter::default() }), ["bb", "aa"]);
    let listed = store.list(&Filter::default(), &|_| true).unwrap();
    assert_eq!(listed[1].device.as_deref(), Some("sda,sdb"));
    let answer = store.query("select target, host, device, iops from runs order by number limit 1").unwrap();
    assert_eq!(json!(answer.rows), json!([["/a", "one", "sda,sdb", 24_001.6]]));
}
