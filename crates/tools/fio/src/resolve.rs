//! From what was said to what is meant: one part of a job after the other.

use super::cmdprio;
use super::dedupe;
use super::diagnostic::Trouble;
use super::distribution::check_distribution;
use super::engines::engine;
use super::inherit::Typed;
use super::job::*;
use super::limits::terms;
use super::numbers;
use super::options::OptionId;
use super::pattern;
use super::placement::{conditions, cpus};
use super::reader::OptionReader;
use super::replay;
use super::report_options::reporting;
use super::values::split_names;
use fathom_spec::{Think, Verb};

/// What a job means.
pub fn meant(typed: &Typed) -> Result<Job, Trouble> {
    let reader = OptionReader(typed);
    let engine = engine(&reader)?;
    let direction = direction(&reader)?;
    let job = Job {
        name: own_name(typed).unwrap_or(&typed.name).to_owned(),
        section: typed.name.clone(),
        description: reader.text(OptionId::Description).map(str::to_owned),
        at: typed.at.clone(),
        own: typed.own.clone(),
        start: starting(&reader)?,
        files: files(&reader)?,
        area: area(&reader)?,
        replay: replay::said(&reader)?,
        sizes: sizes(&reader, &direction)?,
        pace: pacing(&reader)?,
        stop: ending(&reader)?,
        data: data(&reader, &direction)?,
        sync: syncing(&reader)?,
        place: conditions(&reader)?,
        thread: reader.switch(OptionId::Thread),
        report: reporting(&reader)?,
        terms: terms(&reader)?,
        engine,
        direction,
    };
    check_distribution(&job)?;
    Ok(job)
}

/// `name=` of the job itself: that of a `[global]` names nobody.
fn own_name(typed: &Typed) -> Option<&str> {
    let own = typed.own.iter().find(|(name, _)| *name == OptionId::Name.name());
    own.map(|(_, value)| value.as_str())
}

/// A number, where 0 says as little as nothing.
fn some(number: u64) -> Option<u64> {
    Some(number).filter(|number| *number > 0)
}

/// Past the page cache: `direct` goes before `buffered`, whichever stands first.
fn is_direct(reader: &OptionReader) -> bool {
    reader.said_switch(OptionId::Direct).unwrap_or_else(|| !reader.switch(OptionId::Buffered))
}

fn starting(reader: &OptionReader) -> Result<Starting, Trouble> {
    let clones = reader.small(OptionId::Numjobs)?;
    if clones > 65_536 {
        return Err(reader.wrong(OptionId::Numjobs, "more than 65536 clones", "say fewer"));
    }
    Ok(Starting {
        stonewall: reader.switch(OptionId::Stonewall) || reader.0.begins_file,
        wait_for: reader.text(OptionId::WaitFor).map(str::to_owned),
        delay: reader.times(OptionId::Startdelay),
        new_group: reader.switch(OptionId::NewGroup),
        clones,
    })
}

fn files(reader: &OptionReader) -> Result<Files, Trouble> {
    let list = |id: OptionId| reader.text(id).map(split_names).unwrap_or_default();
    let names = list(OptionId::Filename);
    if names.iter().any(|name| name == "-") {
        return Err(reader.wrong(OptionId::Filename, "pipes are not measured", "name a file or a device"));
    }
    let (service, run) = reader.word_and_rest(OptionId::FileServiceType);
    Ok(Files {
        names,
        directories: list(OptionId::Directory),
        format: reader.text(OptionId::FilenameFormat).unwrap_or_default().to_owned(),
        count: reader.small(OptionId::Nrfiles)?,
        service: (service, run.map(str::to_owned)),
        create: reader.switch(OptionId::AllowFileCreate),
        create_only: reader.switch(OptionId::CreateOnly),
        fallocate: reader.word(OptionId::Fallocate),
        overwrite: reader.switch(OptionId::Overwrite),
        pre_read: reader.switch(OptionId::PreRead),
        unlink: reader.switch(OptionId::Unlink),
        create_on_open: reader.switch(OptionId::CreateOnOpen),
        below: reader.some_text(OptionId::Opendir),
    })
}

