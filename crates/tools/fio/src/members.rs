//! What planning gives: a plan, and which job and which files each of its streams is for. Knows nothing of how it is made.

use super::file_layout::FileNeed;
use fathom_spec::{GroupId, Plan, StreamId, TargetId};
use std::sync::Arc;

/// One clone of a job in the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Which job, by its number.
    pub job: usize,
    /// Which clone of it.
    pub clone: u32,
    /// In which group it is reported.
    pub group: GroupId,
    /// What it does.
    pub stream: StreamId,
    /// Its files, and how large they have to be.
    pub files: Vec<FileNeed>,
}

/// A plan, and what belongs to it.
#[derive(Clone, Debug)]
pub struct Planned {
    /// What is done.
    pub plan: Plan,
    /// The clones, in the order of the job file.
    pub members: Vec<Member>,
    /// What the user should know.
    pub notes: Vec<String>,
    /// Recordings that the engine is to be given: the target that names the file, and what it says in the engine's form.
    pub recordings: Vec<(TargetId, Arc<str>)>,
}
