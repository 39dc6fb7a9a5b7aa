//! `fathom iozone`: its table and Excel blocks, its throughput mode, what it refuses, and what it leaves on the disk.

use crate::place::{Place, alone};

/// Columns of the table that hold something.
fn cells(line: &str) -> usize {
    line.split_whitespace().count()
}

/// Rows of the table.
fn rows(out: &str) -> Vec<&str> {
    let lines: Vec<&str> = out.lines().collect();
    let head = lines.iter().position(|line| line.contains("reclen")).unwrap();
    lines[head + 1..].iter().copied().take_while(|line| !line.is_empty()).collect()
}

#[test]
fn the_matrix_has_a_row_for_each_pair_of_sizes_and_a_block_for_each_test() {
    let _alone = alone();
    let place = Place::new();
    let words = "iozone -a -n 256 -g 512 -y 64 -q 512 -I -R -b out.xls -f ./t --budget 0";
    let words: Vec<&str> = words.split(' ').collect();
    let said = place.say(&words).ends(0);
    let lines: Vec<&str> = said.out.lines().collect();
    let rows = rows(&said.out);
    // 64, 128 and 256 KiB for 256; one more for 512.
    assert_eq!(rows.len(), 7, "{}", said.out);
    assert!(rows.iter().all(|row| cells(row) == 15), "{rows:?}");
    for line in
        ["\tAuto Mode", "\tO_DIRECT feature enabled", "\tOutput is in kBytes/sec", "Excel output is below:"]
    {
        assert!(lines.contains(&line), "{line}: {}", said.out);
    }
    assert_eq!(lines.iter().filter(|line| line.ends_with("report\"")).count(), 13);
    assert_eq!(said.err, "");
    let excel = std::fs::read_to_string(place.path().join("out.xls")).unwrap();
    assert!(said.out.ends_with(&excel) && excel.contains("\"Re-Fread report\""));
    assert!(!place.path().join("t").exists(), "the test's file stays behind");
    let kept = place.say(&["show", "last", "--json"]).ends(0).json();
    assert_eq!(kept["runs"].as_array().unwrap().len(), 91);
    assert!(kept["runs"][0]["name"].as_str().unwrap().starts_with("Writer report, 256 KiB"));
    let queues = kept["runs"][9]["queues"].to_string();
    assert!(kept["runs"][9]["name"].as_str().unwrap().starts_with("Fwrite") && queues.contains("buffered"));
    let notes = kept["notes"].to_string();
    assert!(notes.contains("-I and -o do not reach tests 6 and 7"), "{notes}");
}

#[test]
fn a_file_that_is_kept_can_be_read_later_and_units_are_those_asked_for() {
    let _alone = alone();
    let place = Place::new();
    place.say(&["iozone", "-s", "1m", "-r", "4k", "-i", "0", "-w", "-e", "-c", "-f", "t"]).ends(0);
    assert_eq!(std::fs::metadata(place.path().join("t")).unwrap().len(), 1 << 20);
    let said = place
        .say(&[
            "iozone", "-s", "1m", "-r", "4k", "-i", "1", "-i", "12", "-E", "-N", "-f", "t", "--budget", "20",
        ])
        .ends(0);
    assert!(said.out.contains("\tMicroseconds/op Mode."), "{}", said.out);
    assert!(said.out.contains("preadv repreadv") || said.out.contains("preadv  repreadv"), "{}", said.out);
    // What was there before stays.
    assert_eq!(std::fs::metadata(place.path().join("t")).unwrap().len(), 1 << 20);
    let kept = place.say(&["show", "last", "--json"]).ends(0).json();
    let notes = kept["notes"].to_string();
    assert!(notes.contains("the page cache answered the reads of 4 of 4 cells"), "{notes}");
    let cell = &kept["facts"]["surfaces"][0]["cells"][0];
    assert_eq!(cell["memory"], "the page cache held 100 % of the file");
    assert!(cell["passes"].as_array().unwrap().len() >= 3, "{cell}");
    assert!(cell["half_width"].is_number() && cell["passes"][0]["cached"] == 1.0, "{cell}");
}

