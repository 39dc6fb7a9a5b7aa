//! A tool's language as the program sees it.

use crate::Session;
use fathom_record::ResultRecord;
use fathom_render::terminal::Style;
use std::io::Write;

/// One tool whose language is spoken. In it the peer's exit statuses hold, so `run` answers the status itself.
pub trait Tool {
    /// Its name, as a command and as a link's name.
    fn name(&self) -> &'static str;
    /// One line of fathom's help.
    fn about(&self) -> &'static str;
    /// Runs the words after its name.
    fn run(&self, words: &[String], session: &mut Session<'_>) -> u8;
    /// Shows a kept run again: as a load, unless the tool has words of its own for it.
    fn show(
        &self,
        record: &ResultRecord,
        saved: &str,
        style: Style,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let mut text = Vec::new();
        fathom_render::load::write(record, Some(saved), style, &mut text)?;
        Ok(out.write_all(&text)?)
    }
    /// The page of a kept run: as a load, unless the tool has a page of its own.
    fn page(&self, record: &ResultRecord, out: &mut Vec<u8>) -> std::io::Result<()> {
        fathom_render::html::write(record, out)
    }
}
