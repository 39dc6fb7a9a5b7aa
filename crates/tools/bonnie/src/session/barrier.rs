//! `-p` and `-y`: processes that wait for each other before each test, at the System V semaphores that bonnie++ itself
//! uses, so that its processes and these may meet.

use super::refuse;
use crate::{BarrierKind, Options, Test};
use fathom_engine::Semaphores;
use fathom_session::{Console, Interrupt, errno_text};
use std::io::Write;

/// bonnie++'s key.
const KEY: i32 = 0x1267;
/// One semaphore for each test.
const COUNT: u16 = 12;

fn failed(what: &str, error: &std::io::Error) -> String {
    format!("Can't {what}: {}\n", errno_text::of_write(error.raw_os_error().unwrap_or(0)))
}

fn say(console: &Console, text: &str) {
    // Who closed stdout does not want to know.
    let mut out = console.out();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Makes the semaphores for so many processes, or with -1 removes them; answers the exit status.
pub fn serve(processes: i32, console: &Console) -> u8 {
    let outcome = match processes {
        -1 => remove().map(|()| "Semaphore removed.\n".to_owned()),
        _ => make(processes).map(|()| format!("Creating semaphore for {processes} procs.\n")),
    };
    match outcome {
        Ok(text) => {
            say(console, &text);
            0
        }
        Err(why) => refuse(console, &why),
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

/// Where the processes wait for each other.
pub enum Barrier {
    /// There is only this one.
    None,
    /// At semaphores.
    Semaphores(Semaphores),
    /// Somebody says when.
    Prompt,
}

impl Barrier {
    /// What `-y` asks for.
    ///
    /// # Errors
    /// In bonnie++'s words, when nobody made the semaphores.
    pub fn of(options: &Options) -> Result<Self, String> {
        match options.barrier {
            None => Ok(Barrier::None),
            Some(BarrierKind::Semaphores) => find().map(Barrier::Semaphores),
            Some(BarrierKind::Prompt) => Ok(Barrier::Prompt),
        }
    }

    /// Waits before a test until all have come, or the user has had enough.
    ///
    /// # Errors
    /// In bonnie++'s words.
    pub fn wait(&self, test: Test, interrupt: &Interrupt, console: &Console) -> Result<(), String> {
        match self {
            Barrier::None => Ok(()),
            Barrier::Semaphores(all) => {
                let met = all.meet(test as u16, || interrupt.raised());
                met.map(|_| ()).map_err(|error| failed("decrement semaphore", &error))
            }
            // The end of stdin is an answer too.
            Barrier::Prompt => {
                say(console, &format!("\n{}:\n", test as u8));
                let mut line = String::new();
                std::io::stdin()
                    .read_line(&mut line)
                    .map(|_| ())
                    .map_err(|error| failed("read stdin", &error))
            }
        }
    }
}
