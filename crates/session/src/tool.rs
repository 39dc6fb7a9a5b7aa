//! A tool's language as the program sees it.

use crate::Session;
use fathom_record::ResultRecord;
use std::io::Write;

/// One tool whose language is spoken. In it the peer's exit statuses hold, so `run` answers the status itself.
pub trait Tool {
    /// Its name, as a command and as a link's name.
    fn name(&self) -> &'static str;
    /// One line of fathom's help.
    fn about(&self) -> &'static str;
    /// Runs the words after its name.
    fn run(&self, words: &[String], session: &mut Session<'_>) -> u8;
    /// What the tool itself prints of a kept run, in its own words; the report follows. Nothing, unless it has some.
    fn show(&self, _record: &ResultRecord, _out: &mut dyn Write) -> anyhow::Result<()> {
        Ok(())
    }
    /// The page of a kept run: as a load, unless the tool has a page of its own.
    fn page(&self, record: &ResultRecord, out: &mut Vec<u8>) -> std::io::Result<()> {
        fathom_render::html::write(record, out)
    }
}
