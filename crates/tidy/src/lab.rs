//! A laboratory for a test: disks that `scripts/lab` makes in a run directory of its own.

use crate::{house, is_root, skip};
use std::path::PathBuf;
use std::process::Command;

/// A run directory of its own, so that tests side by side do not see each other's things; what is left in it goes at the end.
pub struct Lab {
    state: PathBuf,
}

impl Lab {
    /// Nothing, and a counted skip, where the machine cannot. `name` is the test's.
    pub fn open(name: &str) -> Option<Self> {
        if !is_root() {
            skip(&format!("the lab: {name}"), "needs root");
            return None;
        }
        let state = PathBuf::from(format!("/run/fathom-lab-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&state).expect("/run can be written by root");
        Some(Lab { state })
    }

    /// The lab with some words.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(house::root().join("scripts/lab"));
        command.args(words).env("FATHOM_LAB_DIR", &self.state);
        command
    }

    /// Makes a thing; answers the value of a key of what was printed.
    ///
    /// # Panics
    /// When it cannot be made.
    #[track_caller]
    pub fn make(&self, words: &[&str]) -> impl Fn(&str) -> String + use<> {
        let output = self.command(words).output().expect("scripts/lab is there");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        move |key| {
            let line = printed.lines().find_map(|line| line.strip_prefix(&format!("{key}=")));
            line.unwrap_or_else(|| panic!("no {key}= in {printed}")).to_owned()
        }
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = self.command(&["remove", "--all"]).status();
        let _ = std::fs::remove_dir(&self.state);
    }
}
