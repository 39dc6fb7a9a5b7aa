//! SQL from the user. SQLite cannot read a bare `FILE#`, which Oracle's scripts are full of; here it can be written
//! so.

use crate::{Store, StoreError};
use rusqlite::types::ValueRef;
use serde_json::{Number, Value};

/// What a query answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// The rows: nulls, numbers and texts.
    pub rows: Vec<Vec<Value>>,
}

impl Store {
    /// Answers one query that only reads, in SQLite's SQL with Oracle's bare `FILE#` allowed.
    pub fn query(&self, sql: &str) -> Result<Answer, StoreError> {
        let wrong = |error: rusqlite::Error| match StoreError::of(self.path(), error) {
            StoreError::Failed { why, .. } => StoreError::Query { why },
            other => other,
        };
        let mut select = self.connection.prepare(&quote_number_signs(sql)).map_err(wrong)?;
        if !select.readonly() || select.column_count() == 0 {
            return Err(StoreError::Query { why: "only a single SELECT is answered here".into() });
        }
        let columns: Vec<String> = select.column_names().map(str::to_owned).collect();
        let rows = select.query_map([], |row| {
            (0..columns.len()).map(|column| row.get_ref(column).map(value_of)).collect()
        });
        let rows = rows.and_then(Iterator::collect).map_err(wrong)?;
        Ok(Answer { columns, rows })
    }
}

fn value_of(value: ValueRef) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(whole) => whole.into(),
        ValueRef::Real(number) => Number::from_f64(number).map_or(Value::Null, Value::Number),
        ValueRef::Text(text) | ValueRef::Blob(text) => String::from_utf8_lossy(text).into_owned().into(),
    }
}

/// Puts double quotes around names that hold a `#`, outside of quotes and comments: `f.file#` becomes
/// `f."file#"`. All else stays as it is.
pub fn quote_number_signs(sql: &str) -> String {
    let mut out = String::with_capacity(sql.len() + 8);
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' | '"' | '`' => closed_by(rest, &first.to_string()),
            '[' => closed_by(rest, "]"),
            '-' if rest.starts_with("--") => closed_by(rest, "\n"),
            '/' if rest.starts_with("/*") => closed_by(rest, "*/"),
            _ if in_name(first) => rest.find(|c| !in_name(c)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        match in_name(first) && token.contains('#') {
            true => out.extend(["\"", token, "\""]),
            false => out.push_str(token),
        }
        rest = after;
    }
    out
}

fn in_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$' | '#')
}

/// Bytes up to and with the closing mark, or all that is left. A doubled mark ends one text and begins another,
/// which comes to the same.
fn closed_by(text: &str, mark: &str) -> usize {
    let open = if text.starts_with("/*") { 2 } else { 1 };
    text[open..].find(mark).map_or(text.len(), |at| open + at + mark.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bare_names_with_a_number_sign_are_quoted() {
        for (given, wanted) in [
            ("where f.file#=i.file_no", "where f.\"file#\"=i.file_no"),
            ("select FILE# from v$datafile", "select \"FILE#\" from v$datafile"),
            ("select '#1', 'it''s a#b', \"a#\", [b#], `c#`", "select '#1', 'it''s a#b', \"a#\", [b#], `c#`"),
            ("-- file#\nselect ts# /* a# */, 'é#'", "-- file#\nselect \"ts#\" /* a# */, 'é#'"),
            ("select 'unclosed #", "select 'unclosed #"),
            ("/*/ a# */ select b#", "/*/ a# */ select \"b#\""),
        ] {
            assert_eq!(quote_number_signs(given), wanted);
        }
    }
}
