//! Users and groups by name, as the system's name service knows them: files, LDAP, SSSD and what else it is told to ask.
//! Becomes nobody.

use std::io;

/// The numbers of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserIds {
    /// The user's own.
    pub user: u32,
    /// That of the primary group.
    pub group: u32,
}

/// The user of a name (getpwnam_r); `None` where the name service knows nobody of it.
///
/// # Errors
/// When the name service cannot be asked, which says nothing of the user.
pub fn user(name: &str) -> io::Result<Option<UserIds>> {
    let found = nix::unistd::User::from_name(name)?;
    Ok(found.map(|user| UserIds { user: user.uid.as_raw(), group: user.gid.as_raw() }))
}

/// The number of the group of a name (getgrnam_r); `None` where the name service knows none of it.
///
/// # Errors
/// When the name service cannot be asked, which says nothing of the group.
pub fn group(name: &str) -> io::Result<Option<u32>> {
    let found = nix::unistd::Group::from_name(name)?;
    Ok(found.map(|group| group.gid.as_raw()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_known_and_a_name_must_be_whole() {
        assert_eq!(user("root").unwrap(), Some(UserIds { user: 0, group: 0 }));
        assert_eq!(group("root").unwrap(), Some(0));
        assert_eq!(user("roo").unwrap(), None);
        assert_eq!(group("").unwrap(), None);
    }
}
