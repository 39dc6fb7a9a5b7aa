//! The clones of jobs as whoever watches their run needs them: found by their streams, and with their counters by direction.

use crate::report::operations::direction;
use crate::{Job, Member, Planned};
use fathom_record::Totals;
use fathom_spec::{Mix, Plan, Stream, StreamId, TargetId, Verb, Work};
use std::sync::Arc;

/// The number of a clone among all clones. It is not the number of its stream: a command before or after a job is a stream,
/// and no clone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberIndex(usize);

impl MemberIndex {
    /// The clone of that number.
    pub fn new(number: usize) -> Self {
        MemberIndex(number)
    }

    /// The number, from 0.
    pub fn number(self) -> usize {
        self.0
    }
}

/// What was done of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Bytes.
    pub bytes: u64,
    /// I/Os.
    pub operations: u64,
}

/// All clones of a plan.
pub struct Members<'a> {
    jobs: &'a [Job],
    planned: &'a Planned,
    /// By the number of the stream.
    of_stream: Vec<Option<MemberIndex>>,
    /// By the number of the clone.
    directions: Vec<[bool; 3]>,
}

impl<'a> Members<'a> {
    /// The clones of these jobs.
    pub fn new(jobs: &'a [Job], planned: &'a Planned) -> Self {
        let mut of_stream = vec![None; planned.plan.streams.len()];
        for (number, member) in planned.members.iter().enumerate() {
            of_stream[member.stream.0 as usize] = Some(MemberIndex(number));
        }
        let directions = planned.members.iter().map(|member| {
            directions(&jobs[member.job], member.clone, &planned.plan.streams[member.stream.0 as usize].work)
        });
        Members { jobs, planned, of_stream, directions: directions.collect() }
    }

    /// Whose stream it is; `None` for a command's.
    pub fn of_stream(&self, stream: StreamId) -> Option<MemberIndex> {
        self.of_stream.get(stream.0 as usize).copied().flatten()
    }

    /// All of them, in the order of the job file.
    pub fn indices(&self) -> impl Iterator<Item = MemberIndex> + use<> {
        (0..self.planned.members.len()).map(MemberIndex)
    }

    /// One clone.
    pub fn get(&self, index: MemberIndex) -> &'a Member {
        &self.planned.members[index.0]
    }

    /// Its job.
    pub fn job(&self, index: MemberIndex) -> &'a Job {
        &self.jobs[self.get(index).job]
    }

    /// The number of its stream.
    pub fn stream_id(&self, index: MemberIndex) -> StreamId {
        self.get(index).stream
    }

    /// Its stream.
    pub fn stream(&self, index: MemberIndex) -> &'a Stream {
        &self.planned.plan.streams[self.stream_id(index).0 as usize]
    }

    /// What the recordings say that are done again, by target.
    pub fn recordings(&self) -> &'a [(TargetId, Arc<str>)] {
        &self.planned.recordings
    }

    /// The plan of all.
    pub fn plan(&self) -> &'a Plan {
        &self.planned.plan
    }

    /// Which of reads, writes and trims it does.
    pub fn directions(&self, index: MemberIndex) -> [bool; 3] {
        self.directions[index.0]
    }

    /// What it did so far of reads, writes and trims. Reads by which a job verifies what it wrote are not its I/O, and
    /// neither are syncs.
    pub fn done(&self, index: MemberIndex, totals: &Totals) -> [Done; 3] {
        let mut done = [Done::default(); 3];
        let is_of_blocks = matches!(self.stream(index).work, Work::Blocks(_));
        for (cell, (verb, counts)) in totals.cells().enumerate() {
            // Single acts (files made, commands run) are reported as reads, whatever they are.
            let at = match is_of_blocks {
                true => direction(verb).map(|at| at as usize),
                false => (cell == 0).then_some(0),
            };
            let Some(at) = at.filter(|at| self.directions(index)[*at]) else { continue };
            done[at].bytes += counts.bytes;
            done[at].operations += counts.operations;
        }
        done
    }
}