fn area(reader: &OptionReader) -> Result<Area, Trouble> {
    let zones = match reader.word(OptionId::Zonemode) {
        "zbd" => {
            return Err(reader.wrong(
                OptionId::Zonemode,
                "zoned devices are not supported",
                "say none or strided",
            ));
        }
        "strided" => {
            let size = reader.bytes(OptionId::Zonesize)?;
            if size == 0 {
                return Err(reader.wrong(OptionId::Zonemode, "zones need a size", "say zonesize="));
            }
            let range = match reader.bytes(OptionId::Zonerange)? {
                0 => size,
                range => range,
            };
            Some((size, range, reader.bytes(OptionId::Zoneskip)?))
        }
        _ if reader.bytes(OptionId::Zonesize)? > 0 => {
            let hint = "say zonemode=strided, or leave zonesize out";
            return Err(reader.wrong(OptionId::Zonesize, "it means nothing with zonemode=none", hint));
        }
        _ => None,
    };
    let file_size = reader.ranges(OptionId::Filesize)[0];
    if file_size.is_some_and(|(least, _)| least == 0) {
        return Err(reader.wrong(OptionId::Filesize, "a file has at least 1 byte", "say filesize=1m"));
    }
    let said = |id: OptionId| reader.amount(id).filter(|amount| *amount != numbers::Amount::Bytes(0));
    Ok(Area {
        size: said(OptionId::Size),
        file_size,
        io_size: said(OptionId::IoSize),
        offset: reader.amount(OptionId::Offset),
        increment: reader.amount(OptionId::OffsetIncrement),
        align: reader.count(OptionId::OffsetAlign),
        append: reader.switch(OptionId::FileAppend),
        zones,
    })
}

