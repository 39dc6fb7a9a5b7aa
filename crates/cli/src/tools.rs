//! The tools whose languages are spoken: one list, asked by name for `fathom NAME …` and for a link of that name.

use fathom_session::tool::Tool;
use std::ffi::OsStr;
use std::path::Path;

/// All of them, in the order of fathom's help.
pub const TOOLS: &[&dyn Tool] = &[
    &fathom_orion::session::Orion,
    &fathom_fio::session::Fio,
    &fathom_sysbench::session::Sysbench,
    &fathom_dd::session::Dd,
    &fathom_dt::session::Dt,
    &fathom_slob::session::Slob,
    &fathom_bonnie::session::Bonnie,
    &fathom_iozone::session::Iozone,
    &fathom_ioping::session::Ioping,
];

/// The tool of that name.
pub fn named(name: &str) -> Option<&'static dyn Tool> {
    TOOLS.iter().copied().find(|tool| tool.name() == name)
}

/// The tool by whose name the program was called, if it was.
pub fn called_as(program: &OsStr) -> Option<&'static dyn Tool> {
    named(Path::new(program).file_name()?.to_str()?)
}
