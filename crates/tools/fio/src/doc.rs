//! `docs/tools/fio.md`, written from the table of options.

use super::engines::ENGINES;
use super::help::{OTHER_ENGINES, takes};
use super::options::{FioOption, OPTIONS, State};
use std::fmt::Write;

const OPENING: &str = include_str!("opening.txt");

/// The whole page.
pub fn page() -> String {
    let mut page = OPENING.to_owned();
    engines(&mut page);
    let titles = [
        (State::Works, "Works", "limits"),
        (State::Idle, "Accepted, without effect", "because"),
        (State::Refused, "Refused by name", "because"),
    ];
    for (state, title, reason) in titles {
        let options: Vec<&FioOption> = OPTIONS.iter().filter(|option| option.state == state).collect();
        let _ = write!(
            page,
            "\n### {title} ({})\n\n| option | takes | what it says | {reason} |\n|---|---|---|---|\n",
            options.len()
        );
        options.iter().for_each(|option| row(option, &mut page));
    }
    page
}

fn engines(page: &mut String) {
    page.push_str("\n## Engines\n\n| engine | here |\n|---|---|\n");
    for (name, what) in ENGINES {
        let _ = writeln!(page, "| `{name}` | {what} |");
    }
    for (name, why) in OTHER_ENGINES {
        let _ = writeln!(page, "| `{name}` | refused: {why} |");
    }
    page.push_str(
        "\n## Options\n\nA refused option whose value asks for nothing (`lockfile=none`) is accepted.\n",
    );
}

fn row(option: &FioOption, page: &mut String) {
    let alias = option.alias.map(|alias| format!(", `{alias}`")).unwrap_or_default();
    let of = match option.engines {
        [] => String::new(),
        engines => format!(" ({})", engines.join(", ")),
    };
    let clean = |text: &str| text.replace('|', "\\|");
    let _ = writeln!(
        page,
        "| `{}`{alias}{of} | {} | {} | {} |",
        option.name,
        clean(takes(&option.kind)),
        clean(option.about),
        clean(option.why)
    );
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_in_the_docs_is_the_tables() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/tools/fio.md");
        let found = std::fs::read_to_string(path).unwrap_or_default();
        let hint = "write it anew: cargo run -p fathom-fio --example fio_doc";
        assert!(found == super::page(), "docs/tools/fio.md is old; {hint}");
    }
}
