//! `-p` and `-y`: processes that wait for each other before each test, at the System V semaphores that bonnie++ itself
//! uses, so that its processes and these may meet.

use super::refuse;
use crate::{Meeting, Options, Test};
use fathom_engine::Semaphores;
use fathom_session::environment::Interrupt;
use fathom_session::step;
use std::io::Write;

/// bonnie++'s key.
const KEY: i32 = 0x1267;
/// One semaphore for each test.
const COUNT: u16 = 12;

fn failed(what: &str, error: &std::io::Error) -> String {
    format!("Can't {what}: {}\n", step::reason(error.raw_os_error().unwrap_or(0)))
}

fn say(text: &str) {
    // Who closed stdout does not want to know.
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Makes the semaphores for so many processes, or with -1 removes them; answers the exit status.
pub fn serve(processes: i32) -> u8 {
    let outcome = match processes {
        -1 => remove().map(|()| "Semaphore removed.\n".to_owned()),
        _ => make(processes).map(|()| format!("Creating semaphore for {processes} procs.\n")),
    };
    match outcome {
        Ok(said) => {
            say(&said);
            0
        }
        Err(why) => refuse(&why),
    }
}

fn make(processes: i32) -> Result<(), String> {
    let all = Semaphores::create(KEY, COUNT).map_err(|error| failed("get semaphore", &error))?;
    (0..COUNT)
        .try_for_each(|number| all.set(number, processes))
        .map_err(|error| failed("set semaphore value", &error))
}

fn remove() -> Result<(), String> {
    find()?.remove().map_err(|error| failed("remove semaphore", &error))
}

fn find() -> Result<Semaphores, String> {
    Semaphores::find(KEY, COUNT).map_err(|error| failed("get semaphore ID", &error))
}

/// Where the processes meet.
pub enum Place {
    /// There is only this one.
    Nowhere,
    /// At semaphores.
    Semaphores(Semaphores),
    /// Somebody says when.
    Prompt,
}

impl Place {
    /// What `-y` asks for.
    pub fn of(options: &Options) -> Result<Self, String> {
        match options.meeting {
            None => Ok(Place::Nowhere),
            Some(Meeting::Semaphores) => find().map(Place::Semaphores),
            Some(Meeting::Prompt) => Ok(Place::Prompt),
        }
    }

    /// Waits before a test until all have come, or the user has had enough.
    pub fn wait(&self, test: Test, interrupt: &Interrupt) -> Result<(), String> {
        match self {
            Place::Nowhere => Ok(()),
            Place::Semaphores(all) => {
                let met = all.meet(test as u16, || interrupt.raised());
                met.map(|_| ()).map_err(|error| failed("decrement semaphore", &error))
            }
            // The end of stdin is an answer too.
            Place::Prompt => {
                say(&format!("\n{}:\n", test as u8));
                let mut line = String::new();
                std::io::stdin()
                    .read_line(&mut line)
                    .map(|_| ())
                    .map_err(|error| failed("read stdin", &error))
            }
        }
    }
}
