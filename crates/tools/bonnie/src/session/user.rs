//! Whom `-u` and `-g` mean, and how the program becomes that user: it starts itself again as him.

use crate::Identity;
use fathom_host::users;
use std::os::unix::process::CommandExt;

/// The group of a user who was given as a number.
const NOGROUP: &str = "nogroup";

/// Becomes the user; `command` is the program's own command line. Answers what bonnie++ says then; nothing where no user was
/// asked for.
///
/// # Errors
/// In bonnie++'s words, when there is no such user or group, or when this process may not become them.
pub fn become_user(identity: &Identity, command: &[String]) -> Result<Option<String>, String> {
    let Some(user) = &identity.user else { return Ok(None) };
    let (uid, own) = find_user(user).ok_or_else(|| format!("Can't find user {user}\n"))?;
    let gid = match &identity.group {
        Some(group) => find_group(group).ok_or_else(|| format!("Can't find group {group}\n"))?,
        None => own.or_else(|| find_group(NOGROUP)).unwrap_or(65_534),
    };
    let now = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    if now != (uid, gid) {
        if now.0 != 0 {
            return Err(format!("Can't set gid to {gid}.\n"));
        }
        let (name, words) = command.split_first().ok_or("no name\n")?;
        let mut again = std::process::Command::new("/proc/self/exe");
        let error = again.arg0(name).args(words).uid(uid).gid(gid).exec();
        return Err(format!("Can't set uid to {uid}: {error}\n"));
    }
    Ok(Some(format!("Using uid:{uid}, gid:{gid}.\n")))
}

/// Number and first group; a user who is a number has none. A name service that cannot be asked knows nobody, as in
/// bonnie++.
fn find_user(user: &str) -> Option<(u32, Option<u32>)> {
    if let Ok(number) = user.parse() {
        return Some((number, None));
    }
    let found = users::user(user).ok()??;
    Some((found.user, Some(found.group)))
}

fn find_group(group: &str) -> Option<u32> {
    group.parse().ok().or_else(|| users::group(group).ok()?)
}
