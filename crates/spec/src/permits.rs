//! What the user has said may be written: plain data, which can be stored and sent. It allows nothing by itself: the
//! executor's guard looks at each target before it is opened for writing.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// When a target that nobody uses needs the user's word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// Always: fathom's own commands.
    #[default]
    Always,
    /// Only when it holds something: the peers' languages, whose users have named a target to write to.
    WhenHolding,
}

/// What may be written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permits {
    /// Scratch files that this process made; the guard knows them by their mark as well.
    pub scratch: Vec<PathBuf>,
    /// Targets to which the user consented, by the names that were typed.
    pub consents: Vec<String>,
    /// Regular files that a job in a peer's language names as the place to write to: what stands in them goes without a
    /// further word, unless it is a database's.
    pub named: BTreeSet<PathBuf>,
    /// When consent is needed.
    pub policy: Policy,
    /// Other processes may have open what is written to: to read it a file that is named, for anything what the user
    /// consented to.
    #[serde(default)]
    pub shared: bool,
}

impl Permits {
    /// Nothing but what is added.
    pub const fn new(policy: Policy) -> Self {
        Permits { scratch: Vec::new(), consents: Vec::new(), named: BTreeSet::new(), policy, shared: false }
    }

    /// A scratch file of this process.
    pub fn add_scratch(&mut self, path: impl Into<PathBuf>) {
        self.scratch.push(path.into());
    }

    /// The user's word for one target, by the name under which it was given.
    pub fn add_consent(&mut self, name: impl Into<String>) {
        self.consents.push(name.into());
    }

    /// A regular file that a job names.
    pub fn add_named(&mut self, name: impl AsRef<Path>) {
        self.named.insert(plain(name.as_ref()).to_owned());
    }

    /// Does a job name this path? Links are followed for nobody: a job may name thousands of files.
    pub fn names(&self, path: &Path) -> bool {
        self.named.contains(plain(path))
    }
}

/// A path that begins in the working directory is the same without saying so.
fn plain(path: &Path) -> &Path {
    path.strip_prefix(".").unwrap_or(path)
}