fn direction(reader: &OptionReader) -> Result<Direction, Trouble> {
    let (word, modifier) = reader.word_and_rest(OptionId::Readwrite);
    let word = if word == "readwrite" { "rw" } else { word };
    let modifier = match modifier {
        None => None,
        Some(text) => {
            let (back, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
            let number = numbers::bytes(digits, reader.base()).and_then(|number| i64::try_from(number).ok());
            // Only what goes in order goes back.
            let number = number.filter(|number| *number > 0 && !(back && word.starts_with("rand")));
            let wrong = || {
                reader.wrong(
                    OptionId::Readwrite,
                    &format!(":{text} is no number"),
                    "say rw=randread:8 or rw=read:512k",
                )
            };
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
    let percents = reader.three(OptionId::PercentageRandom).map(Option::unwrap_or_default);
    if percents.iter().any(|percent| *percent != percents[0]) {
        return Err(reader.wrong(OptionId::PercentageRandom, "one value for all directions", "say one"));
    }
    let blockalign = reader.is_said(OptionId::Blockalign);
    let (distribution, shape) = reader.word_and_rest(OptionId::RandomDistribution);
    if distribution == "sequence" {
        let what = "sequence is known and not supported here: offsets are drawn, or one behind the other";
        return Err(reader.wrong(OptionId::RandomDistribution, what, "say random, or rw=read or rw=write"));
    }
    let generator = OptionId::RandomGenerator;
    Ok(Direction {
        word,
        verbs,
        random: word.starts_with("rand"),
        modifier,
        identical: reader.word(OptionId::RwSequencer) == "identical",
        read_percent: read_percent(reader),
        distribution: (distribution, shape.map(str::to_owned)),
        random_percent: percents[0] as u8,
        map: !reader.switch(OptionId::Norandommap) && !blockalign,
        generator: reader.is_said(generator).then(|| reader.word(generator)),
        seed: reader.integer(OptionId::Randseed) as u64,
        repeat: reader.switch(OptionId::Randrepeat)
            || reader.switch(OptionId::Allrandrepeat)
            || reader.is_said(OptionId::Randseed),
    })
}

/// The one that was said later wins where they do not add up.
fn read_percent(reader: &OptionReader) -> u8 {
    let (reads, writes) =
        (reader.said_integer(OptionId::Rwmixread), reader.said_integer(OptionId::Rwmixwrite));
    let percent = match (reads, writes) {
        (Some(reads), None) => reads,
        (None, None) => reader.integer(OptionId::Rwmixread),
        (None, Some(writes)) => 100 - writes,
        (Some(reads), Some(writes)) => {
            if reader.place(OptionId::Rwmixwrite).span.start > reader.place(OptionId::Rwmixread).span.start {
                100 - writes
            } else {
                reads
            }
        }
    };
    percent.clamp(0, 100) as u8
}

fn sizes(reader: &OptionReader, direction: &Direction) -> Result<BlockSizes, Trouble> {
    let bytes = reader.three(OptionId::Blocksize).map(Option::unwrap_or_default);
    let mut ranges = bytes.map(|bytes| (bytes, bytes));
    for (range, said) in ranges.iter_mut().zip(reader.ranges(OptionId::BlocksizeRange)) {
        *range = said.unwrap_or(*range);
    }
    let split = match reader.text(OptionId::Bssplit) {
        None => Default::default(),
        Some(text) => block_split(text, reader)?,
    };
    for (range, split) in ranges.iter_mut().zip(&split) {
        let (least, most) = (split.iter().map(|p| p.0).min(), split.iter().map(|p| p.0).max());
        *range = least.zip(most).unwrap_or(*range);
    }
    // A gigabyte in one I/O is more than the kernel takes in one (2 GiB less a page), and a buffer each.
    if let Some((_, most)) = ranges.iter().find(|(least, most)| *least == 0 || *most > 1 << 30) {
        let what = format!("blocks of {most} bytes are not possible");
        return Err(reader.wrong(OptionId::Blocksize, &what, "say something from 1 to 1g"));
    }
    let by_order_said = reader.switch(OptionId::BsIsSeqRand);
    let said = by_order_said.then_some(ranges);
    let (ranges, split) = match by_order_said {
        true => by_order(reader, direction, (ranges, split))?,
        false => (ranges, split),
    };
    let unaligned = reader.switch(OptionId::BlocksizeUnaligned);
    if unaligned && is_direct(reader) {
        let what = "direct I/O takes whole blocks of the device only";
        return Err(reader.wrong(OptionId::BlocksizeUnaligned, what, "leave it out, or say direct=0"));
    }
    if unaligned && !matches!(reader.word(OptionId::Verify), "0" | "null") {
        return Err(reader.wrong(
            OptionId::BlocksizeUnaligned,
            "a block that is verified is whole",
            "leave one of them out",
        ));
    }
    let align = reader.three(OptionId::Blockalign);
    if align.iter().any(|one| *one != align[0]) {
        return Err(reader.wrong(OptionId::Blockalign, "one value for all directions", "say one"));
    }
    Ok(BlockSizes { ranges, split, align: align[0].filter(|align| *align > 0), said, unaligned })
}

/// Sizes of each direction.
type Sizes = ([(u64, u64); 3], [Vec<(u64, u8)>; 3]);

/// `bs_is_seq_rand`: what is said for reads is that of what goes in order, what is said for writes that of the rest.
fn by_order(reader: &OptionReader, direction: &Direction, (ranges, split): Sizes) -> Result<Sizes, Trouble> {
    let part = direction.random && (1..100).contains(&direction.random_percent);
    if part && (ranges[0] != ranges[1] || split[0] != split[1]) {
        let what = "sizes of a load that is random in part are not told apart";
        return Err(reader.wrong(
            OptionId::BsIsSeqRand,
            what,
            "leave percentage_random out, or say one size",
        ));
    }
    let of = usize::from(direction.random && direction.random_percent > 0);
    Ok(([ranges[of]; 3], std::array::from_fn(|_| split[of].clone())))
}

/// `4k/50:8k/:16k/`, for reads, writes and trims with commas; what is left blank shares what is left over.
fn block_split(text: &str, reader: &OptionReader) -> Result<[Vec<(u64, u8)>; 3], Trouble> {
    let wrong = |what: &str| reader.wrong(OptionId::Bssplit, what, "say bssplit=4k/60:64k/40");
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() > 3 {
        return Err(wrong("more than three lists"));
    }
    let mut lists: [Vec<(u64, u8)>; 3] = Default::default();
    for (number, part) in parts.iter().enumerate() {
        lists[number] = weights(part, reader).map_err(|what| wrong(&what))?;
    }
    for number in parts.len()..3 {
        lists[number] = lists[number - 1].clone();
    }
    Ok(lists)
}

fn weights(part: &str, reader: &OptionReader) -> Result<Vec<(u64, u8)>, String> {
    let mut said: Vec<(u64, Option<u64>)> = Vec::new();
    for one in part.split(':').filter(|one| !one.trim().is_empty()) {
        let (size, percent) = one.split_once('/').unwrap_or((one, ""));
        let size = numbers::bytes(size, reader.base())
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

fn pacing(reader: &OptionReader) -> Result<Pacing, Trouble> {
    if reader.word(OptionId::ThinktimeBlocksType) == "issue" {
        return Err(reader.wrong(
            OptionId::ThinktimeBlocksType,
            "only completions are counted",
            "say complete",
        ));
    }
    let depth = reader.small(OptionId::Iodepth)?;
    if depth > 65_536 {
        return Err(reader.wrong(OptionId::Iodepth, "more than 65536 outstanding I/Os", "say fewer"));
    }
    let think = reader.some_time(OptionId::Thinktime).map(|time| {
        let spin = reader.time(OptionId::ThinktimeSpin).min(time);
        let work = reader.time(OptionId::ThinktimeIotime);
        // With a length of work alone it is not counted how much is done in it.
        let uncounted = work.0 > 0 && !reader.is_said(OptionId::ThinktimeBlocks);
        let every = if uncounted { u64::MAX } else { reader.count(OptionId::ThinktimeBlocks) };
        Think { wait: time, spin, every, work }
    });
    let target = reader.some_time(OptionId::LatencyTarget).map(|target| {
        let percent = reader.floats(OptionId::LatencyPercentile)[0];
        (target, reader.time(OptionId::LatencyWindow), percent)
    });
    Ok(Pacing {
        depth,
        low: reader.said_small(OptionId::IodepthLow)?,
        batch: (
            reader.said_small(OptionId::IodepthBatch)?,
            reader.said_small(OptionId::IodepthBatchCompleteMin)?,
            reader.said_small(OptionId::IodepthBatchCompleteMax)?,
        ),
        rate: reader.three_positive(OptionId::Rate),
        rate_iops: reader.three_positive(OptionId::RateIops),
        poisson: reader.word(OptionId::RateProcess) == "poisson",
        think,
        target,
        no_overlap: reader.switch(OptionId::SerializeOverlap),
        flow: Some(reader.integer(OptionId::Flow))
            .filter(|w| *w != 0)
            .map(|w| (reader.integer(OptionId::FlowId), w)),
    })
}

fn ending(reader: &OptionReader) -> Result<Ending, Trouble> {
    let time = reader.some_time(OptionId::Runtime);
    let loops = reader.count(OptionId::Loops).max(1);
    if loops > 1 && reader.switch(OptionId::UnlinkEachLoop) {
        let hint = "leave it out, or say loops=1";
        return Err(reader.wrong(OptionId::UnlinkEachLoop, "files stay open while a job runs", hint));
    }
    Ok(Ending {
        time,
        // Without a runtime fio warns and goes on as if it had not been said.
        time_based: reader.switch(OptionId::TimeBased) && time.is_some(),
        ramp: reader.time(OptionId::RampTime),
        loops,
        operations: some(reader.count(OptionId::NumberIos)),
        takes_down: reader.switch(OptionId::Exitall).then(|| reader.word(OptionId::ExitWhat)),
    })
}

fn data(reader: &OptionReader, direction: &Direction) -> Result<Data, Trouble> {
    let bytes = |id: OptionId| -> Result<Option<Vec<u8>>, Trouble> {
        let Some(text) = reader.text(id) else { return Ok(None) };
        let bytes = pattern::bytes(text).map_err(|(what, hint)| reader.wrong(id, &what, &hint))?;
        Ok(Some(bytes))
    };
    let verify = Some(reader.word(OptionId::Verify)).filter(|word| *word != "0");
    if verify == Some("pattern_hdr") {
        let what =
            "pattern_hdr is known and not supported here: the headers of fio's later releases are not read";
        return Err(reader.wrong(OptionId::Verify, what, "say verify=pattern or verify=meta"));
    }
    if verify.is_some() && direction.verbs == [Verb::Trim] {
        return Err(reader.wrong(
            OptionId::Verify,
            "what is discarded cannot be checked",
            "leave verify out",
        ));
    }
    let (verify_pattern, verify_places) = match reader.text(OptionId::VerifyPattern) {
        Some(text) if verify == Some("pattern") => {
            let wrong = |(what, hint): (String, String)| reader.wrong(OptionId::VerifyPattern, &what, &hint);
            let (bytes, places) = pattern::placed(text).map_err(wrong)?;
            (Some(bytes), places)
        }
        _ => (bytes(OptionId::VerifyPattern)?, Vec::new()),
    };
    if verify == Some("pattern") && verify_pattern.is_none() {
        return Err(reader.wrong(
            OptionId::Verify,
            "a pattern is to be checked and none is said",
            "say verify_pattern=0xdeadbeef",
        ));
    }
    let backlog = some(reader.count(OptionId::VerifyBacklog));
    Ok(Data {
        zero: reader.switch(OptionId::ZeroBuffers),
        pattern: bytes(OptionId::BufferPattern)?,
        compress_percent: reader.count(OptionId::BufferCompressPercentage) as u8,
        dedupe_percent: reader.count(OptionId::DedupePercentage) as u8,
        working_set: dedupe::said(reader)?,
        verify,
        verify_pattern,
        verify_places,
        verify_interval: reader.small(OptionId::VerifyInterval)?,
        verify_offset: reader.small(OptionId::VerifyOffset)?,
        do_verify: reader.switch(OptionId::DoVerify),
        verify_only: reader.switch(OptionId::VerifyOnly),
        by_anyone: !(reader.switch(OptionId::VerifyWriteSequence)
            && reader.switch(OptionId::VerifyHeaderSeed)),
        fatal: reader.switch(OptionId::VerifyFatal),
        dumps: reader.switch(OptionId::VerifyDump),
        backlog: backlog
            .map(|every| (every, some(reader.count(OptionId::VerifyBacklogBatch)).unwrap_or(every))),
        checkers: checkers(reader)?,
        checker_cpus: cpus(reader, OptionId::VerifyAsyncCpus)?.unwrap_or_default(),
        discards: cmdprio::discards(reader)?,
        saves_state: reader.switch(OptionId::VerifyStateSave),
        loads_state: reader.switch(OptionId::VerifyStateLoad),
    })
}

/// Threads that check, each with a buffer or two.
fn checkers(reader: &OptionReader) -> Result<u32, Trouble> {
    match reader.small(OptionId::VerifyAsync)? {
        many if many > 1024 => {
            Err(reader.wrong(OptionId::VerifyAsync, "more than 1024 threads", "say fewer"))
        }
        threads => Ok(threads),
    }
}

fn syncing(reader: &OptionReader) -> Result<Syncing, Trouble> {
    let range = match reader.text(OptionId::SyncFileRange) {
        None => None,
        Some(text) => {
            let (words, every) = text.rsplit_once(':').unwrap_or((text, ""));
            let known =
                words.split(',').all(|word| matches!(word.trim(), "wait_before" | "write" | "wait_after"));
            let every = numbers::bytes(every, reader.base()).filter(|every| *every > 0 && known);
            let hint = "say sync_file_range=wait_before,write:8";
            Some(every.ok_or_else(|| {
                reader.wrong(OptionId::SyncFileRange, "it says not what, or not how often", hint)
            })?)
        }
    };
    let open = match reader.word(OptionId::Sync) {
        "sync" | "1" => "sync",
        "dsync" => "dsync",
        _ => "none",
    };
    let atomic = reader.switch(OptionId::Atomic);
    Ok(Syncing {
        direct: atomic || is_direct(reader),
        barrier: reader.count(OptionId::WriteBarrier) > 0,
        atomic,
        open,
        fsync: some(reader.count(OptionId::Fsync)),
        fdatasync: some(reader.count(OptionId::Fdatasync)),
        range,
        end_fsync: reader.switch(OptionId::EndFsync) || reader.switch(OptionId::FsyncOnClose),
    })
}
