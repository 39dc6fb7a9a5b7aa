//! The least memory that a server works in. What was measured, by starting servers in ever smaller groups, loading a schema and
//! running sessions on it: PostgreSQL 15 and MariaDB 10.11 on x86-64; other versions want about as much.

use super::{ServerKind, ServerOptions, wrong};
use crate::error::Result;
use fathom_spec::{Bytes, MIB};

/// What one server wants beside its own cache.
struct Need {
    /// The server without sessions, and the page cache without which it does not get on.
    base: u64,
    /// Each session, those that load included.
    session: u64,
}

fn need(kind: ServerKind) -> Need {
    match kind {
        ServerKind::Postgres => Need { base: 24 * MIB, session: 3 * MIB },
        ServerKind::Mariadb => Need { base: 68 * MIB, session: 2 * MIB },
    }
}

/// The least limit for so many sessions, whole MiB: with a cache of that size, or, where none is said, of a quarter of the limit.
fn least(kind: ServerKind, cache: Option<Bytes>, sessions: u32) -> Bytes {
    let Need { base, session } = need(kind);
    let without = base + session * u64::from(sessions.max(1));
    let bytes = match cache {
        Some(cache) => (without + cache.0).max(cache.0 * 2),
        None => without / 3 * 4,
    };
    Bytes(bytes.div_ceil(MIB) * MIB)
}

/// Refuses a limit in which the server would be killed while it is loaded or runs.
pub(super) fn check(options: &ServerOptions) -> Result<()> {
    let least = least(options.kind, options.cache, options.sessions);
    match options.limit.filter(|limit| *limit < least) {
        None => Ok(()),
        Some(limit) => Err(wrong(
            format!(
                "a limit of {limit} on the memory is too little: the kernel would kill the server with {} sessions in it",
                options.sessions.max(1)
            ),
            &format!("the least that works is {}M (--limit-cache); or take fewer sessions", least.0 / MIB),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_the_server_does_not_survive_is_refused_with_the_least_that_works() {
        let options = |limit: u64, cache: Option<u64>| ServerOptions {
            limit: Some(Bytes(limit * MIB)),
            cache: cache.map(|cache| Bytes(cache * MIB)),
            sessions: 4,
            ..ServerOptions::new(ServerKind::Postgres, "/srv")
        };
        for cache in [None, Some(8), Some(500)] {
            let error = check(&options(10, cache)).unwrap_err();
            let words = error.hint.split(' ').find_map(|word| word.strip_suffix('M')).unwrap();
            let least: u64 = words.parse().unwrap();
            assert_eq!(check(&options(least, cache)), Ok(()), "{cache:?}");
            assert!(check(&options(least - 1, cache)).is_err(), "{cache:?}");
        }
        assert_eq!(check(&ServerOptions { limit: None, ..options(1, None) }), Ok(()));
        let mariadb = ServerOptions { kind: ServerKind::Mariadb, ..options(96, None) };
        assert!(check(&mariadb).unwrap_err().what.contains("96"));
    }
}
