//! From what was said to what is meant: one part of a job after the other.

use super::cmdprio;
use super::dedupe;
use super::diagnostic::Trouble;
use super::engines::engine;
use super::inherit::Typed;
use super::job::*;
use super::limits::terms;
use super::numbers;
use super::pattern;
use super::placement::{conditions, cpus};
use super::replay;
use super::report_options::reporting;
use super::values::Value;
use fathom_spec::{Nanos, Think, Verb};

/// What a job means.
pub fn meant(typed: &Typed) -> Result<Job, Trouble> {
    let look = Look(typed);
    let engine = engine(&look)?;
    let direction = direction(&look)?;
    Ok(Job {
        name: look.text("name").unwrap_or(&typed.name).to_owned(),
        description: look.text("description").map(str::to_owned),
        at: typed.at.clone(),
        own: typed.own.clone(),
        start: starting(&look)?,
        files: files(&look)?,
        area: area(&look)?,
        replay: replay::said(&look)?,
        sizes: sizes(&look, &direction)?,
        pace: pacing(&look)?,
        stop: ending(&look)?,
        data: data(&look, &direction)?,
        sync: syncing(&look)?,
        place: conditions(&look)?,
        thread: look.switch("thread", false),
        report: reporting(&look)?,
        terms: terms(&look)?,
        engine,
        direction,
    })
}

fn starting(look: &Look) -> Result<Starting, Trouble> {
    let delay = match look.value("startdelay") {
        Some(Value::Time(least, most)) => (*least, *most),
        _ => (Nanos(0), Nanos(0)),
    };
    let clones = look.small("numjobs", 1)?;
    if clones > 65_536 {
        return Err(look.wrong("numjobs", "more than 65536 clones", "say fewer"));
    }
    Ok(Starting {
        stonewall: look.switch("stonewall", false) || look.0.begins_file,
        wait_for: look.text("wait_for").map(str::to_owned),
        delay,
        new_group: look.switch("new_group", false),
        clones,
    })
}

fn files(look: &Look) -> Result<Files, Trouble> {
    let list = |name: &str| look.text(name).map(split_names).unwrap_or_default();
    let names = list("filename");
    if names.iter().any(|name| name == "-") {
        return Err(look.wrong("filename", "pipes are not measured", "name a file or a device"));
    }
    Ok(Files {
        names,
        directories: list("directory"),
        format: look.text("filename_format").unwrap_or("$jobname.$jobnum.$filenum").to_owned(),
        count: look.small("nrfiles", 1)?,
        service: look.word("file_service_type", "roundrobin"),
        create: look.switch("allow_file_create", true),
        create_only: look.switch("create_only", false),
        fallocate: look.word("fallocate", "native").0,
        overwrite: look.switch("overwrite", false),
        pre_read: look.switch("pre_read", false),
        unlink: look.switch("unlink", false),
        create_on_open: look.switch("create_on_open", false),
        below: look.text("opendir").filter(|text| !text.is_empty()).map(str::to_owned),
    })
}