#[test]
fn buffered_files_hold_what_was_written_whatever_the_record_and_the_last_buffer_too() {
    let _alone = alone();
    let place = Place::new();
    for record in ["1k", "4k", "64k"] {
        let words = ["iozone", "-s", "192k", "-r", record, "-i", "6", "-w", "--budget", "0", "-f", "t"];
        place.say(&words).ends(0);
        let bytes = std::fs::read(place.path().join("t")).unwrap();
        assert_eq!(bytes.len(), 192 << 10, "{record}");
        assert!(bytes.chunks(512).all(|part| part.iter().any(|byte| *byte != 0)), "{record}");
        std::fs::remove_file(place.path().join("t")).unwrap();
    }
}

#[test]
fn throughput_mode_has_a_block_for_each_phase_and_leaves_nothing() {
    let _alone = alone();
    let place = Place::new();
    let words: Vec<&str> = "iozone -t 2 -F a b -s 4m -r 64k -R -x".split(' ').collect();
    let said = place.say(&words).ends(0);
    let lines: Vec<&str> = said.out.lines().collect();
    for line in
        ["\tThroughput test with 2 processes", "\tEach process writes a 4096 kByte file in 64 kByte records"]
    {
        assert!(lines.contains(&line), "{line}: {}", said.out);
    }
    let figures = |begins: &str| -> Vec<f64> {
        let lines = lines.iter().filter(|line| line.trim_start().starts_with(begins));
        let figure = |line: &&str| line.split("= ").nth(1)?.split_whitespace().next()?.parse().ok();
        lines.filter_map(figure).collect()
    };
    let children = figures("Children see throughput for");
    assert_eq!(children.len(), 13, "{}", said.out);
    let (parents, least, most) =
        (figures("Parent sees"), figures("Min throughput per process"), figures("Max throughput"));
    for phase in 0..13 {
        assert!(least[phase] > 0.0 && least[phase] <= most[phase] && most[phase] <= children[phase]);
        assert!(parents[phase] <= children[phase] * 1.001, "{}", said.out);
    }
    // All did their whole file.
    assert_eq!(figures("Min xfer"), [4096.0; 13]);
    assert!(said.out.contains("\"  Initial write \" ") && said.out.contains("for 2 mixed workload \t="));
    assert!(!place.path().join("a").exists() && !place.path().join("b").exists());
    let kept = place.say(&["show", "last", "--json"]).ends(0).json();
    assert_eq!(kept["runs"].as_array().unwrap().len(), 13);
    assert_eq!(kept["runs"][0]["workers"].as_array().unwrap().len(), 2);
}

#[test]
fn the_first_that_is_done_ends_all_and_readers_find_whole_files_all_the_same() {
    let _alone = alone();
    let place = Place::new();
    let words: Vec<&str> = "iozone -t 3 -f d/x -s 8m -r 4k -i 0 -w -T".split(' ').collect();
    std::fs::create_dir(place.path().join("d")).unwrap();
    let said = place.say(&words).ends(0);
    assert!(said.out.contains("\tThroughput test with 3 threads"), "{}", said.out);
    for worker in 0..3 {
        let name = place.path().join(format!("d/x.DUMMY.{worker}"));
        let bytes = std::fs::read(&name).unwrap();
        assert_eq!(bytes.len(), 8 << 20);
        assert!(bytes.chunks(4096).all(|part| part.iter().any(|byte| *byte != 0)), "{worker}");
    }
    let kept = place.say(&["show", "last", "--json"]).ends(0).json();
    let bytes = |worker: &serde_json::Value| worker["counts"][0][1]["bytes"].as_u64().unwrap();
    let done: Vec<u64> = kept["runs"][0]["workers"].as_array().unwrap().iter().map(bytes).collect();
    assert!(done.contains(&(8 << 20)) && done.iter().all(|bytes| *bytes > 0), "{done:?}");
}

#[test]
fn a_page_has_a_map_and_a_surface_of_each_test() {
    let _alone = alone();
    let place = Place::new();
    let words = "iozone -a -n 256 -g 512 -y 64 -q 128 -i 0 -i 1 -f t --html page.html";
    let words: Vec<&str> = words.split(' ').collect();
    place.say(&words).ends(0);
    let page = std::fs::read_to_string(place.path().join("page.html")).unwrap();
    assert_eq!((page.matches("id=\"heat-").count(), page.matches("id=\"solid-").count()), (8, 8));
    assert!(page.contains("Every cell") && page.contains("nothing in its time waits for the disk"));
    // The same page of what was kept.
    place.say(&["show", "last", "--html", "again.html"]).ends(0);
    assert_eq!(std::fs::read_to_string(place.path().join("again.html")).unwrap(), page);
}

