//! Rows under heads, for scripts, spreadsheets and wikis: lists of runs, and answers of SQL.

use crate::markdown;
use serde_json::{Map, Value};
use std::io::{self, Write};

/// Rows of values under heads; each row is as long as the heads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct List {
    pub heads: Vec<String>,
    pub rows: Vec<Vec<Value>>,
}

impl List {
    /// One object a line.
    pub fn json(&self, out: &mut impl Write) -> io::Result<()> {
        for row in &self.rows {
            let fields: Map<String, Value> = self.heads.iter().cloned().zip(row.iter().cloned()).collect();
            serde_json::to_writer(&mut *out, &fields)?;
            writeln!(out)?;
        }
        Ok(())
    }

    /// RFC 4180, with the heads in the first line.
    pub fn csv(&self, out: &mut impl Write) -> io::Result<()> {
        let mut lines = csv::Writer::from_writer(out);
        let rows = self.rows.iter().map(|row| row.iter().map(cell).collect());
        for row in std::iter::once(self.heads.clone()).chain(rows) {
            lines.write_record(row).map_err(crate::csv::write_error)?;
        }
        lines.flush()
    }

    /// A table of Markdown.
    pub fn markdown(&self, out: &mut impl Write) -> io::Result<()> {
        let rows = self.rows.iter().map(|row| row.iter().map(cell).collect());
        markdown::table(&std::iter::once(self.heads.clone()).chain(rows).collect::<Vec<_>>(), out)
    }
}

/// A value as the sqlite3 shell prints it: text without quotes, nothing for NULL; of a list its parts with spaces between them.
pub fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(cell).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_list_is_an_object_a_line_a_spreadsheet_and_a_table() {
        let list = List {
            heads: vec!["run".to_owned(), "target".to_owned()],
            rows: vec![
                vec![json!(1), json!(["/a", "/b"])],
                vec![json!(2), json!("x, \"y\"|z")],
                vec![json!(3), Value::Null],
            ],
        };
        let shown = |write: fn(&List, &mut Vec<u8>) -> io::Result<()>| {
            let mut out = Vec::new();
            write(&list, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(shown(|l, out| l.csv(out)), "run,target\n1,/a /b\n2,\"x, \"\"y\"\"|z\"\n3,\n");
        assert_eq!(shown(|l, out| l.json(out)).lines().next(), Some(r#"{"run":1,"target":["/a","/b"]}"#));
        assert!(shown(|l, out| l.markdown(out)).contains("| 2 | x, \"y\"\\|z |"));
    }
}
