//! Encrypted connections to a PostgreSQL that takes no others.

use fathom_database::{Url, inspect};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The newest server of this machine, and as whom it runs when we are root.
fn installed() -> Option<(PathBuf, Option<u32>)> {
    let homes = std::fs::read_dir("/usr/lib/postgresql").ok()?.flatten().map(|entry| entry.path());
    let home = homes.filter(|home| home.join("bin/postgres").exists()).max()?.join("bin");
    let who = Command::new("id").args(["-u", "postgres"]).output().ok()?;
    let who = String::from_utf8(who.stdout).ok()?.trim().parse().ok();
    Some((home, who.filter(|_| fathom_tidy::is_root())))
}

/// A certificate by openssl: `words` say who signs it.
fn certificate(folder: &Path, name: &str, words: &[&str]) {
    let file = |end: &str| folder.join(format!("{name}.{end}"));
    let out = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj"])
        .arg(format!("/CN={name}"))
        .arg("-keyout")
        .arg(file("key"))
        .arg("-out")
        .arg(file("crt"))
        .args(words)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

/// Ended with the value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let pid = self.0.id().to_string();
        let _ = Command::new("kill").args(["-QUIT", &pid]).status();
        let _ = self.0.wait();
    }
}

#[test]
fn a_server_that_takes_only_encrypted_connections_is_reached_and_its_certificate_checked_as_asked() {
    let openssl = Command::new("openssl").arg("version").output().is_ok();
    let (Some((bin, who)), true) = (installed(), openssl) else {
        fathom_tidy::skip("encrypted connections", "PostgreSQL or openssl is not installed");
        return;
    };
    let folder = tempfile::Builder::new().prefix("fathom-tls-").tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    certificate(folder.path(), "authority", &[]);
    certificate(folder.path(), "stranger", &[]);
    let signed = ["-CA", "authority.crt", "-CAkey", "authority.key"];
    let leaf = ["-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE"];
    certificate(folder.path(), "server", &[&signed[..], &leaf[..]].concat());
    std::fs::set_permissions(path("server.key"), std::fs::Permissions::from_mode(0o600)).unwrap();
    for file in [folder.path().to_path_buf(), path("server.key"), path("server.crt")] {
        chown(file, who, who).unwrap();
    }
    let as_user = |program: &str| {
        let mut command = Command::new(bin.join(program));
        if let Some(who) = who {
            command.uid(who).gid(who);
        }
        command.current_dir(folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let made = as_user("initdb").args(["-D", "data", "-U", "postgres", "--auth=trust", "--no-sync"]).status();
    assert!(made.unwrap().success());
    std::fs::write(path("data/pg_hba.conf"), "hostssl all all all trust\n").unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut serve = as_user("postgres");
    serve.arg("-D").arg(path("data")).args(["-p", &port.to_string(), "-c", "listen_addresses=127.0.0.1"]);
    serve.args(["-c", "unix_socket_directories=", "-c", "ssl=on"]);
    serve.args(["-c", &format!("ssl_cert_file={}", path("server.crt").display())]);
    serve.args(["-c", &format!("ssl_key_file={}", path("server.key").display())]);
    let _running = Running(serve.spawn().unwrap());
    let connect = |host: &str, words: &str| {
        let url: Url = format!("postgres://postgres@{host}:{port}/postgres?{words}").parse().unwrap();
        inspect(&url)
    };
    for _ in 0..500 {
        if connect("127.0.0.1", "").is_ok() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let authority = path("authority.crt").display().to_string();
    let stranger = path("stranger.crt").display().to_string();
    let root = |mode: &str, file: &str| format!("sslmode={mode}&sslrootcert={file}");
    for (host, words, works) in [
        ("127.0.0.1", "sslmode=prefer".to_owned(), true),
        ("127.0.0.1", "sslmode=disable".to_owned(), false),
        ("127.0.0.1", "sslmode=require".to_owned(), true),
        ("127.0.0.1", root("verify-ca", &authority), true),
        ("127.0.0.1", root("verify-ca", &stranger), false),
        ("127.0.0.1", root("verify-full", &authority), false),
        ("localhost", root("verify-full", &authority), true),
        ("localhost", root("verify-full", &stranger), false),
        ("localhost", root("verify-full", "/nowhere"), false),
    ] {
        let found = connect(host, &words);
        assert_eq!(found.is_ok(), works, "{host} {words}: {found:?}");
    }
}