#[test]
fn what_cannot_be_done_is_refused_with_a_hint() {
    let place = Place::new();
    let lines = [
        ("-i 8", "test 8"),
        ("-t 2 -i 12", "test 12"),
        ("-s 4k -r 8k", "no record"),
        ("-i 9", "-E"),
        ("-Q", "fathom show --json"),
    ];
    for (line, words) in lines {
        let line: Vec<&str> = ["iozone"].into_iter().chain(line.split(' ')).collect();
        let said = place.say(&line).ends(1);
        assert!(said.err.contains(words) && said.err.contains("hint: "), "{line:?}: {}", said.err);
    }
    let mut full = place.fathom(&["iozone", "-s", "1m", "-r", "64k", "-i", "0", "-f", "/dev/full"]);
    full.env("FATHOM_WRITE_CONSENT", "/dev/full");
    let said = crate::place::say(full).ends(74);
    assert_eq!(said.out.matches("Run began").count(), 1);
    assert!(
        said.out.ends_with("\nError writing block 0, fd= 3\n\niozone: interrupted\n\nexiting iozone\n\n")
    );
    for (line, status, out, err) in [
        (
            "-i 1 -f missing",
            58,
            "\nCan not open temporary file missing for read\n",
            "open: No such file or directory\n",
        ),
        ("-i 0 -f no/t", 44, "\nCan not open temp file: no/t\n", "open: No such file or directory\n"),
        (
            "-t 2 -i 1 -F missing lost",
            58,
            "\nCan not open temporary file missing for read\n",
            "open: No such file or directory\n",
        ),
        ("-s", 255, "", "iozone: option requires an argument -- 's'\n"),
        ("-@", 255, "", "iozone: invalid option -- '@'\n"),
    ] {
        let line: Vec<&str> = ["iozone"].into_iter().chain(line.split(' ')).collect();
        let said = place.say(&line).ends(status);
        assert!(said.out.ends_with(out) && said.err == err, "{line:?}: {}{}", said.out, said.err);
    }
}

/// As 3.489 of Debian's non-free section printed them.
#[test]
fn the_banner_says_the_options_in_their_order_and_the_excel_blocks_have_all_records() {
    let _alone = alone();
    let place = Place::new();
    let words = "iozone -e -s 1m -O -j 5 -w -c -z -S 512 -L 64 -x -R -i 0 -i 5 -f t --budget 0";
    let said = place.say(&words.split(' ').collect::<Vec<_>>()).ends(0);
    let told: Vec<&str> = said.out.lines().skip_while(|line| !line.starts_with("\tRun began")).collect();
    let expected = [
        "",
        "\tInclude fsync in write timing",
        "\tFile size set to 1024 kB",
        "\tOPS Mode. Output is in operations per second.",
        "\tSetting no_unlink",
        "\tInclude close in write timing",
        "\tCross over of record size disabled.",
        "\tStonewall disabled",
        "\tExcel chart generation enabled",
    ];
    assert_eq!(told[1..10], expected, "{}", said.out);
    assert!(told[10].starts_with("\tCommand line used: "));
    let after = [
        "\tTime Resolution = 0.000001 seconds.",
        "\tProcessor cache size set to 512 kBytes.",
        "\tProcessor cache line size set to 64 bytes.",
        "\tFile stride size set to 5 * record size.",
    ];
    assert_eq!(told[11..15], after, "{}", said.out);
    assert_eq!(told[17].len(), 142, "a row without test 7 is a blank shorter: {:?}", told[17]);
    let head = "        \"4\"  \"8\"  \"16\"  \"32\"  \"64\"  \"128\"  \"256\"  \"512\"  \"1024\"  \"2048\"  \"4096\"  \"8192\"  \"16384\"";
    assert_eq!(said.out.lines().filter(|line| *line == head).count(), 3, "{}", said.out);
}