/// Which of reads, writes and trims a clone does, as it was planned: of a mix one half may be left.
fn directions(job: &Job, clone: u32, work: &Work) -> [bool; 3] {
    let verbs = match work {
        Work::Blocks(blocks) => match job.replay.as_ref().and_then(|replay| replay.of_clone(clone)) {
            Some(recorded) => recorded.verbs(),
            None => match blocks.mix {
                Mix::Only(verb) => vec![verb],
                Mix::TrimWrite => vec![Verb::Trim, Verb::Write],
                Mix::Random { .. } | Mix::ReadWrite { .. } | Mix::ByCompleted { .. } => {
                    vec![Verb::Read, Verb::Write]
                }
            },
        },
        _ => vec![Verb::Read],
    };
    let mut directions = [false; 3];
    verbs.into_iter().filter_map(direction).for_each(|at| directions[at as usize] = true);
    directions
}

/// Jobs and plans for tests.
#[cfg(test)]
pub mod fixture {
    use super::*;
    use crate::session::args::{self, Invocation};
    use crate::{Facts, FileFacts};
    use fathom_host::Roots;
    use fathom_record::{CELLS, Counts};
    use fathom_session::{Console, Environment};

    /// The jobs of a command line.
    pub fn jobs(words: &str) -> Vec<Job> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let (environment, console) = (Environment::given(&[]), Console::captured());
        match args::read(&words, &environment, &console, &Roots::default()).unwrap() {
            Invocation::Jobs { jobs, .. } => jobs,
            Invocation::Answered(status) => panic!("answered with {status}: {:?}", console.take()),
        }
    }

    /// Their plan, on files of 1 MiB.
    pub fn planned(jobs: &[Job]) -> Planned {
        let look = |_: &str| Some(FileFacts { bytes: 1 << 20, device: false });
        crate::plan(jobs, &Facts { look: &look, chance: 1 }).unwrap()
    }

    /// Totals of one stream: verbs, I/Os of 1 KiB.
    pub fn totals(stream: u32, cells: &[(Verb, u64)]) -> Totals {
        let mut counts = [Counts::default(); CELLS];
        for (counts, (_, operations)) in counts.iter_mut().zip(cells) {
            (counts.operations, counts.bytes) = (*operations, operations * 1024);
        }
        let verbs: Vec<Verb> = cells.iter().map(|(verb, _)| *verb).collect();
        Totals { counts, ..Totals::running(StreamId(stream), &verbs) }
    }
}

#[cfg(test)]
mod tests {
    use super::fixture::{jobs, planned, totals};
    use super::*;

    #[test]
    fn commands_have_streams_and_are_no_clones() {
        let jobs = jobs("--allow-exec --ioengine=null --size=64k --exec_prerun=true --name=a --numjobs=2");
        let planned = planned(&jobs);
        let members = Members::new(&jobs, &planned);
        let of: Vec<_> = (0..5).map(|stream| members.of_stream(StreamId(stream))).collect();
        assert_eq!(of, [None, Some(MemberIndex(0)), None, Some(MemberIndex(1)), None]);
        assert_eq!(members.stream_id(MemberIndex(1)), StreamId(3));
    }

    #[test]
    fn counters_are_of_the_verbs_that_the_stream_has() {
        let jobs = jobs("--ioengine=null --size=64k --name=a --rw=rw --rwmixread=0");
        let planned = planned(&jobs);
        let members = Members::new(&jobs, &planned);
        let index = MemberIndex(0);
        assert_eq!(members.directions(index), [false, true, false]);
        let nothing = Done::default();
        let written = Done { bytes: 5 << 10, operations: 5 };
        assert_eq!(members.done(index, &totals(0, &[(Verb::Write, 5)])), [nothing, written, nothing]);
        // What reads again what was written, and what makes it durable, is no I/O of the job.
        let cells = [(Verb::Write, 5), (Verb::Read, 3), (Verb::Sync, 1)];
        assert_eq!(members.done(index, &totals(0, &cells)), [nothing, written, nothing]);
    }

    #[test]
    fn files_made_count_as_reads() {
        let jobs = jobs("--ioengine=filecreate --filesize=4k --nrfiles=4 --name=a");
        let planned = planned(&jobs);
        let members = Members::new(&jobs, &planned);
        let done = members.done(MemberIndex(0), &totals(0, &[(Verb::Create, 4), (Verb::Sync, 1)]));
        assert_eq!(done.map(|done| done.operations), [4, 0, 0]);
    }
}
