//! System V semaphores at which processes meet: each was set to the number of those who will come, each of them takes
//! one, and all go on when nothing is left.

use std::io;
use std::time::Duration;

/// How often those who wait look whether the last one has come, or whether they should give up.
const LOOK: Duration = Duration::from_millis(1);

/// Read and write for all: processes of other users may meet there.
const ALL: libc::c_int = 0o666;

/// A set of semaphores.
#[derive(Clone, Copy, Debug)]
pub struct Semaphores {
    id: libc::c_int,
}

/// An answer below zero is an error.
fn checked(answer: libc::c_int) -> io::Result<libc::c_int> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

impl Semaphores {
    /// Makes so many semaphores under a key, or takes those that are there.
    pub fn create(key: i32, count: u16) -> io::Result<Self> {
        // SAFETY: semget has no pointers.
        let answer = unsafe { libc::semget(key, count.into(), libc::IPC_CREAT | ALL) };
        checked(answer).map(|id| Semaphores { id })
    }

    /// Those that are there under a key.
    ///
    /// # Errors
    /// `ENOENT` where nobody made them.
    pub fn find(key: i32, count: u16) -> io::Result<Self> {
        // SAFETY: semget has no pointers.
        let answer = unsafe { libc::semget(key, count.into(), ALL) };
        checked(answer).map(|id| Semaphores { id })
    }

    /// Sets one of them.
    ///
    /// # Errors
    /// `ERANGE` below 0 and above 32767.
    pub fn set(&self, number: u16, value: i32) -> io::Result<()> {
        // SAFETY: the fourth argument of SETVAL is an int, passed in a union that begins with it.
        let answer = unsafe { libc::semctl(self.id, number.into(), libc::SETVAL, libc::c_long::from(value)) };
        checked(answer).map(|_| ())
    }

    /// Removes them; whoever waits there is told so.
    pub fn remove(self) -> io::Result<()> {
        // SAFETY: IPC_RMID has no fourth argument.
        checked(unsafe { libc::semctl(self.id, 0, libc::IPC_RMID) }).map(|_| ())
    }

    fn change(&self, number: u16, by: i16) -> io::Result<bool> {
        let mut change =
            libc::sembuf { sem_num: number, sem_op: by, sem_flg: libc::IPC_NOWAIT as libc::c_short };
        // SAFETY: one structure is handed over, and read only during the call.
        match checked(unsafe { libc::semop(self.id, &mut change, 1) }) {
            Ok(_) => Ok(true),
            Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Takes one from a semaphore and waits until nothing is left there, or until it is to give up; answers whether
    /// all have come. Where nothing is left beforehand, nothing is waited for.
    pub fn meet(&self, number: u16, gives_up: impl Fn() -> bool) -> io::Result<bool> {
        self.change(number, -1)?;
        while !self.change(number, 0)? {
            if gives_up() {
                return Ok(false);
            }
            std::thread::sleep(LOOK);
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_meet_and_a_third_finds_nothing_to_wait_for() {
        let key = 0x6661_0000 | (std::process::id() & 0xffff) as i32;
        assert_eq!(Semaphores::find(key, 2).unwrap_err().raw_os_error(), Some(libc::ENOENT));
        let all = Semaphores::create(key, 2).unwrap();
        all.set(1, 2).unwrap();
        assert!(!Semaphores::find(key, 2).unwrap().meet(1, || true).unwrap());
        let other = std::thread::spawn(move || all.meet(1, || false).unwrap());
        assert!(other.join().unwrap());
        assert!(all.meet(1, || true).unwrap());
        all.remove().unwrap();
        assert!(all.meet(0, || true).is_err());
    }
}
