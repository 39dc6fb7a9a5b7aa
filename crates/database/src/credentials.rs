//! What the databases' own client programs read where a URL does not say it: PostgreSQL's password file and service file, MySQL's
//! option file. Pure: text in, values out; no error repeats a line, which may hold a password.

use crate::url::{Brand, Credentials, Route, Url};

/// Lines `name = value` of one group of a file; `#` and `;` begin comments.
fn group<'a>(text: &'a str, wanted: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let mut inside = false;
    text.lines().map(str::trim).filter_map(move |line| {
        if let Some(name) = line.strip_prefix('[') {
            inside = name.strip_suffix(']') == Some(wanted);
            return None;
        }
        let is_comment = line.starts_with(['#', ';']);
        let (name, value) = line.split_once('=').filter(|_| inside && !is_comment)?;
        Some((name.trim(), value.trim()))
    })
}

/// A service of `pg_service.conf`; `None` where the file has none of that name.
pub fn service(text: &str, name: &str) -> Option<Credentials> {
    let head = format!("[{name}]");
    text.lines().find(|line| line.trim() == head)?;
    let mut found = Credentials::default();
    for (name, value) in group(text, name) {
        let value = value.to_owned();
        match name {
            "host" => found.host = Some(value),
            "port" => found.port = value.parse().ok(),
            "dbname" => found.database = Some(value),
            "user" => found.user = Some(value),
            "password" => found.password = Some(value),
            _ => {}
        }
    }
    Some(found)
}

/// The group `[client]` of an option file. A value may stand in quotes.
pub fn options(text: &str) -> Credentials {
    let mut found = Credentials::default();
    for (name, value) in group(text, "client") {
        let inside = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
        let value = inside('"').or_else(|| inside('\'')).unwrap_or(value).to_owned();
        match name {
            "host" => found.host = Some(value),
            "port" => found.port = value.parse().ok(),
            "user" => found.user = Some(value),
            "password" => found.password = Some(value),
            "socket" => found.socket = Some(value.into()),
            _ => {}
        }
    }
    found
}

/// The parts of a line of a password file: `:` and `\` inside a part have `\` in front.
fn parts(line: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ':' if all.len() < 5 => all.push(String::new()),
            '\\' => all.last_mut().into_iter().for_each(|part| part.extend(letters.next())),
            letter => all.last_mut().into_iter().for_each(|part| part.push(letter)),
        }
    }
    all
}

/// The password of the first line of a password file (`host:port:database:user:password`) that fits; `*` fits anything, and a
/// socket is `localhost` or its directory.
pub fn password(text: &str, url: &Url) -> Option<String> {
    if url.brand != Brand::Postgres {
        return None;
    }
    let fits = |part: &str, is: &str| part == "*" || part == is;
    let named = |name: &str| if name.is_empty() { "postgres".to_owned() } else { name.to_owned() };
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(parts).find_map(|line| {
        let [host, port, database, user, password] = <[String; 5]>::try_from(line).ok()?;
        let is_host = match &url.route {
            Route::Host(name) => fits(&host, name),
            Route::Socket(path) | Route::File(path) => {
                fits(&host, "localhost") || path.to_str().is_some_and(|path| path == host)
            }
        };
        let all = is_host
            && fits(&port, &url.port.to_string())
            && fits(&database, &named(&url.database))
            && fits(&user, &named(&url.user));
        all.then_some(password)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        text.parse().unwrap()
    }

    #[test]
    fn the_first_line_of_a_password_file_that_fits_is_taken() {
        let text = "# db:*:*:me:no\ndb:5432:bench:me:a\\:b\\\\c\n*:*:*:you:plain:er\nlocalhost:*:*:*:local\nbroken\n";
        assert_eq!(password(text, &url("postgres://me@db/bench")), Some("a:b\\c".into()));
        assert_eq!(password(text, &url("postgres://you@db/x")), Some("plain:er".into()));
        assert_eq!(password(text, &url("postgres://x@/y?host=/run/pg")), Some("local".into()));
        assert_eq!(password(text, &url("postgres://me@db/other")), None);
        assert_eq!(password("/run/pg:*:*:*:s", &url("postgres:///y?host=/run/pg")), Some("s".into()));
        assert_eq!(password(text, &url("mysql://you@db")), None);
    }

    #[test]
    fn a_service_and_an_option_file_say_what_a_url_leaves_out() {
        let text = "[other]\nhost=no\n[bench]\n# host=no\nhost=db.example\nport=6000\nuser=me\npassword=hunter2\ndbname=b\n";
        let found = service(text, "bench").unwrap();
        assert!(!format!("{found:?}").contains("hunter2"));
        let filled = url("postgres:///").with_defaults(found.clone());
        assert_eq!(filled.to_string(), "postgres://me@db.example:6000/b");
        assert_eq!(filled.password(), Some("hunter2"));
        assert_eq!(url("postgres://you@h/x").with_defaults(found).to_string(), "postgres://you@h:6000/x");
        assert_eq!(service(text, "none"), None);
        let found = options("[mysqld]\nuser=no\n[client]\nuser = me\npassword=\"a b\"\nsocket=/run/s\n");
        let filled = url("mysql://").with_defaults(found);
        assert_eq!(filled.to_string(), "mysql://me@/?socket=/run/s");
        assert_eq!(filled.password(), Some("a b"));
    }
}
