//! An executor for tests: answers outcomes that the test made, in order, calls the Control as the test says, and keeps what
//! it was asked for.

use crate::record_writer::alive;
use crate::tool::Tool;
use crate::{Console, Environment, Interrupt, Session};
use fathom_host::Roots;
use fathom_record::{
    Control, Event, Execute, ExecuteError, Outcome, Request, ResultRecord, Run, Steer, Totals,
};
use fathom_spec::{Permits, Plan};
use fathom_store::{State, Store, Stored};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// What one execution does.
#[derive(Default)]
pub struct Scene {
    /// Raised before anything is told: Ctrl-C while the plan runs.
    pub interrupt: Option<Interrupt>,
    /// Events that are told before the first slot.
    pub events: Vec<Event>,
    /// Slots: the moment, ns, and the counters of each stream then.
    pub slots: Vec<(u64, Vec<Totals>)>,
    /// What it answers; nothing: an empty run of the plan.
    pub answer: Option<Result<Outcome, ExecuteError>>,
}

/// Answers canned outcomes and keeps the requests.
#[derive(Default)]
pub struct MockExecute {
    /// What the next executions do; an empty run once they are used up.
    pub scenes: VecDeque<Scene>,
    /// Plans and permits that were asked for.
    pub requests: Vec<(Plan, Permits)>,
    /// What the Controls said, one for each slot; an order to stop ends the slots of its scene.
    pub steers: Vec<Steer>,
    /// A store in which it looks each time, and the states that the newest run had then.
    pub store: Option<PathBuf>,
    /// See `store`.
    pub states: Vec<State>,
}

impl Execute for MockExecute {
    fn execute(&mut self, request: Request<'_>, control: &mut dyn Control) -> Result<Outcome, ExecuteError> {
        self.requests.push((request.plan.clone(), request.permits.clone()));
        self.states.extend(self.store.as_deref().and_then(newest).map(|stored| stored.listing.state));
        let empty = Outcome::of(Run::empty(request.plan));
        let Some(scene) = self.scenes.pop_front() else { return Ok(empty) };
        scene.interrupt.iter().for_each(Interrupt::raise);
        scene.events.iter().for_each(|event| control.event(event));
        for (now_ns, totals) in &scene.slots {
            let steer = control.slot(*now_ns, totals);
            let stops = matches!(steer, Steer::Stop(..));
            self.steers.push(steer);
            if stops {
                break;
            }
        }
        scene.answer.unwrap_or(Ok(empty))
    }

    fn another(&self) -> Box<dyn Execute + Send> {
        Box::new(MockExecute::default())
    }
}

/// A tool run in this process, on an executor that does nothing but what the test says.
pub struct Stage {
    /// Its variables, clock and signals.
    pub environment: Environment,
    /// The executor.
    pub execute: MockExecute,
    /// Where runs are kept.
    pub store: Option<PathBuf>,
}

impl Stage {
    /// One execution of this kind; no store.
    pub fn new(scene: Scene) -> Self {
        let execute = MockExecute { scenes: [scene].into(), ..MockExecute::default() };
        Stage { environment: Environment::given(&[]), execute, store: None }
    }

    /// Runs a tool's words: the exit status, stdout and stderr.
    pub fn run(&mut self, tool: &dyn Tool, words: &[&str]) -> (u8, String, String) {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let console = Console::captured();
        self.execute.store = self.store.clone();
        let mut session = Session {
            environment: self.environment.clone(),
            console: console.clone(),
            execute: &mut self.execute,
            roots: Roots::default(),
            store: self.store.clone(),
            command: std::iter::once(tool.name().to_owned()).chain(words.iter().cloned()).collect(),
            progress: false,
            lines: false,
        };
        let status = tool.run(&words, &mut session);
        let (out, err) = console.take();
        (status, out, err)
    }

    /// The newest run of the store that has ended; nothing where none was kept.
    pub fn stored(&self) -> Option<Stored> {
        newest(self.store.as_ref()?)
    }

    /// Its record.
    pub fn record(&self) -> Option<ResultRecord> {
        Some(self.stored()?.record)
    }
}

fn newest(store: &Path) -> Option<Stored> {
    Store::open_read_only(store).ok()?.get("last", &alive).ok()
}
