//! fio's language.
//!
//! | module | holds |
//! |---|---|
//! | [`report`] | what fio prints, and its log files |
//! | [`import`] | reads fio's JSON into a record |

pub mod import;
pub mod report;