/// Names with `:` between them; `\:` is a colon in a name.
pub fn split_names(text: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let name = names.last_mut().expect("there is always a last name");
        match letter {
            '\\' if letters.peek() == Some(&':') => name.extend(letters.next()),
            ':' => names.push(String::new()),
            letter => name.push(letter),
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

fn area(look: &Look) -> Result<Area, Trouble> {
    let file_size = match look.value("filesize") {
        Some(Value::Ranges([Some(range), _, _])) => Some(*range),
        _ => None,
    };
    let zones = match look.word("zonemode", "none").0 {
        "zbd" => {
            return Err(look.wrong("zonemode", "zoned devices are not supported", "say none or strided"));
        }
        "strided" => {
            let size = look.bytes("zonesize")?;
            if size == 0 {
                return Err(look.wrong("zonemode", "zones need a size", "say zonesize="));
            }
            let range = match look.bytes("zonerange")? {
                0 => size,
                range => range,
            };
            Some((size, range, look.bytes("zoneskip")?))
        }
        _ => None,
    };
    let said = |name: &str| look.amount(name).filter(|amount| *amount != numbers::Amount::Bytes(0));
    Ok(Area {
        size: said("size"),
        file_size,
        io_size: said("io_size"),
        offset: look.amount("offset"),
        increment: look.amount("offset_increment"),
        align: look.count("offset_align").unwrap_or(0),
        append: look.switch("file_append", false),
        zones,
    })
}

fn direction(look: &Look) -> Result<Direction, Trouble> {
    let (word, modifier) = look.word("rw", "read");
    let word = if word == "readwrite" { "rw" } else { word };
    let modifier = match modifier {
        None => None,
        Some(text) => {
            let (back, digits) = text.strip_prefix('-').map_or((false, text.as_str()), |rest| (true, rest));
            let number = numbers::bytes(digits, look.base()).and_then(|number| i64::try_from(number).ok());
            // Only what goes in order goes back.
            let number = number.filter(|number| *number > 0 && !(back && word.starts_with("rand")));
            let wrong =
                || look.wrong("rw", &format!(":{text} is no number"), "say rw=randread:8 or rw=read:512k");
            Some(number.map(|number| if back { -number } else { number }).ok_or_else(wrong)?)
        }
    };
    let verbs = match word {
        "read" | "randread" => vec![Verb::Read],
        "write" | "randwrite" => vec![Verb::Write],
        "trim" | "randtrim" => vec![Verb::Trim],
        "trimwrite" | "randtrimwrite" => vec![Verb::Trim, Verb::Write],
        _ => vec![Verb::Read, Verb::Write],
    };
    let percents = look.three("percentage_random").map(|percent| percent.unwrap_or(100));
    if percents.iter().any(|percent| *percent != percents[0]) {
        return Err(look.wrong("percentage_random", "one value for all directions", "say one"));
    }
    let blockalign = look.value("ba").is_some();
    Ok(Direction {
        word,
        verbs,
        random: word.starts_with("rand"),
        modifier,
        identical: look.word("rw_sequencer", "sequential").0 == "identical",
        read_percent: read_percent(look),
        distribution: look.word("random_distribution", "random"),
        random_percent: percents[0] as u8,
        map: !look.switch("norandommap", false) && !blockalign,
        generator: look.value("random_generator").map(|_| look.word("random_generator", "tausworthe").0),
        seed: look.integer("randseed").unwrap_or(0x89) as u64,
        repeat: look.switch("randrepeat", true) || look.switch("allrandrepeat", false),
    })
}

/// The one that was said later wins where they do not add up.
fn read_percent(look: &Look) -> u8 {
    let (reads, writes) = (look.integer("rwmixread"), look.integer("rwmixwrite"));
    let percent = match (reads, writes) {
        (None, None) => 50,
        (Some(reads), None) => reads,
        (None, Some(writes)) => 100 - writes,
        (Some(reads), Some(writes)) => {
            if look.place("rwmixwrite").span.start > look.place("rwmixread").span.start {
                100 - writes
            } else {
                reads
            }
        }
    };
    percent.clamp(0, 100) as u8
}

fn sizes(look: &Look, direction: &Direction) -> Result<BlockSizes, Trouble> {
    let mut ranges = [(4096, 4096); 3];
    for (range, said) in ranges.iter_mut().zip(look.three("bs")) {
        *range = said.map_or(*range, |bytes| (bytes, bytes));
    }
    if let Some(Value::Ranges(said)) = look.value("bsrange") {
        for (range, said) in ranges.iter_mut().zip(said) {
            *range = said.unwrap_or(*range);
        }
    }
    let split = match look.text("bssplit") {
        None => Default::default(),
        Some(text) => block_split(text, look)?,
    };
    for (range, split) in ranges.iter_mut().zip(&split) {
        let (least, most) = (split.iter().map(|p| p.0).min(), split.iter().map(|p| p.0).max());
        *range = least.zip(most).unwrap_or(*range);
    }
    // A gigabyte in one I/O is more than the kernel takes in one (2 GiB less a page), and a buffer each.
    if let Some((_, most)) = ranges.iter().find(|(least, most)| *least == 0 || *most > 1 << 30) {
        let what = format!("blocks of {most} bytes are not possible");
        return Err(look.wrong("bs", &what, "say something from 1 to 1g"));
    }
    let by_order_said = look.switch("bs_is_seq_rand", false);
    let said = by_order_said.then_some(ranges);
    let (ranges, split) = match by_order_said {
        true => by_order(look, direction, (ranges, split))?,
        false => (ranges, split),
    };
    let unaligned = look.switch("bs_unaligned", false);
    if unaligned && look.switch("direct", !look.switch("buffered", true)) {
        let what = "direct I/O takes whole blocks of the device only";
        return Err(look.wrong("bs_unaligned", what, "leave it out, or say direct=0"));
    }
    if unaligned && !matches!(look.word("verify", "0").0, "0" | "null") {
        return Err(look.wrong("bs_unaligned", "a block that is verified is whole", "leave one of them out"));
    }
    let align = look.three("ba");
    if align.iter().any(|one| *one != align[0]) {
        return Err(look.wrong("ba", "one value for all directions", "say one"));
    }
    Ok(BlockSizes { ranges, split, align: align[0].filter(|align| *align > 0), said, unaligned })
}

/// Sizes of each direction.
type Sizes = ([(u64, u64); 3], [Vec<(u64, u8)>; 3]);

/// `bs_is_seq_rand`: what is said for reads is that of what goes in order, what is said for writes that of the rest.
fn by_order(look: &Look, direction: &Direction, (ranges, split): Sizes) -> Result<Sizes, Trouble> {
    let part = direction.random && (1..100).contains(&direction.random_percent);
    if part && (ranges[0] != ranges[1] || split[0] != split[1]) {
        let what = "sizes of a load that is random in part are not told apart";
        return Err(look.wrong("bs_is_seq_rand", what, "leave percentage_random out, or say one size"));
    }
    let of = usize::from(direction.random && direction.random_percent > 0);
    Ok(([ranges[of]; 3], std::array::from_fn(|_| split[of].clone())))
}

/// `4k/50:8k/:16k/`, for reads, writes and trims with commas; what is left blank shares what is left over.
fn block_split(text: &str, look: &Look) -> Result<[Vec<(u64, u8)>; 3], Trouble> {
    let wrong = |what: &str| look.wrong("bssplit", what, "say bssplit=4k/60:64k/40");
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() > 3 {
        return Err(wrong("more than three lists"));
    }
    let mut lists: [Vec<(u64, u8)>; 3] = Default::default();
    for (number, part) in parts.iter().enumerate() {
        lists[number] = weights(part, look).map_err(|what| wrong(&what))?;
    }
    for number in parts.len()..3 {
        lists[number] = lists[number - 1].clone();
    }
    Ok(lists)
}

fn weights(part: &str, look: &Look) -> Result<Vec<(u64, u8)>, String> {
    let mut said: Vec<(u64, Option<u64>)> = Vec::new();
    for one in part.split(':').filter(|one| !one.trim().is_empty()) {
        let (size, percent) = one.split_once('/').unwrap_or((one, ""));
        let size = numbers::bytes(size, look.base())
            .filter(|size| *size > 0)
            .ok_or(format!("{size:?} is no size"))?;
        let percent = match percent.trim() {
            "" => None,
            text => Some(
                text.parse::<u64>().ok().filter(|p| *p <= 100).ok_or(format!("{text:?} is no percentage"))?,
            ),
        };
        said.push((size, percent));
    }
    let sum: u64 = said.iter().filter_map(|(_, percent)| *percent).sum();
    if sum > 100 {
        return Err(format!("its percentages add up to {sum}"));
    }
    if said.len() > 64 {
        return Err("more than 64 sizes".to_owned());
    }
    let blank = said.iter().filter(|(_, percent)| percent.is_none()).count() as u64;
    let each = (100 - sum).checked_div(blank).unwrap_or(0);
    Ok(said.into_iter().map(|(size, percent)| (size, percent.unwrap_or(each) as u8)).collect())
}

fn pacing(look: &Look) -> Result<Pacing, Trouble> {
    if look.word("thinktime_blocks_type", "complete").0 == "issue" {
        return Err(look.wrong("thinktime_blocks_type", "only completions are counted", "say complete"));
    }
    let depth = look.small("iodepth", 1)?;
    if depth > 65_536 {
        return Err(look.wrong("iodepth", "more than 65536 outstanding I/Os", "say fewer"));
    }
    let small = |name: &str| -> Result<Option<u32>, Trouble> {
        look.count(name).map(|_| look.small(name, 0)).transpose()
    };
    let think = look.time("thinktime").filter(|time| time.0 > 0).map(|time| {
        let spin = look.time("thinktime_spin").unwrap_or(Nanos(0)).min(time);
        let work = look.time("thinktime_iotime").unwrap_or(Nanos(0));
        // With a length of work alone it is not counted how much is done in it.
        let every = if work.0 > 0 { u64::MAX } else { 1 };
        Think { wait: time, spin, every: look.count("thinktime_blocks").unwrap_or(every), work }
    });
    let target = look.time("latency_target").filter(|time| time.0 > 0).map(|target| {
        let percent = match look.value("latency_percentile") {
            Some(Value::Floats(list)) => list.first().copied().unwrap_or(100.0),
            _ => 100.0,
        };
        (target, look.time("latency_window").unwrap_or(Nanos(0)), percent)
    });
    let positive = |name: &str| look.three(name).map(|value| value.filter(|number| *number > 0));
    Ok(Pacing {
        depth,
        low: small("iodepth_low")?,
        batch: (
            small("iodepth_batch")?,
            small("iodepth_batch_complete_min")?,
            small("iodepth_batch_complete_max")?,
        ),
        rate: positive("rate"),
        rate_iops: positive("rate_iops"),
        poisson: look.word("rate_process", "linear").0 == "poisson",
        think,
        target,
        no_overlap: look.switch("serialize_overlap", false),
        flow: look.integer("flow").filter(|w| *w != 0).map(|w| (look.integer("flow_id").unwrap_or(0), w)),
    })
}

fn ending(look: &Look) -> Result<Ending, Trouble> {
    let time = look.time("runtime").filter(|time| time.0 > 0);
    let loops = look.count("loops").unwrap_or(1).max(1);
    if loops > 1 && look.switch("unlink_each_loop", false) {
        let hint = "leave it out, or say loops=1";
        return Err(look.wrong("unlink_each_loop", "files stay open while a job runs", hint));
    }
    Ok(Ending {
        time,
        // Without a runtime fio warns and goes on as if it had not been said.
        time_based: look.switch("time_based", false) && time.is_some(),
        ramp: look.time("ramp_time").unwrap_or(Nanos(0)),
        loops,
        operations: look.count("number_ios").filter(|number| *number > 0),
        takes_down: look.switch("exitall", false).then(|| look.word("exit_what", "group").0),
    })
}

fn data(look: &Look, direction: &Direction) -> Result<Data, Trouble> {
    let bytes = |name: &str| -> Result<Option<Vec<u8>>, Trouble> {
        let Some(text) = look.text(name) else { return Ok(None) };
        let bytes = pattern::bytes(text).map_err(|(what, hint)| look.wrong(name, &what, &hint))?;
        Ok(Some(bytes))
    };
    let verify = Some(look.word("verify", "0").0).filter(|word| *word != "0");
    if verify.is_some() && direction.verbs == [Verb::Trim] {
        return Err(look.wrong("verify", "what is discarded cannot be checked", "leave verify out"));
    }
    let (verify_pattern, verify_places) = match look.text("verify_pattern") {
        Some(text) if verify == Some("pattern") => {
            let wrong = |(what, hint): (String, String)| look.wrong("verify_pattern", &what, &hint);
            let (bytes, places) = pattern::placed(text).map_err(wrong)?;
            (Some(bytes), places)
        }
        _ => (bytes("verify_pattern")?, Vec::new()),
    };
    if verify == Some("pattern") && verify_pattern.is_none() {
        return Err(look.wrong(
            "verify",
            "a pattern is to be checked and none is said",
            "say verify_pattern=0xdeadbeef",
        ));
    }
    let backlog = look.count("verify_backlog").filter(|every| *every > 0);
    Ok(Data {
        zero: look.switch("zero_buffers", false),
        pattern: bytes("buffer_pattern")?,
        compress_percent: look.count("buffer_compress_percentage").unwrap_or(0) as u8,
        dedupe_percent: look.count("dedupe_percentage").unwrap_or(0) as u8,
        working_set: dedupe::said(look)?,
        verify,
        verify_pattern,
        verify_places,
        verify_interval: look.small("verify_interval", 0)?,
        verify_offset: look.small("verify_offset", 0)?,
        do_verify: look.switch("do_verify", true),
        verify_only: look.switch("verify_only", false),
        fatal: look.switch("verify_fatal", false),
        dumps: look.switch("verify_dump", false),
        backlog: backlog
            .map(|every| (every, look.count("verify_backlog_batch").filter(|b| *b > 0).unwrap_or(every))),
        checkers: checkers(look)?,
        checker_cpus: cpus(look, "verify_async_cpus")?.unwrap_or_default(),
        discards: cmdprio::discards(look)?,
        saves_state: look.switch("verify_state_save", true),
        loads_state: look.switch("verify_state_load", false),
    })
}

/// Threads that check, each with a buffer or two.
fn checkers(look: &Look) -> Result<u32, Trouble> {
    match look.small("verify_async", 0)? {
        many if many > 1024 => Err(look.wrong("verify_async", "more than 1024 threads", "say fewer")),
        threads => Ok(threads),
    }
}

fn syncing(look: &Look) -> Result<Syncing, Trouble> {
    let every = |name: &str| look.count(name).filter(|number| *number > 0);
    let range = match look.text("sync_file_range") {
        None => None,
        Some(text) => {
            let (words, every) = text.rsplit_once(':').unwrap_or((text, ""));
            let known =
                words.split(',').all(|word| matches!(word.trim(), "wait_before" | "write" | "wait_after"));
            let every = numbers::bytes(every, look.base()).filter(|every| *every > 0 && known);
            let hint = "say sync_file_range=wait_before,write:8";
            Some(
                every.ok_or_else(|| {
                    look.wrong("sync_file_range", "it says not what, or not how often", hint)
                })?,
            )
        }
    };
    let open = match look.word("sync", "none").0 {
        "sync" | "1" => "sync",
        "dsync" => "dsync",
        _ => "none",
    };
    let atomic = look.switch("atomic", false);
    Ok(Syncing {
        direct: atomic || look.switch("direct", !look.switch("buffered", true)),
        barrier: look.count("write_barrier").is_some_and(|every| every > 0),
        atomic,
        open,
        fsync: every("fsync"),
        fdatasync: every("fdatasync"),
        range,
        end_fsync: look.switch("end_fsync", false) || look.switch("fsync_on_close", false),
    })
}
