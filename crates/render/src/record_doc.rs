//! `docs/record.md`: every type and field of the record, written from the types themselves.

use fathom_record::ResultRecord;
use serde_json::{Map, Value};
use std::fmt::Write;

/// The JSON schema of the record.
pub fn schema() -> Value {
    schemars::schema_for!(ResultRecord).to_value()
}

/// The Markdown page that describes the record: every type, field and unit.
pub fn record_doc() -> String {
    let schema = schema();
    let mut out = String::from(INTRODUCTION);
    section(&mut out, "ResultRecord", &schema);
    let none = Map::new();
    let types = schema.get("$defs").and_then(Value::as_object).unwrap_or(&none);
    for (name, kind) in types {
        section(&mut out, name, kind);
    }
    out
}

const INTRODUCTION: &str = "\
# The record

This page is generated from the types (`cargo run -p fathom-render --example record_doc`); a test holds it equal to them.

`fathom calibrate --json` and `fathom show RUN --json` print one `ResultRecord`. Units stand last in a field's name
(`_ns`, `_bytes`) or in its description; a field that may be missing is `null`. `max_mbps` and everything called MiB/s
counts 2^20 bytes. Often wanted:

| path | is |
|---|---|
| `.summary.max_iops.value` | small random reads a second within the latency limit |
| `.summary.latency.value` | their mean latency, ns |
| `.summary.max_mbps.value` | large reads, 2^20 bytes a second |
| `.summary.NAME.half_width` | half the width of a figure's confidence interval, in the figure's unit |
| `.verdict.state` | `believable`, `not believable` or `cannot tell` |
| `.curves[].points[]` | throughput and latency over outstanding I/Os |
| `.runs[].intervals[]` | counters by slot and histograms by interval: the raw measurement |
";

fn section(out: &mut String, name: &str, schema: &Value) {
    let _ = write!(out, "\n## {name}\n");
    if let Some(text) = description(schema) {
        let _ = write!(out, "\n{text}\n");
    }
    if let Some(fields) = schema.get("properties").and_then(Value::as_object) {
        let _ = write!(out, "\n| field | type | what it is |\n|---|---|---|\n");
        rows(out, fields, "");
        return;
    }
    let choices = schema.get("oneOf").or_else(|| schema.get("anyOf")).and_then(Value::as_array);
    match choices {
        Some(choices) => {
            let _ = write!(out, "\n| value | type | what it is |\n|---|---|---|\n");
            choices.iter().for_each(|choice| variant(out, choice));
        }
        None => {
            let _ = write!(out, "\nA {}.\n", kind(schema));
        }
    }
}

/// One variant of an enum: a word, or an object with one key.
fn variant(out: &mut String, choice: &Value) {
    let text = cell(choice);
    if let Some(word) = choice.get("const").and_then(Value::as_str) {
        let _ = writeln!(out, "| `\"{word}\"` | | {text} |");
    } else if let Some(words) = choice.get("enum").and_then(Value::as_array) {
        words.iter().filter_map(Value::as_str).for_each(|word| {
            let _ = writeln!(out, "| `\"{word}\"` | | {text} |");
        });
    } else if let Some(fields) = choice.get("properties").and_then(Value::as_object) {
        for (key, inner) in fields {
            let inline = inner.get("properties").and_then(Value::as_object);
            let kind = if inline.is_some() { "object".to_owned() } else { kind(inner) };
            let _ = writeln!(out, "| `{{\"{key}\": ...}}` | {kind} | {text} |");
            if let Some(inline) = inline {
                rows(out, inline, &format!("{key}."));
            }
        }
    } else {
        let _ = writeln!(out, "| | {} | {text} |", kind(choice));
    }
}

fn rows(out: &mut String, fields: &Map<String, Value>, prefix: &str) {
    for (field, schema) in fields {
        let _ = writeln!(out, "| `{prefix}{field}` | {} | {} |", kind(schema), cell(schema));
    }
}

fn description(schema: &Value) -> Option<&str> {
    schema.get("description").and_then(Value::as_str)
}

/// The description fit for a table's cell.
fn cell(schema: &Value) -> String {
    description(schema)
        .unwrap_or_default()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace('|', "\\|")
}

/// What a value is, in words; types of our own are links.
fn kind(schema: &Value) -> String {
    if let Some(name) = schema.get("$ref").and_then(Value::as_str).and_then(|r| r.rsplit('/').next()) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(choices) = schema.get(key).and_then(Value::as_array) {
            return choices.iter().map(kind).collect::<Vec<_>>().join(" or ");
        }
    }
    match schema.get("type") {
        Some(Value::Array(kinds)) => {
            let words = kinds.iter().filter_map(Value::as_str).map(|kind| word(kind, schema));
            words.collect::<Vec<_>>().join(" or ")
        }
        Some(Value::String(kind)) => word(kind, schema),
        _ => "any JSON".to_owned(),
    }
}

fn word(kind_name: &str, schema: &Value) -> String {
    match kind_name {
        "array" => match schema.get("prefixItems").and_then(Value::as_array) {
            Some(parts) => format!("list ({})", parts.iter().map(kind).collect::<Vec<_>>().join(", ")),
            None => format!("list of {}", schema.get("items").map_or("anything".to_owned(), kind)),
        },
        "object" => map(schema),
        "integer" => "whole number".to_owned(),
        "boolean" => "true or false".to_owned(),
        "string" => "text".to_owned(),
        other => other.to_owned(),
    }
}

/// A map: what its keys and its values are.
fn map(schema: &Value) -> String {
    if let Some(values) = schema.get("additionalProperties").filter(|v| v.is_object()) {
        return format!("object: name to {}", kind(values));
    }
    if let Some(first) = schema.get("properties").and_then(Value::as_object).and_then(|p| p.iter().next()) {
        let names = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        let names: Vec<String> = names.map(|(name, _)| format!("`{name}`")).collect();
        return format!("object: {} to {}", names.join(", "), kind(first.1));
    }
    "object".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_in_docs_is_the_one_that_the_types_make() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/record.md");
        let found = std::fs::read_to_string(path).unwrap_or_default();
        let hint = "make it again: cargo run -p fathom-render --example record_doc";
        assert!(found == record_doc(), "docs/record.md is old; {hint}");
    }

    #[test]
    fn every_type_that_is_linked_is_described() {
        let page = record_doc();
        for link in page.split("](#").skip(1).filter_map(|rest| rest.split(')').next()) {
            assert!(page.lines().any(|l| l.to_lowercase() == format!("## {link}")), "{link}");
        }
    }
}
