//! The tools whose languages are spoken: one table, asked by name for `fathom NAME …` and for a link of that name.

use crate::args::Command;
use crate::{Context, bonnie, dd, dt, fio, iozone, orion, slob, status, sysbench};
use fathom_engine::Engine;
use std::path::Path;

/// One tool's language. In it the peer's exit statuses hold, so `run` answers the status itself.
pub struct Peer {
    /// The tool's name, as a command and as a link.
    pub name: &'static str,
    /// Runs the words after the name.
    pub run: fn(&[String], &Context, &mut Engine) -> u8,
}

/// All of them.
pub const PEERS: &[Peer] = &[
    Peer { name: "orion", run: |words, context, engine| status(orion::run(words, context, engine)) },
    Peer { name: "fio", run: fio::run },
    Peer { name: "sysbench", run: sysbench::run },
    Peer { name: "dd", run: dd::run },
    Peer { name: "dt", run: dt::run },
    Peer { name: "slob", run: |words, context, _| slob::called(words, context) },
    Peer { name: "bonnie++", run: bonnie::run },
    Peer { name: "iozone", run: iozone::run },
];

/// The tool by whose name the program was called, if it was.
pub fn called_as(command: &[String]) -> Option<&'static Peer> {
    let program = Path::new(command.first()?).file_name()?.to_str()?;
    named(program)
}

/// The tool of a command, with the words for it.
pub fn of(command: &Command) -> Option<(&'static Peer, &[String])> {
    match command {
        Command::Orion { words } => Some((named("orion")?, words)),
        Command::Fio { words } => Some((named("fio")?, words)),
        Command::Sysbench { words } => Some((named("sysbench")?, words)),
        Command::Dd { words } => Some((named("dd")?, words)),
        Command::Dt { words } => Some((named("dt")?, words)),
        Command::Bonnie { words } => Some((named("bonnie++")?, words)),
        Command::Iozone { words } => Some((named("iozone")?, words)),
        _ => None,
    }
}

fn named(name: &str) -> Option<&'static Peer> {
    PEERS.iter().find(|peer| peer.name == name)
}
