//! What bonnie++ says of a test that failed, or that was not begun.

use super::CLEANING;
use super::test_files::TestFiles;
use crate::{Options, Test};
use fathom_record::{EventKind, ExecuteError, Run, Vocabulary};
use fathom_session::errno_text;
use fathom_spec::Verb;

/// bonnie++'s words for what an error's hint advises.
const WORDS: Vocabulary<'static> = Vocabulary {
    size: "-s",
    block: "chunk of -s",
    missing: "it must be in a directory that is there",
    workers: "-c",
    depth: "-n",
    ..Vocabulary::PEER
};

/// What is not begun, in bonnie++'s words where it has some: a block that cannot go past the page cache fails there when it
/// is written, a file that somebody cut short when its end is read.
pub fn refusal(options: &Options, files: &TestFiles, test: Test, error: &ExecuteError) -> String {
    match error {
        ExecuteError::Misaligned { .. } if test == Test::WriteCharacters => {
            "Can't write() - disk full?\n".to_owned()
        }
        ExecuteError::Misaligned { .. } if options.direct => {
            "Can't write block.: Invalid argument\nCan't write block 0.\n".to_owned()
        }
        ExecuteError::TooSmall { .. } if matches!(test, Test::Rewrite | Test::Read) => {
            short_read(test, files.bytes() % options.chunk.max(1))
        }
        _ => format!("\n{}\n", error.in_words(&WORDS)),
    }
}

/// What failed, in bonnie++'s words: of a failed read it always says that it was one of a rewrite.
pub fn failure(options: &Options, test: Test, run: &Run) -> Option<String> {
    run.events.iter().find_map(|event| match &event.what {
        EventKind::Fault { verb, errno, target, offset, moved, .. } => {
            let error = errno_text::of_write(*errno);
            let name = target.rsplit('/').next().unwrap_or(target);
            let block = offset.0 / options.chunk.max(1);
            let text = match verb {
                // A file is made and filled in one operation here.
                Verb::Write | Verb::Create if test.is_of_files() && options.file_most > 0 => {
                    "Can't write data.\n".to_owned()
                }
                Verb::Write => format!("Can't write block.: {error}\nCan't write block {block}.\n"),
                Verb::Read if *errno == 0 => short_read(test, moved.0),
                Verb::Read => format!("Bonnie: drastic I/O error (re-write read): {error}\n"),
                Verb::Sync => format!("Can't sync.: {error}\n"),
                Verb::Create => format!("Can't create file {name}\n"),
                Verb::Stat => format!("Can't stat file {name}: {error}\n"),
                _ => format!("Can't delete file {name}: {error}\n"),
            };
            Some(if test.is_of_files() { text + CLEANING } else { text })
        }
        _ => None,
    })
}

/// A file that ended early. What a plain read says of the reason is left over from an earlier call, in bonnie++ as well.
fn short_read(test: Test, bytes: u64) -> String {
    let short = format!("Can't read a full block, only got {bytes} bytes.\n");
    match test {
        Test::Read => short + "Bonnie: drastic I/O error (read(2)): No such file or directory\n",
        _ => short,
    }
}
