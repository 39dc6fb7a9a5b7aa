//! dt's named workloads: an option that stands for others.

use super::error::OptionError;

/// Name, what it is, the options it stands for. Those of dt that name directories, files or job control are not here.
pub const WORKLOADS: &[(&str, &str, &str)] = &[
    ("web_file_server", "Web File Server Workload", "bs=64k readp=95 randp=5 disable=verify flags=direct"),
    (
        "dss_db",
        "Decision Support System Database Workload",
        "bs=1m readp=100 randp=100 disable=compare,verify flags=direct",
    ),
    ("media_streaming", "Media Streaming Workload", "bs=64k readp=98 randp=0 disable=verify flags=direct"),
    ("sql_Server_log", "SQL Server Log Workload", "bs=64k readp=0 randp=0 disable=verify flags=direct"),
    ("os_paging", "OS Paging Workload", "bs=64k readp=90 randp=0 disable=verify flags=direct"),
    ("web_server_log", "Web Server Log", "bs=8k readp=0 randp=0 disable=verify flags=direct"),
    (
        "oltp_db",
        "Online Transaction Processing (OLTP) Workload",
        "bs=8k readp=70 randp=100 disable=verify flags=direct",
    ),
    ("exchange_server", "Exchange Server Workload", "bs=4k readp=67 randp=100 disable=verify flags=direct"),
    ("workstation", "Workstation Workload", "bs=8k readp=80 randp=80 disable=verify flags=direct"),
    (
        "video_on_demand",
        "Video on Demand (VOD) Workload",
        "bs=512k readp=0 randp=100 disable=verify flags=direct",
    ),
    (
        "file_performance",
        "Single file performance",
        "bs=32k limit=1g flags=direct slices=10 disable=pstats disable=compare dispose=keep",
    ),
    (
        "fill_once",
        "Fill a file or disk once (write only)",
        "bs=64k slices=25 disable=compare,pstat,verify dispose=keep",
    ),
    (
        "high_validation",
        "Define Highest Data Validation Options (template)",
        "enable=btags pattern=iot prefix=%d@%h",
    ),
];

/// dt's other names, of which the most used are refused with what they would need.
const OTHERS: &[&str] = &[
    "dt_acid",
    "dt_dedup",
    "dt_hammer",
    "many_files",
    "incr_files",
    "vary_file_sizes",
    "file_percentages",
    "terabyte_lun",
    "terabyte_file",
    "sparse_files",
    "san_disk",
    "san_file_system",
    "hammer",
    "longevity_common",
];

/// The words with each `workload=NAME` in its place replaced by what it stands for: options behind it win.
pub fn expanded(words: &[String]) -> Result<Vec<String>, OptionError> {
    let mut all = Vec::with_capacity(words.len());
    for word in words {
        let Some(names) = word.strip_prefix("workload=") else {
            all.push(word.clone());
            continue;
        };
        for name in names.split(',') {
            match WORKLOADS.iter().find(|(known, _, _)| *known == name) {
                Some((_, _, options)) => all.extend(options.split(' ').map(str::to_owned)),
                None if OTHERS.contains(&name) => {
                    let why = "it needs directories, many files, steps or other behaviours: type its options";
                    return Err(OptionError::NotDone { option: word.clone(), why });
                }
                None => {
                    return Err(OptionError::Value {
                        name: "workload".to_owned(),
                        value: name.to_owned(),
                        why: "a name that \"dt workloads\" shows",
                    });
                }
            }
        }
    }
    Ok(all)
}

/// What `dt workloads` shows.
pub fn listed(part: &str) -> String {
    let mut text = "Valid Workloads:\n\n".to_owned();
    for (name, about, options) in WORKLOADS.iter().filter(|(name, _, _)| name.contains(part)) {
        text += &format!("    {name}: {about}\n        {options}\n\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    #[test]
    fn every_workload_stands_for_options_that_work() {
        for (name, _, _) in WORKLOADS {
            let words = [format!("workload={name}"), "of=f".to_owned(), "limit=8m".to_owned()];
            parse(&words, 4096).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        let words: Vec<String> =
            ["of=f", "workload=oltp_db", "bs=4k", "limit=1m"].map(str::to_owned).to_vec();
        let options = parse(&words, 4096).unwrap();
        assert_eq!((options.record, options.direct, options.verify), (4096, true, false));
        assert_eq!(options.typed, words);
        assert!(listed("oltp").ends_with("bs=8k readp=70 randp=100 disable=verify flags=direct\n\n"));
    }
}
