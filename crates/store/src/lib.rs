//! Keeps runs: SQLite, migrations on PRAGMA user_version.
