//! Whom `-u` and `-g` mean, and how the program becomes that user: it starts itself again as him.

use crate::Identity;
use fathom_session::Context;
use std::os::unix::process::CommandExt;

/// The group of a user who was given as a number.
const NOGROUP: &str = "nogroup";

/// Becomes the user. Answers what bonnie++ says then; nothing where no user was asked for.
pub fn become_user(identity: &Identity, context: &Context) -> Result<Option<String>, String> {
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
        let (name, words) = context.command.split_first().ok_or("no name\n")?;
        let mut again = std::process::Command::new("/proc/self/exe");
        let error = again.arg0(name).args(words).uid(uid).gid(gid).exec();
        return Err(format!("Can't set uid to {uid}: {error}\n"));
    }
    Ok(Some(format!("Using uid:{uid}, gid:{gid}.\n")))
}

/// Fields of the line of a name, in a file of the form of /etc/passwd.
fn line(text: &str, name: &str) -> Option<Vec<String>> {
    let mut lines = text.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let found = lines.find(|fields| fields.first() == Some(&name))?;
    Some(found.into_iter().map(str::to_owned).collect())
}

/// Number and first group; a user who is a number has none.
fn find_user(user: &str) -> Option<(u32, Option<u32>)> {
    if let Ok(number) = user.parse() {
        return Some((number, None));
    }
    let fields = line(&std::fs::read_to_string("/etc/passwd").ok()?, user)?;
    Some((fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()))
}

fn find_group(group: &str) -> Option<u32> {
    group
        .parse()
        .ok()
        .or_else(|| line(&std::fs::read_to_string("/etc/group").ok()?, group)?.get(2)?.parse().ok())
}
