//! Reads the database's counters while a run goes on, from a thread of its own: a server that hangs must not hold up the
//! coordinator, who also listens to the user.

use crate::backend::{self, Pager};
use crate::counters::Counters;
use crate::error::Result;
use crate::url::{Brand, Url};
use fathom_drive::{Clock, HostSampler, Sampler};
use fathom_record::Sample;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, channel, sync_channel};
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
pub(crate) fn read(admin: &mut dyn backend::Admin, pager: Option<(&Pager, u32)>) -> Result<Counters> {
    let mut counters = admin.counters()?;
    if let Some((pager, page_bytes)) = pager {
        pager.add_to(&mut counters, page_bytes);
    }
    Ok(counters)
}

impl DatabaseSampler {
    /// Connects; from then on readings are taken when the run asks for samples.
    pub(crate) fn start(
        url: &Url,
        pager: &Arc<Pager>,
        page_bytes: u32,
        clock: Clock,
        host: HostSampler,
    ) -> Result<Self> {
        let mut admin = backend::admin(url)?;
        let (ask, asked) = sync_channel::<()>(1);
        let (answer, answers) = channel();
        let pager = (url.brand == Brand::Sqlite).then(|| pager.clone());
        let spawned = std::thread::Builder::new().name("counters".to_owned()).spawn(move || {
            while asked.recv().is_ok() {
                let pager = pager.as_deref().map(|pager| (pager, page_bytes));
                let Ok(counters) = read(&mut *admin, pager) else { return };
                if answer.send((clock.now(), counters)).is_err() {
                    return;
                }
            }
            // The run is over: its sessions have a moment to go, and their counts to arrive.
            for _ in 0..100 {
                if admin.sessions_gone() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            let pager = pager.as_deref().map(|pager| (pager, page_bytes));
            if let Ok(counters) = read(&mut *admin, pager) {
                let _ = answer.send((clock.now(), counters));
            }
        });
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
