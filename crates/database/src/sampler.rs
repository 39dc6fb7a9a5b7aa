//! Reads the database's counters while a run goes on, from a thread of its own: a server that hangs must not hold up the
//! coordinator, who also listens to the user.

use crate::backend::{self, Admin, Pager, SharedWork};
use crate::counters::Counters;
use crate::error::Result;
use crate::url::{Brand, Url};
use fathom_drive::{Clock, HostSampler, Sampler};
use fathom_record::Sample;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError, channel, sync_channel};
use std::time::Duration;

/// The database's counters, and those of the host beside them.
pub(crate) struct DatabaseSampler {
    host: HostSampler,
    ask: SyncSender<()>,
    answers: Receiver<(u64, Counters)>,
    first: bool,
}

/// How long the first and the last reading may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// One reading, SQLite's sessions included.
pub(crate) fn read(admin: &mut dyn Admin, pager: Option<(&Pager, u32)>) -> Result<Counters> {
    let mut counters = admin.counters()?;
    if let Some((pager, page_bytes)) = pager {
        pager.add_to(&mut counters, page_bytes);
    }
    Ok(counters)
}

/// Whose counters are read.
pub(crate) struct Watched<'a> {
    pub(crate) url: &'a Url,
    pub(crate) work: &'a Arc<SharedWork>,
    pub(crate) page_bytes: u32,
    /// The states of our own sessions are looked at, or everybody else's.
    pub(crate) ours: bool,
}

/// Between two looks at what the sessions wait for.
const WAITS_EVERY: Duration = Duration::from_millis(200);

/// The connection that reads.
struct Reader {
    admin: Box<dyn Admin>,
    work: Option<(Arc<SharedWork>, u32)>,
    ours: bool,
    /// States that sessions were found in so far.
    states: BTreeMap<String, u64>,
    looks: u64,
}

impl Reader {
    fn look(&mut self) {
        let Ok(Some(states)) = self.admin.waits(self.ours) else { return };
        self.looks += 1;
        for (state, sessions) in states {
            *self.states.entry(state).or_default() += sessions;
        }
    }

    fn read(&mut self) -> Result<Counters> {
        let pager = self.work.as_ref().map(|(work, page_bytes)| (&work.pager, *page_bytes));
        let mut counters = read(&mut *self.admin, pager)?;
        counters.add("looks", "sessions", self.looks);
        self.states.iter().for_each(|(state, sessions)| counters.add("waits", state, *sessions));
        Ok(counters)
    }

    /// Reads whenever it is asked, and looks at what the sessions wait for meanwhile; then, when the run is over, once more.
    fn serve(mut self, asked: &Receiver<()>, clock: Clock, answer: &Sender<(u64, Counters)>) {
        loop {
            match asked.recv_timeout(WAITS_EVERY) {
                Ok(()) => {
                    let Ok(counters) = self.read() else { return };
                    if answer.send((clock.now(), counters)).is_err() {
                        return;
                    }
                }
                Err(RecvTimeoutError::Timeout) => self.look(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        // Its sessions have a moment to go, and their counts to arrive.
        for _ in 0..100 {
            if self.admin.sessions_gone() {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        if let Ok(counters) = self.read() {
            let _ = answer.send((clock.now(), counters));
        }
    }
}

impl DatabaseSampler {
    /// Connects; from then on readings are taken when the run asks for samples.
    pub(crate) fn start(watched: Watched<'_>, clock: Clock, host: HostSampler) -> Result<Self> {
        let Watched { url, work, page_bytes, ours } = watched;
        let (ask, asked) = sync_channel::<()>(1);
        let (answer, answers) = channel();
        let reader = Reader {
            admin: backend::admin(url)?,
            work: (url.brand == Brand::Sqlite).then(|| (work.clone(), page_bytes)),
            ours,
            states: BTreeMap::new(),
            looks: 0,
        };
        let spawned = std::thread::Builder::new()
            .name("counters".to_owned())
            .spawn(move || reader.serve(&asked, clock, &answer));
        if let Err(error) = spawned {
            let what = format!("cannot start a thread that reads counters: {error}");
            let hint = "raise the limit on processes (ulimit -u)";
            return Err(crate::error::DatabaseError::new(crate::error::Trouble::Server, what, hint));
        }
        Ok(DatabaseSampler { host, ask, answers, first: true })
    }

    /// Ends the readings with one that has everything.
    pub(crate) fn finish(self, out: &mut Vec<Sample>) {
        let DatabaseSampler { host: _, ask, answers, first: _ } = self;
        drop(ask);
        while let Ok((at_ns, counters)) = answers.recv_timeout(PATIENCE) {
            out.extend(counters.samples(at_ns));
        }
    }
}

impl Sampler for DatabaseSampler {
    fn sample(&mut self, now_ns: u64, out: &mut Vec<Sample>) {
        self.host.sample(now_ns, out);
        let _ = self.ask.try_send(());
        if self.first {
            self.first = false;
            if let Ok((at_ns, counters)) = self.answers.recv_timeout(PATIENCE) {
                out.extend(counters.samples(at_ns));
            }
            return;
        }
        loop {
            match self.answers.try_recv() {
                Ok((at_ns, counters)) => out.extend(counters.samples(at_ns)),
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => return,
            }
        }
    }
}
