//! The facts of machine and storage as titled lists. They are plain JSON by the time they come here, so that
//! a record of another version can be shown: known keys get better names, unknown ones their own.

use fathom_spec::Bytes;
use serde_json::{Map, Value};

/// Facts that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// What they are of: `Machine`, `Disk nvme0n1`.
    pub title: String,
    /// Name and value.
    pub rows: Vec<(String, String)>,
}

/// All facts as sections, in the order machine, storage, disks, what else there is. Nothing that is null or
/// empty is shown.
pub fn sections(facts: &Value) -> Vec<Section> {
    let mut out = Vec::new();
    let Some(all) = facts.as_object() else { return out };
    let order = ["machine", "storage", "storages", "disks"];
    let known = order.iter().filter_map(|key| Some((*key, all.get(*key)?)));
    let rest = all.iter().filter(|(key, _)| !order.contains(&key.as_str()) && *key != "request");
    for (key, value) in known.chain(rest.map(|(key, value)| (key.as_str(), value))) {
        add(&mut out, key, value);
    }
    out.retain(|section| !section.rows.is_empty());
    out
}

/// Adds an object, or each object of a list, as a section; objects in lists below become sections of their own.
fn add(out: &mut Vec<Section>, key: &str, value: &Value) {
    match value {
        Value::Array(items) if items.iter().any(Value::is_object) => {
            items.iter().for_each(|item| add(out, key, item));
        }
        Value::Object(fields) => {
            let at = out.len();
            out.push(Section { title: title(key, fields), rows: Vec::new() });
            let mut rows = Vec::new();
            flatten(out, &mut rows, "", fields);
            out[at].rows = rows;
        }
        other => {
            let rows = value_text(key, other).map(|text| (label(key), text)).into_iter().collect();
            out.push(Section { title: "Also known".into(), rows });
        }
    }
}

fn flatten(
    out: &mut Vec<Section>,
    rows: &mut Vec<(String, String)>,
    prefix: &str,
    fields: &Map<String, Value>,
) {
    for (key, value) in fields {
        match value {
            Value::Object(inner) => flatten(out, rows, &format!("{prefix}{}: ", label(key)), inner),
            Value::Array(items) if key == "disks" && items.iter().any(Value::is_object) => {
                add(out, key, value);
            }
            _ => rows.extend(value_text(key, value).map(|text| (format!("{prefix}{}", label(key)), text))),
        }
    }
}

fn title(key: &str, fields: &Map<String, Value>) -> String {
    let of = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let text = match key {
        "machine" => format!("Machine {}", of("hostname")),
        "storage" | "storages" => format!("Storage {}", of("path")),
        "disks" => format!("Disk {}", of("name")),
        _ => label(key),
    };
    text.trim_end().to_owned()
}

/// A value as people read it; `None` for what says nothing.
fn value_text(key: &str, value: &Value) -> Option<String> {
    let whole = value.as_u64();
    match (value, whole) {
        (Value::Null, _) => None,
        (Value::Bool(yes), _) => Some(if *yes { "yes" } else { "no" }.to_owned()),
        (_, Some(number)) if key.ends_with("_bytes") || key == "size" => Some(Bytes(number).to_string()),
        (_, Some(number)) if key.ends_with("_kb") => Some(Bytes(number * 1024).to_string()),
        (_, Some(number)) if key.ends_with("bytes_per_second") => {
            Some(format!("{:.0} MiB/s", Bytes(number).mebibytes()))
        }
        (_, Some(number)) if key.ends_with("_ns") => Some(crate::number::time(number as f64)),
        (Value::Number(number), _) => Some(number.to_string()),
        (Value::String(text), _) => (!text.is_empty()).then(|| text.clone()),
        (Value::Array(items), _) => join(items.iter().filter_map(|item| value_text(key, item)), "; "),
        (Value::Object(fields), _) => {
            let parts = fields.iter().filter_map(|(key, value)| {
                Some(format!("{} {}", label(key).to_lowercase(), value_text(key, value)?))
            });
            join(parts, ", ")
        }
    }
}

fn join(parts: impl Iterator<Item = String>, with: &str) -> Option<String> {
    let parts: Vec<String> = parts.collect();
    (!parts.is_empty()).then(|| parts.join(with))
}

