//! SLOB's and pgio's language, to the byte.

use fathom_record::*;
use fathom_slob::advice::Advice;
use fathom_slob::demand::{self, Demand, Whose};
use fathom_slob::log::{self, Kind};
use fathom_slob::run_context::Server;
use fathom_slob::table::PARAMETERS;
use fathom_slob::verdict::{self, Meaning};
use fathom_slob::*;
use fathom_spec::*;

fn text(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The parameters that `slob.conf` is shipped with.
const SHIPPED: &str = "UPDATE_PCT=10
SCAN_PCT=0
RUN_TIME=300
WORK_LOOP=0
SCALE=80M
SCAN_TABLE_SZ=1M
WORK_UNIT=64
REDO_STRESS=LITE
LOAD_PARALLEL_DEGREE=2

THREADS_PER_SCHEMA=1
DATABASE_STATISTICS_TYPE=statspack   # Permitted values: [statspack|awr]
#ADMIN_SQLNET_SERVICE=slob
EXTERNAL_SCRIPT=''
DO_HOTSPOT=FALSE
HOTSPOT_MB=8
HOTSPOT_OFFSET_MB=16
HOTSPOT_FREQUENCY=3
HOT_SCHEMA_FREQUENCY=0
THINK_TM_FREQUENCY=0
THINK_TM_MIN=.1
THINK_TM_MAX=.5

export UPDATE_PCT SCAN_PCT RUN_TIME \\
    WORK_LOOP SCALE
";

#[test]
fn slob_conf_is_read_as_it_is_shipped() {
    let found = read_conf("slob.conf", SHIPPED).unwrap();
    let expected = Settings {
        words: Words::Slob,
        update_pct: 10,
        statistics: Statistics::Statspack,
        ..Settings::default()
    };
    assert_eq!(found, expected);
    assert_eq!(found.fit(Bytes(8192)), Ok(10_240));
    assert_eq!(found.select_touches(), 63, "custid > b - 64 and custid < b");
    assert!(found.notes.is_empty());
    assert_eq!(read_conf("slob.conf", &SHIPPED.replace('\n', "\r\n")).unwrap(), found);
}

#[test]
fn what_a_file_does_not_set_has_the_scripts_own_fallback_and_is_said() {
    let found = read_conf("slob.conf", "SCALE=1G\nTHREADS_PER_SCHEMA=4\n").unwrap();
    assert_eq!((found.update_pct, found.work_unit, found.threads), (25, 256, 4));
    assert_eq!(found.notes.len(), 3);
    let pgio = read_conf("pgio.conf", "NUM_SCHEMAS=2\n").unwrap();
    assert_eq!((pgio.words, pgio.scale, pgio.work_unit), (Words::Pgio, Amount::Size(Bytes(128 * GIB)), 255));
}

#[test]
fn pgio_conf_is_read_as_it_is_shipped() {
    let conf = "UPDATE_PCT=0\nRUN_TIME=120\nNUM_SCHEMAS=4\nNUM_THREADS=2\nWORK_UNIT=255\nUPDATE_WORK_UNIT=8\nSCALE=1G\n\nDBNAME=pg10\nCONNECT_STRING=\"pg10\"\n\nCREATE_BASE_TABLE=TRUE\n";
    let found = read_conf("pgio.conf", conf).unwrap();
    assert_eq!((found.words, found.schemas, found.threads), (Words::Pgio, 4, 2));
    assert_eq!((found.select_touches(), found.update_touches()), (256, 9), "between b and b + unit");
    assert_eq!((found.database.as_deref(), found.connect.as_deref()), (Some("pg10"), Some("pg10")));
    assert_eq!(found.run_time, Nanos::from_seconds(120));
}

#[test]
fn what_is_wrong_in_a_file_is_named_with_its_line_and_what_to_do() {
    for (line, says) in [
        ("UPDATE_PCT=51", "UPDATE_PCT=51 is refused, as SLOB does"),
        ("UPDATE_PCT=99", "51 to 99 percent cannot be had"),
        ("SCAN_PCT=75", "SCAN_PCT=75 is refused"),
        ("UPDATE_PCT=101", "not a whole number from 0 to 100"),
        ("RUN_TIME=29", "less than 30 seconds"),
        ("SCALE=9999", "less than 10000 blocks"),
        ("SCALE=12K", "neither a number of blocks nor a size"),
        ("WORK_UNIT=2", "from 3 to 1024"),
        ("WORK_UNIT=1025", "from 3 to 1024"),
        ("REDO_STRESS=MEDIUM", "one of LITE, HEAVY"),
        ("DATABASE_STATISTICS_TYPE=none", "one of awr, statspack"),
        ("SYSBA_PASSWD=x", "did you mean SYSDBA_PASSWD?"),
        ("THREDS_PER_SCHEMA=2", "did you mean THREADS_PER_SCHEMA?"),
        ("COLOUR=2", "lists every parameter"),
        ("SQLNET_SERVICE_BASE=slob", "Oracle's network services"),
        ("ADMIN_SQLNET_SERVICE=slob", "Oracle's network services"),
        ("UNIQUE_INDEX=PERHAPS", "UNIQUE_INDEX=PERHAPS"),
        ("NUM_THREADS=2", "a parameter of pgio.conf"),
        ("SCALE=$SIZE", "asks a shell to fill something in"),
        ("SCALE=`echo 1G`", "asks a shell"),
        ("EXTERNAL_SCRIPT='x", "a ' is not closed"),
        ("rm -rf x", "\"rm\" is no assignment"),
        ("THINK_TM_MIN=2 THINK_TM_MAX=1", "is longer than THINK_TM_MAX"),
        ("THREADS_PER_SCHEMA=4097", "from 1 to 4096"),
    ] {
        let error = read_conf("slob.conf", &format!("SCAN_TABLE_SZ=1M\n{line}\n")).unwrap_err().to_string();
        assert!(error.contains(says), "{line}: {error}");
        assert!(error.starts_with("slob.conf") && error.contains("\nhint: "), "{line}: {error}");
    }
    let error = read_conf("slob.conf", "SCAN_PCT=0\n\nSCALE=12K\n").unwrap_err().what;
    assert!(error.starts_with("slob.conf line 3: "), "{error}");
    let small = read_conf("pgio.conf", "NUM_SCHEMAS=1\nSCALE=1023\n").unwrap_err().what;
    assert!(small.contains("less than 1024 blocks"), "{small}");
}

#[test]
fn every_parameter_of_both_scripts_works_or_is_refused_by_name() {
    let values =
        ["0", "1", "64", "100", "TRUE", "FALSE", "80M", "300", "LITE", "awr", "text", "10240", "8192", ""];
    for row in PARAMETERS {
        let words = if row.script == table::Script::Pgio { Words::Pgio } else { Words::Slob };
        let taken = values.iter().any(|value| Settings::fallbacks(words).set(row.name, value).is_ok());
        let refused = Settings::fallbacks(words).set(row.name, "text");
        assert!(taken, "{}", row.name);
        assert!(refused.is_ok() || refused.unwrap_err().what.contains(row.name), "{}", row.name);
    }
    assert_eq!(PARAMETERS.len(), 35);
}

#[test]
fn scale_units_and_hot_spots_must_fit_the_blocks() {
    let eight = Bytes(8192);
    let set = |pairs: &[(&str, &str)]| {
        let mut settings = Settings::default();
        pairs.iter().for_each(|(name, value)| settings.set(name, value).unwrap());
        settings
    };
    assert_eq!(set(&[("SCALE", "8G")]).fit(eight), Ok(1_048_576));
    assert_eq!(set(&[("SCALE", "8G")]).fit(Bytes(16_384)), Ok(524_288));
    assert_eq!(set(&[("SCALE", "1024")]).fit(eight), Ok(1024));
    for (pairs, says) in [
        (vec![("SCALE", "1M")], "SCALE 1M is 128 blocks of 8 KiB, and the least is 1024"),
        (vec![("SCALE", "1024"), ("WORK_UNIT", "512")], "WORK_UNIT 512 does not fit into SCALE 1024"),
        (vec![("SCALE", "20M"), ("DO_HOTSPOT", "TRUE")], "the hot spot ends at 24 MB, behind SCALE 20M"),
        (vec![("BLOCK_SZ", "4096")], "BLOCK_SZ=4096 is asked for, and this database has blocks of 8192"),
    ] {
        let error = set(&pairs).fit(eight).unwrap_err().what;
        assert!(error.contains(says), "{error}");
    }
    let hot = set(&[("DO_HOTSPOT", "TRUE")]);
    assert_eq!(hot.hot_blocks(eight), Some((2048, 1024, 3)));
    assert_eq!(set(&[]).hot_blocks(eight), None);
    assert_eq!(set(&[("THINK_TM_MIN", ".25")]).think.least, Nanos::from_millis(250));
}

fn told() -> RunContext {
    RunContext {
        settings: Settings { schemas: 16, threads: 8, ..Settings::fallbacks(Words::Pgio) },
        product: "PostgreSQL 15.8".into(),
        connect: "pg10".into(),
        database: "pg10".into(),
        block: Bytes(8192),
        blocks: 1_048_576,
        cache: Some(("shared_buffers".into(), Bytes(GIB))),
        page_cache: Some(Bytes(4 * GIB)),
        page_cache_limited: false,
        server: Server::Running,
        server_settings: Vec::new(),
        plans: Vec::new(),
        disks: vec!["vda".into()],
        log_disks: Vec::new(),
        host: "db1".into(),
        kernel: "6.1.0".into(),
        cpus: 2,
        memory: Some(Bytes(16 * GIB)),
        warm_up_ns: 0,
        counted: Vec::new(),
        shown: None,
        diskstats: None,
    }
}

#[test]
fn pgios_lines_are_pgios() {
    let mut told = told();
    told.settings.scale = Amount::Size(Bytes(8 * GIB));
    let head = text(|out| log::pgio_head(&told, "Tue May 22 16:30:36 UTC 2018", out));
    assert_eq!(
        head,
        "Date: Tue May 22 16:30:36 UTC 2018
Database connect string: \"pg10\". 
Shared buffers: 1GB. 
Testing 16 schemas with 8 thread(s) accessing 8G (1048576 blocks) of each schema.
Running iostat, vmstat and mpstat on current host--in background.
Launching sessions. 16 schema(s) will be accessed by 8 thread(s) each.
"
    );
    let counters = |blocks_hit, blocks_read, rows_returned, rows_fetched| DatabaseCounters {
        blocks_hit,
        blocks_read,
        rows_returned,
        rows_fetched,
        rows_updated: 5_536_938,
    };
    let before = counters(792_845_449, 1_708_568_898, 1_803_194_168, 1_510_064_234);
    let after = counters(793_924_241, 1_767_645_677, 1_862_352_512, 1_569_219_899);
    assert_eq!(
        text(|out| log::pgio_result(&told, (&before, &after), 120, out)),
        "pg_stat_database stats:
          datname| blks_hit| blks_read|tup_returned|tup_fetched|tup_updated
BEFORE:  pg10    | 792845449 | 1708568898 |   1803194168 |  1510064234 |     5536938
AFTER:   pg10    | 793924241 | 1767645677 |   1862352512 |  1569219899 |     5536938
DBNAME:  pg10. 16 schemas, 8 threads(each). Run time: 120 seconds. RIOPS >492306< CACHE_HITS/s >8989<

"
    );
}

#[test]
fn pgios_files_have_a_line_for_each_session_and_the_disks_before_and_after() {
    let mut told = told();
    let run = &record(Vec::new()).runs[0];
    let detail = text(|out| pgio_files::session_detail(&told, run, out));
    let lines: Vec<&str> = detail.lines().collect();
    assert!(
        lines[1].starts_with(" mypid | loop_iterations | sql_selects | sql_updates | sql_select_max_tm |")
    );
    assert_eq!((lines[0], lines[3], lines.len()), ("", "", 4 + run.workers.len()), "{detail}");
    for line in &lines[4..] {
        let places = |text: &str| text.match_indices(['|', '+']).map(|(at, _)| at).collect::<Vec<_>>();
        assert_eq!(places(line), places(lines[2]), "{detail}");
    }
    told.diskstats = Some((" 254 0 vda 1\n".into(), " 254 0 vda 2\n".into()));
    assert_eq!(text(|out| pgio_files::diskstats(&told, out)), " 254 0 vda 1\n\n 254 0 vda 2\n\n");
}

#[test]
fn slobs_lines_are_slobs() {
    let line = |kind, says: &str| text(|out| log::line(kind, "2026.11.21-07:06:15", says, out));
    assert_eq!(
        line(Kind::Notify, "SLOB test is complete."),
        "NOTIFY  : 2026.11.21-07:06:15 : SLOB test is complete.\n"
    );
    assert_eq!(line(Kind::Fatal, "x"), "FATAL   : 2026.11.21-07:06:15 : x\n");
    assert_eq!(line(Kind::Warning, "x"), "WARNING : 2026.11.21-07:06:15 : x\n");
    let settings = read_conf("slob.conf", SHIPPED).unwrap();
    let shown = text(|out| log::settings(&settings, 10_240, out));
    assert!(shown.starts_with(
        "UPDATE_PCT: 10\nSCAN_PCT: 0\nRUN_TIME: 300\nWORK_LOOP: 0\nSCALE: 80M (10240 blocks)\n"
    ));
    assert!(
        shown.contains("\nTHINK_TM_MIN: .1\nTHINK_TM_MAX: .5\nDATABASE_STATISTICS_TYPE: statspack\n"),
        "{shown}"
    );
    let secret = Settings { password: Some("hunter2".into()), ..settings };
    assert!(!text(|out| log::settings(&secret, 1, out)).contains("hunter2"));
    assert_eq!(
        log::connecting(&Settings { threads: 2, schemas: 10, ..Settings::default() }),
        "Connecting 2 (THREADS_PER_SCHEMA) session(s) to 10 schema(s) ..."
    );
}

/// What was counted in ten seconds: so many table blocks, of them not in the cache, and bytes that the disk read.
fn counted(logical: u64, physical: u64, disk_bytes: u64) -> Counted {
    Counted {
        seconds: 10.0,
        logical: Some(logical * 3),
        physical: Some(physical),
        table_logical: Some(logical),
        table_physical: Some(physical),
        device: Some(Device { reads: disk_bytes / 8192, read_bytes: disk_bytes, ..Device::default() }),
        ..Counted::default()
    }
}

#[test]
fn the_verdict_says_disk_or_cache_and_what_to_do() {
    let mut told = told();
    (told.settings.schemas, told.blocks) = (2, 131_072);
    let disk = verdict::judge(&counted(10_000, 9_800, 9_700 * 8192), &told);
    assert_eq!(disk.meaning, Meaning::Disk);
    assert_eq!(
        disk.says,
        "you are measuring the disk: 97 % of the table blocks that were asked for came from it"
    );
    let cached = verdict::judge(&counted(10_000, 300, 300 * 8192), &told);
    assert_eq!(
        cached.says,
        "you are measuring the cache: 97 % of the blocks came from memory (shared_buffers); run with --server DIR --limit-cache 256M and SCALE 1280M, or raise SCALE to at least 25G"
    );
    let page = verdict::judge(&counted(10_000, 9_000, 3_000 * 8192), &told);
    assert_eq!(
        page.says,
        "you are measuring the cache: 70 % of the blocks came from memory (10 % from shared_buffers, 60 % from the page cache); run with --server DIR --limit-cache 256M and SCALE 1280M, or raise SCALE to at least 25G"
    );
    told.blocks = 13_107_200;
    (told.page_cache_limited, told.server) = (true, Server::Own);
    assert!(!verdict::judge(&counted(10_000, 300, 0), &told).says.contains("--limit-cache"));
}

#[test]
fn index_hits_do_not_hide_that_the_table_came_from_the_disk() {
    // With one row for each select two of three blocks are the index's, and hits: 0.31 in all, 94 % of the table.
    let seen = Counted { physical: Some(9_400), ..counted(10_000, 9_400, 9_400 * 8192) };
    assert_eq!(verdict::judge(&seen, &told()).meaning, Meaning::Disk);
}

#[test]
fn others_on_the_disk_are_not_taken_for_the_database() {
    let seen = Counted { process_read_bytes: Some(0), ..counted(10_000, 10_000, 20_000 * 8192) };
    assert_eq!(verdict::judge(&seen, &told()).meaning, Meaning::Cache);
    assert_eq!(verdict::judge(&Counted::default(), &told()).meaning, Meaning::Unknown);
    let elsewhere = Counted { device: None, ..counted(10_000, 9_900, 0) };
    assert_eq!(verdict::judge(&elsewhere, &told()).meaning, Meaning::Unknown);
}

/// A run of nothing with these samples, and the record around it.
fn record(samples: Vec<Sample>) -> ResultRecord {
    let run =
        Run { name: "sessions".into(), length_ns: 10_000_000_000, samples, ..Run::empty(&Plan::new(1)) };
    ResultRecord {
        schema: SCHEMA,
        id: "x".into(),
        tool: "slob".into(),
        version: "0.1.0".into(),
        command: Vec::new(),
        max_latency: None,
        label: None,
        started: "2026-11-21T07:06:15+00:00".into(),
        ended: "2026-11-21T07:06:25+00:00".into(),
        ending: Ending::Complete,
        targets: Vec::new(),
        simulated: false,
        facts: serde_json::Value::Null,
        runs: vec![run],
        summary: Default::default(),
        curves: Vec::new(),
        verdict: Verdict { state: VerdictState::CannotTell, checks: Vec::new() },
        expectations: Vec::new(),
        notes: Vec::new(),
    }
}

#[test]
fn the_report_has_the_lines_that_scripts_look_for() {
    let mut told = told();
    told.counted = vec![Counted {
        logical: Some(164_600),
        written: Some(16_000),
        read_requests: Some(155_523),
        write_requests: Some(15_897),
        redo_bytes: Some(20_000_000),
        cpu_ns: Some(5_000_000_000),
        ..counted(160_000, 155_523, 155_523 * 8192)
    }];
    let report = text(|out| awr::write(&told, &record(Vec::new()), 0, out));
    for line in [
        "              DB CPU(s):               0.5\n",
        "      Redo size (bytes):       2,000,000.0\n",
        "  Logical read (blocks):          16,460.0\n",
        " Physical read (blocks):          15,552.3\n",
        "Physical write (blocks):           1,600.0\n",
        "       Read IO requests:          15,552.3\n",
        "      Write IO requests:           1,589.7\n",
        "   Elapsed:                0.17 (mins)\n",
        "physical read IO requests                   155,523       15,552.3     155,523.0\n",
        "physical write IO requests                   15,897        1,589.7      15,897.0\n",
        "redo size                                20,000,000    2,000,000.0  20,000,000.0\n",
        // The sum that people quote.
        "Total IOPS: 17,142.0 (reads 15,552.3 of these sessions + writes 1,589.7 of the server)\n",
        "Top 10 Foreground Events by Total Wait Time\n",
        "\nForeground Wait Events\n",
        "\nBackground Wait Events\n",
        "Verdict: you are measuring the disk: 97 % of the table blocks that were asked for came from it\n",
    ] {
        assert!(report.contains(line), "{line}\n{report}");
    }
    assert_eq!(report.matches("Read IO requests").count(), 1, "a grep finds one line");
}

fn samples() -> Vec<Sample> {
    let mut all = Vec::new();
    for (at_ns, stat, memory, uptime, reads) in [
        (
            0,
            "cpu 100 0 100 800 0 0 0 0 0 0\ncpu0 100 0 100 800 0 0 0 0 0 0\nintr 1000 5 5\nctxt 2000\nprocs_running 2\nprocs_blocked 1\n",
            "MemFree: 1000 kB\nBuffers: 10 kB\nCached: 500 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\npgpgin 4000\npgpgout 0\npswpin 0\npswpout 0\n",
            "10.00 5.00\n",
            100u64,
        ),
        (
            3_000_000_000,
            "cpu 250 0 130 980 30 0 0 0 0 0\ncpu0 250 0 130 980 30 0 0 0 0 0\nintr 4000 5 5\nctxt 8000\nprocs_running 1\nprocs_blocked 0\n",
            "MemFree: 900 kB\nBuffers: 10 kB\nCached: 600 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\npgpgin 10000\npgpgout 300\npswpin 0\npswpout 0\n",
            "13.00 5.00\n",
            700,
        ),
    ] {
        sysstat::samples_of_stat(stat, at_ns, &mut all);
        sysstat::samples_of_memory(memory, at_ns, &mut all);
        sysstat::sample_of_uptime(uptime, at_ns, &mut all);
        for (name, value) in [
            ("reads", reads),
            ("sectors_read", reads * 16),
            ("read_ms", reads * 2),
            ("io_ms", reads),
            ("weighted_ms", reads * 2),
        ] {
            all.push(Sample { at_ns, of: "iostat vda".into(), name: name.into(), value });
        }
    }
    all
}

#[test]
fn vmstat_and_mpstat_are_as_procps_and_sysstat_write_them() {
    let record = record(samples());
    assert_eq!(
        text(|out| sysstat::vmstat(&record, &record.runs[0], out)),
        "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu----- -----timestamp-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st                 UTC
 2  1      0   1000     10    500    0    0   400     0  100  200 10 10 80  0  0 2026-11-21 07:06:15
 1  0      0    900     10    600    0    0  2000   100 1000 2000 38  8 46  8  0 2026-11-21 07:06:18
"
    );
    let arch = std::env::consts::ARCH;
    assert_eq!(
        text(|out| sysstat::mpstat(&told(), &record, &record.runs[0], out)),
        format!(
            "Linux 6.1.0 (db1) \t11/21/2026 \t_{arch}_\t(2 CPU)

07:06:15 AM  CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle
07:06:18 AM  all   38.46    0.00    7.69    7.69    0.00    0.00    0.00    0.00    0.00   46.15
07:06:18 AM    0   38.46    0.00    7.69    7.69    0.00    0.00    0.00    0.00    0.00   46.15

"
        )
    );
}

#[test]
fn iostat_is_as_sysstat_writes_it() {
    let record = record(samples());
    let shown = text(|out| sysstat::iostat(&told(), &record, &record.runs[0], out));
    let second = "11/21/2026 07:06:18 AM
avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          38.46    0.00    7.69    7.69    0.00   46.15

Device            r/s     rMB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wMB/s   wrqm/s  %wrqm w_await wareq-sz     d/s     dMB/s   drqm/s  %drqm d_await dareq-sz     f/s f_await  aqu-sz  %util
vda            200.00      1.56     0.00   0.00    2.00     8.00    0.00      0.00     0.00   0.00    0.00     0.00    0.00      0.00     0.00   0.00    0.00     0.00    0.00    0.00    0.40  20.00


";
    assert!(shown.ends_with(second), "{shown}");
    assert!(shown.contains("\nvda             10.00      0.08 "), "since boot: {shown}");
}

#[test]
fn db_stats_have_a_line_for_each_session() {
    let mut told = told();
    told.settings.schemas = 2;
    let mut record = record(Vec::new());
    let worker = |worker| WorkerTotals {
        user_ns: 200_000_000,
        system_ns: 50_000_000,
        ..WorkerTotals::finished(StreamId(0), worker, (0, 10_000_000_000))
    };
    record.runs[0].workers = (0..3).map(worker).collect();
    let shown = text(|out| awr::db_stats(&told, &record.runs[0], out));
    assert_eq!(shown, "user1|1000|25|2.5|\nuser2|1000|25|2.5|\nuser1|1000|25|2.5|\n");
    assert_eq!(text(|out| awr::tm(&record.runs[0], out)), "Tm 10\n");
}

#[test]
fn one_sentence_names_database_host_or_storage() {
    let calm = Demand {
        reads: 800.0,
        writes: 200.0,
        read_size: 8192.0,
        write_size: 16_384.0,
        read_ms: Some(0.4),
        write_ms: Some(0.6),
        queue: 0.44,
        cpu: Some(0.12),
        steal: Some(0.0),
        disks_known: true,
        syncs: Some(50.0),
        log_mbps: Some(0.4),
        ..Demand::default()
    };
    let says = |demand: &Demand, expected| demand::judge(demand, expected);
    assert_eq!(
        says(&calm, Some(0.3)),
        (Whose::Database, "the database, if anything is slow: its storage answers reads in 400 us and the processors are 12 % busy".into())
    );
    assert_eq!(
        says(&Demand { read_ms: Some(24.0), ..calm.clone() }, Some(1.2)),
        (
            Whose::Storage,
            "the storage: it answers reads in 24 ms, and its calibration gives 1.20 ms at 800 reads a second"
                .into()
        )
    );
    assert_eq!(says(&Demand { read_ms: Some(24.0), ..calm.clone() }, None).0, Whose::Storage);
    assert_eq!(says(&Demand { read_ms: Some(24.0), ..calm.clone() }, Some(20.0)).0, Whose::Database);
    assert_eq!(says(&Demand { flush_ms: Some(60.0), ..calm.clone() }, None).0, Whose::Storage);
    assert_eq!(says(&Demand { cpu: Some(0.97), ..calm.clone() }, None).0, Whose::Host);
    assert_eq!(says(&Demand { steal: Some(0.3), ..calm.clone() }, None).0, Whose::Host);
    assert_eq!(says(&Demand { disks_known: false, ..calm.clone() }, None).0, Whose::Unknown);
    // Its sessions waited for reads on a busy host: the processors were blamed.
    let busy = Demand { cpu: Some(0.99), server_read_ms: Some(7.5), ..calm.clone() };
    let found = |states: &[(&str, u64)]| {
        let states = states.iter().map(|(state, looks)| ((*state).to_owned(), *looks)).collect();
        says(&Demand { states: Some(states), ..busy.clone() }, None)
    };
    assert_eq!(
        found(&[("IO:DataFileRead", 90), ("CPU", 10)]),
        (Whose::Storage, "the storage: sessions at work spent 90 % of their time in waits for I/O (IO:DataFileRead 90 %, CPU 10 %); a read takes 7.50 ms by the server's own clock".into())
    );
    assert_eq!(found(&[("Lock:transactionid", 90), ("CPU", 10)]).0, Whose::Database);
    assert_eq!(found(&[("CPU", 100)]).0, Whose::Host);
    assert_eq!(found(&[]).0, Whose::Unknown, "an idle database on a busy host");
    let waits = Demand { readers: Some(4.0), ..busy.clone() };
    assert_eq!(says(&waits, None).0, Whose::Storage);
    let elsewhere = text(|out| demand::jobs(&calm, None, out));
    assert!(
        elsewhere.starts_with("DIR stands for a directory") && elsewhere.contains(" DIR\n"),
        "{elsewhere}"
    );
    assert_eq!(
        text(|out| demand::jobs(&calm, Some("/srv/pg"), out)),
        "the same asked of the disk alone:

  fathom calibrate --block-size 8k --mix 80/20 /srv/pg
  fathom run --mix 80/20 --block 8k --rate 1000 --time 60s /srv/pg

  [global]
  directory=/srv/pg
  size=4g
  ioengine=libaio
  direct=1
  time_based=1
  runtime=60

  [data]
  rw=randrw
  rwmixread=80
  rate_iops=800,200
  bs=8k
  iodepth=1

  [log]
  rw=write
  bs=16k
  fdatasync=1
  rate_iops=0,50
"
    );
}

/// Blocks of so many bytes, read at random, of which so much can be in memory: what a run of them shows.
fn modelled(told: &RunContext, memory: u64) -> verdict::Judged {
    let data = told.data().0;
    let from_disk = 1.0 - (memory as f64 / data as f64).min(1.0);
    let misses = (from_disk * 1e6) as u64;
    let page_cache = told.page_cache.map_or(0, |size| size.0);
    let (own, answered) = match page_cache {
        0 => (misses, misses),
        // The database's own cache is small beside it.
        _ => (980_000, misses.min(980_000)),
    };
    verdict::judge(&counted(1_000_000, own, answered * told.block.0), told)
}

/// With updates the advice asked for more at every turn, and never led to a run that passed.
#[test]
fn each_advice_of_the_verdict_leads_to_a_run_that_passes() {
    let base = RunContext { blocks: 16_384, ..told() };
    let direct = vec![("innodb_flush_method".to_owned(), "O_DIRECT".to_owned())];
    let buffered = vec![("innodb_flush_method".to_owned(), "fsync".to_owned())];
    let cases = [
        RunContext { server: Server::Running, ..base.clone() },
        RunContext { server: Server::Own, ..base.clone() },
        RunContext { server: Server::Embedded, ..base.clone() },
        RunContext {
            server: Server::Own,
            page_cache_limited: true,
            page_cache: Some(Bytes(GIB)),
            ..base.clone()
        },
        RunContext { server_settings: direct, ..base.clone() },
        RunContext { server_settings: buffered, ..base.clone() },
        RunContext { blocks: 40_000_000, ..base.clone() },
    ];
    for (case, told) in cases.into_iter().enumerate() {
        let memory = |told: &RunContext| {
            told.cache.as_ref().map_or(0, |(_, size)| size.0) + told.page_cache.map_or(0, |size| size.0)
        };
        let judged = modelled(&told, memory(&told).max(told.data().0 * 2 / 5));
        assert_eq!(judged.meaning, Meaning::Cache, "{case}");
        assert!(!judged.advice.is_empty());
        for advice in judged.advice {
            let mut then = told.clone();
            let mut grow = |size: &Option<Bytes>| {
                if let Some(size) = size {
                    then.blocks = size.0 / then.block.0;
                }
            };
            match &advice {
                Advice::NoHotSpot => panic!("there is none"),
                Advice::Scale(size) => grow(&Some(*size)),
                Advice::Pool { pool, scale, .. } => {
                    grow(scale);
                    then.cache = Some(("innodb_buffer_pool_size".into(), *pool));
                    then.page_cache = None;
                }
                Advice::Limit { limit, scale, .. } | Advice::MemoryGroup { limit, scale } => {
                    grow(scale);
                    then.cache = None;
                    then.page_cache = Some(*limit);
                }
            }
            // What InnoDB reads past the page cache does not lie there.
            let direct = then.setting("innodb_flush_method") == Some("O_DIRECT");
            if direct && matches!(advice, Advice::Scale(_)) {
                then.page_cache = None;
            }
            let passed = modelled(&then, memory(&then));
            assert_eq!(passed.meaning, Meaning::Disk, "{case}: {advice}: {}", passed.says);
        }
    }
}

#[test]
fn on_sqlite_the_advice_names_a_server_and_a_memory_group() {
    let told = RunContext { server: Server::Embedded, blocks: 2048, ..told() };
    let says = verdict::judge(&counted(1000, 1000, 0), &told).says;
    assert!(
        says.contains("run fathom in a memory control group (systemd-run --scope -p MemoryMax=256M)"),
        "{says}"
    );
    assert!(says.contains("run with --server DIR --limit-cache 256M and SCALE "), "{says}");
}

fn agreeing(rows_counted: u64) -> Counted {
    let agreement = Agreement {
        rows_touched: 1000,
        rows_counted: Some(rows_counted),
        statements: 100,
        seconds_counted: 10.0,
        seconds: 10.0,
        ..Agreement::default()
    };
    Counted { agreement: Some(agreement), ..counted(1000, 1000, 1000 * 8192) }
}

/// Rows that were counted twice, a connection that was killed, somebody else on the server: no figure said so.
#[test]
fn a_record_says_when_the_server_and_the_sessions_disagree() {
    let check = |counted: &Counted| checks::counters(counted, &told()).unwrap();
    assert_eq!(check(&agreeing(1015)).outcome, CheckOutcome::Passed);
    let seen = check(&agreeing(1100));
    assert_eq!(seen.outcome, CheckOutcome::Failed);
    assert!(seen.seen.contains("1000 rows, the server counted 1100; somebody else reads"), "{}", seen.seen);
    let of = |change: fn(&mut Agreement)| {
        let mut counted = agreeing(1000);
        counted.agreement.as_mut().into_iter().for_each(change);
        check(&counted)
    };
    let lost = of(|agreement| agreement.seconds_counted = 2.0);
    assert_eq!(lost.outcome, CheckOutcome::Failed);
    assert!(lost.seen.contains("cover 2.0 of 10.0 s: the connection"), "{}", lost.seen);
    let others = of(|agreement| agreement.statements_of_others = Some(30));
    assert!(
        others.outcome == CheckOutcome::Failed && others.seen.contains("others ran 30"),
        "{}",
        others.seen
    );
    let elsewhere = Counted { process_read_bytes: Some(200_000_000), ..agreeing(1000) };
    assert!(check(&elsewhere).seen.contains("read for the sessions, and vda counted"));
    assert_eq!(checks::counters(&Counted::default(), &told()), None);
}

/// 19,631 of 200,000 operations a second were done, and nothing said so.
#[test]
fn a_rate_that_is_not_reached_is_a_failed_check() {
    let outcome = |asked, reached| checks::rate(Some(asked), Some(reached), 10.0).map(|check| check.outcome);
    assert_eq!(outcome(200_000.0, 19_631.0), Some(CheckOutcome::Failed));
    assert_eq!(outcome(1000.0, 990.0), Some(CheckOutcome::Passed));
    assert_eq!(outcome(10.0, 8.0), Some(CheckOutcome::Passed), "arrivals are random");
    assert_eq!(checks::rate(None, Some(1.0), 1.0), None);
}

#[test]
fn settings_that_take_the_disk_out_of_a_commit_are_named() {
    let with = |name: &str, value: &str| {
        let mut told = RunContext { server_settings: vec![(name.into(), value.into())], ..told() };
        told.settings.update_pct = 25;
        checks::durability(&told)
    };
    let off = with("fsync", "off").unwrap();
    assert_eq!(off.outcome, CheckOutcome::Failed);
    assert_eq!(off.seen, "fsync=off; fsync: no commit waits for the disk");
    assert_eq!(with("synchronous_commit", "off").unwrap().outcome, CheckOutcome::Noted);
    assert_eq!(with("innodb_doublewrite", "OFF").unwrap().outcome, CheckOutcome::Noted);
    assert_eq!(with("innodb_flush_log_at_trx_commit", "1").unwrap().outcome, CheckOutcome::Passed);
    assert_eq!(checks::durability(&told()), None, "nothing is updated");
}

/// The report charged the device's reads and writes, everybody's, to the database, and put DB CPU first whatever it was.
#[test]
fn wait_events_are_the_databases_own_and_the_longest_stands_first() {
    let mut told = told();
    let disk = Device {
        reads: 500_000,
        read_ms: 900_000,
        writes: 600_000,
        write_ms: 700_000,
        read_bytes: 1 << 32,
        ..Device::default()
    };
    let base = Counted { device: Some(disk), cpu_ns: Some(2_000_000_000), ..counted(10_000, 9_000, 0) };
    let mut report = |counted: Counted| {
        told.counted = vec![counted];
        text(|out| awr::write(&told, &record(Vec::new()), 0, out))
    };
    let timed = Counted {
        read_requests: Some(9_000),
        read_wait_ns: Some(61_000_000_000),
        written: Some(18),
        process_read_bytes: Some(9_000 * 8192),
        ..base.clone()
    };
    let shown = report(timed.clone());
    let top = shown.split("Top 10 Foreground Events").nth(1).unwrap();
    let reads = top.find("db file sequential read             9,000       61.0").expect(&shown);
    assert!(reads < top.find("DB CPU").unwrap(), "{shown}");
    assert!(shown.contains("db file parallel write               18     0      0.021"), "{shown}");
    assert!(shown.contains("Reads by the server's own clock; writes with the mean times of vda"), "{shown}");
    let idle =
        Counted { physical: Some(0), read_requests: Some(0), read_wait_ns: None, written: Some(0), ..timed };
    let shown = report(idle);
    assert!(!shown.contains("db file"), "{shown}");
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in ".{0,200}") {
        let _ = read_conf("slob.conf", &text);
    }

    #[test]
    fn any_value_is_taken_or_refused(row in 0usize..35, value in "[ -~]{0,12}") {
        let mut settings = Settings::default();
        if settings.set(PARAMETERS[row].name, &value).is_ok() {
            let _ = settings.fit(Bytes(8192));
        }
    }
}
