//! The options of a command that shows a result: in which form, and where it goes. One way for all of them.

use crate::record_writer::write_page;
use crate::tool::Tool;
use crate::{Console, Environment};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum, ValueHint};
use fathom_record::ResultRecord;
use fathom_render::format::Format;
use fathom_render::terminal::Style;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Where the result goes.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct Output {
    /// Form of the result [default: text]
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    pub format: Option<Format>,
    /// Write the result to this file instead of stdout
    #[arg(short = 'o', long = "output", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// The same as --format csv, csv-curves or csv-series
    #[arg(long, value_name = "WHICH", conflicts_with_all = ["format", "json"])]
    pub csv: Option<Csv>,
    /// Besides, write a page with charts that can be mailed
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub html: Option<PathBuf>,
}

/// Which table of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Csv {
    /// One line a figure
    Figures,
    /// One line a point of a curve
    Curves,
    /// One line a slot
    Series,
}

/// The forms of a record as values of an option.
fn formats() -> impl TypedValueParser<Value = Format> {
    let values = Format::ALL.map(|format| PossibleValue::new(format.name()).help(format.about()));
    PossibleValuesParser::new(values)
        .try_map(|name| Format::named(&name).ok_or_else(|| format!("{name} is no form of a result")))
}

/// A record with what its forms need beside it.
pub struct Shown<'a> {
    /// The record.
    pub record: &'a ResultRecord,
    /// Where it was saved, for a run that has just ended.
    pub saved: Option<&'a str>,
    /// The tool of whose runs it is, where that has words or a page of its own.
    pub tool: Option<&'a dyn Tool>,
    /// What stands in place of the report.
    pub text: Option<Vec<u8>>,
}

impl<'a> Shown<'a> {
    /// A run that has just ended, of one of fathom's own commands.
    pub fn ended(record: &'a ResultRecord, saved: &'a str) -> Self {
        Shown { record, saved: Some(saved), tool: None, text: None }
    }

    /// Writes it in a form.
    ///
    /// # Errors
    /// What the tool says of a record that it cannot show.
    pub fn write(&self, format: Format, style: Style, out: &mut Vec<u8>) -> anyhow::Result<()> {
        match (format, self.tool, &self.text) {
            (Format::Text, _, Some(text)) => out.extend_from_slice(text),
            (Format::Text, Some(tool), None) => {
                tool.show(self.record, out)?;
                if !out.is_empty() {
                    out.push(b'\n');
                }
                fathom_render::format::write(self.record, format, self.saved, style, out)?;
            }
            (Format::Html, Some(tool), _) => tool.page(self.record, out)?,
            _ => fathom_render::format::write(self.record, format, self.saved, style, out)?,
        }
        Ok(())
    }
}

impl Output {
    /// The form that was asked for.
    pub fn format(&self) -> Format {
        match (self.format, self.json, self.csv) {
            (Some(format), ..) => format,
            (None, true, _) => Format::Json,
            (None, false, Some(Csv::Figures)) => Format::Csv,
            (None, false, Some(Csv::Curves)) => Format::CsvCurves,
            (None, false, Some(Csv::Series)) => Format::CsvSeries,
            (None, false, None) => Format::Text,
        }
    }

    /// Is stdout, or the file in its place, a text for people?
    pub fn is_text(&self) -> bool {
        self.format() == Format::Text
    }

    /// Shows a record as it was asked for. Files come first: a reader of stdout that leaves early takes none of them away.
    ///
    /// # Errors
    /// What kept a file or stdout from being written.
    pub fn show(
        &self,
        shown: &Shown<'_>,
        environment: &Environment,
        console: &Console,
    ) -> anyhow::Result<()> {
        let style = environment.style();
        let mut text = Vec::new();
        shown.write(
            self.format(),
            Style { colour: style.colour && self.file.is_none(), ..style },
            &mut text,
        )?;
        let mut page = Vec::new();
        if self.html.is_some() {
            shown.write(Format::Html, style, &mut page)?;
        }
        let paged = self.html.as_deref().map_or(Ok(()), |path| write_file(path, page, console));
        // A page that cannot be written keeps nobody from the result.
        put(self.file.as_deref(), text, console).and(paged)
    }
}

/// Writes a text to the file that was asked for, or to stdout.
fn put(file: Option<&Path>, text: Vec<u8>, console: &Console) -> anyhow::Result<()> {
    let Some(path) = file else {
        let mut out = console.out();
        out.write_all(&text)?;
        return Ok(out.flush()?);
    };
    write_file(path, text, console)
}

fn write_file(path: &Path, text: Vec<u8>, console: &Console) -> anyhow::Result<()> {
    write_page(path, text)?;
    console.complain(format_args!("written: {}", path.display()));
    Ok(())
}

/// Where a list goes.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct ListOutput {
    /// Form of the list [default: text]
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub format: Option<ListFormat>,
    /// Write it to this file instead of stdout
    #[arg(short = 'o', long = "output", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
}

/// The forms of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ListFormat {
    /// Columns for people
    Text,
    /// One object a line
    Json,
    /// Fields with commas between them
    Csv,
    /// A table for an issue or a wiki
    Markdown,
}

impl ListOutput {
    /// The form that was asked for.
    pub fn format(&self) -> ListFormat {
        match (self.format, self.json) {
            (Some(format), _) => format,
            (None, true) => ListFormat::Json,
            (None, false) => ListFormat::Text,
        }
    }

    /// Shows rows under heads, or `text` where people read it.
    ///
    /// # Errors
    /// What kept the file or stdout from being written.
    pub fn show(
        &self,
        list: &fathom_render::list::List,
        text: Vec<u8>,
        console: &Console,
    ) -> anyhow::Result<()> {
        let mut shown = Vec::new();
        match self.format() {
            ListFormat::Text => shown = text,
            ListFormat::Json => list.json(&mut shown)?,
            ListFormat::Csv => list.csv(&mut shown)?,
            ListFormat::Markdown => list.markdown(&mut shown)?,
        }
        put(self.file.as_deref(), shown, console)
    }
}