/// A key as people read it: known ones by name, others without their unit and underscores.
fn label(key: &str) -> String {
    let known = match key {
        "hostname" => "Host",
        "cpu_model" => "CPU",
        "cpus_online" => "CPUs online",
        "cpus_allowed" => "CPUs we may use",
        "cpus" => "CPU quota",
        "memory_available_bytes" => "Memory available",
        "page_bytes" => "Page size",
        "hypervisor" => "Virtual machine",
        "aio" => "Async I/O slots",
        "io_uring" => "io_uring",
        "fua" => "Forced unit access",
        "dax" => "DAX",
        "wwid" => "World wide name",
        "nr_requests" => "Requests in the queue",
        "max_sectors_kb" => "Largest request",
        "bytes_per_second" => "Carries",
        "unchecked" => "Could not be checked",
        "medium_unknown_because" => "Medium unknown because",
        _ => "",
    };
    if !known.is_empty() {
        return known.to_owned();
    }
    let bare = ["_bytes", "_kb", "_ns"].iter().find_map(|unit| key.strip_suffix(unit)).unwrap_or(key);
    let words = bare.replace(['_', '-'], " ");
    let mut letters = words.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().collect::<String>() + letters.as_str())
        .unwrap_or_default()
}

/// The host that measured.
pub fn host(facts: &Value) -> Option<String> {
    Some(facts.pointer("/machine/hostname")?.as_str()?.to_owned())
}

/// The disks below all targets, by their kernel's names: `nvme0n1`, `sda,sdb`.
pub fn device(facts: &Value) -> Option<String> {
    let storages = facts.get("storage").or_else(|| facts.get("storages"))?.as_array()?;
    let disks = storages.iter().filter_map(|storage| storage.get("disks")?.as_array()).flatten();
    let mut names: Vec<&str> = disks.filter_map(|disk| disk.get("name")?.as_str()).collect();
    names.dedup();
    (!names.is_empty()).then(|| names.join(","))
}

/// The same in few words: `ext4 on nvme0n1 (232.89 GiB)`, `nvme0n1 and 3 more`.
pub fn storage_short(facts: &Value) -> Option<String> {
    let storage = ["/storage/0", "/storages/0", "/storage"].iter().find_map(|at| facts.pointer(at))?;
    let file_system = storage.pointer("/file_system/kind").and_then(Value::as_str);
    let disks = storage.get("disks").and_then(Value::as_array);
    let disk = disks.and_then(|all| all.first()).and_then(|disk| {
        let name = disk.get("name")?.as_str()?;
        let more = disks.map_or(0, |all| all.len().saturating_sub(1));
        Some(match (more, disk.get("size_bytes").and_then(Value::as_u64)) {
            (0, Some(size)) => format!("{name} ({})", Bytes(size)),
            (0, None) => name.to_owned(),
            (more, _) => format!("{name} and {more} more"),
        })
    });
    join([file_system.map(str::to_owned), disk].into_iter().flatten(), " on ")
}

/// One line that says what was measured: file system and disks of the first storage, as far as they are known.
pub fn storage_line(facts: &Value) -> Option<String> {
    let storage = ["/storage/0", "/storages/0", "/storage"].iter().find_map(|at| facts.pointer(at))?;
    let text = |at: &str| storage.pointer(at).and_then(Value::as_str).map(str::trim).map(str::to_owned);
    let disks = storage.get("disks").and_then(Value::as_array);
    let disk = disks.and_then(|all| all.first()).and_then(|disk| {
        let name = disk.get("name")?.as_str()?;
        let model = disk.get("model").and_then(Value::as_str).map(str::trim).filter(|m| !m.is_empty());
        let size = disk.get("size_bytes").and_then(Value::as_u64).map(|size| Bytes(size).to_string());
        Some([Some(name), model, size.as_deref()].into_iter().flatten().collect::<Vec<_>>().join(", "))
    });
    let more = disks.map_or(0, |all| all.len().saturating_sub(1));
    let more = (more > 0).then(|| format!("and {more} more"));
    join([text("/file_system/kind"), disk, more].into_iter().flatten(), " on ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_become_sections_and_empty_facts_are_left_out() {
        let facts = crate::fixture::sample_record().facts;
        let sections = sections(&facts);
        let titles: Vec<&str> = sections.iter().map(|s| s.title.as_str()).collect();
        assert_eq!(titles, ["Machine db1", "Storage /data", "Disk nvme0n1"]);
        let has = |at: usize, name: &str, value: &str| {
            assert!(sections[at].rows.contains(&(name.into(), value.into())), "{:#?}", sections[at]);
        };
        has(0, "Memory", "4 GiB");
        has(1, "File system: Options", "rw,noatime");
        has(2, "Queue: Largest request", "128 KiB");
        assert!(sections.iter().flat_map(|s| &s.rows).all(|row| row.1 != "null" && !row.1.is_empty()));
    }

    #[test]
    fn facts_of_an_unknown_form_are_shown_as_they_are() {
        let sections = sections(&serde_json::json!({ "moon_phase": "full", "tides": [{ "height": 3 }] }));
        assert_eq!(sections[0].rows, [("Moon phase".to_owned(), "full".to_owned())]);
        assert_eq!(sections[1], Section { title: "Tides".into(), rows: vec![("Height".into(), "3".into())] });
    }
}
