//! Other tools' languages, one folder a tool: their words to a plan, and what was seen to their words.
//!
//! Opens nothing, prints nothing, knows no clock and no environment: everything works on texts and on
//! `impl Write`, so that it can be fuzzed and held to the byte.
//!
//! | module | tool |
//! |---|---|
//! | [`bonnie`] | bonnie++ |
//! | [`dd`] | coreutils' dd |
//! | [`dt`] | dt, the Data Test program |
//! | [`fio`] | fio |
//! | [`iozone`] | iozone |
//! | [`orion`] | Oracle's ORION |
//! | [`sysbench`] | sysbench fileio |
//! | [`slob`] | SLOB and pgio |

pub mod bonnie;
pub mod dd;
pub mod dt;
pub mod fio;
pub mod iozone;
pub mod orion;
pub mod slob;
pub mod sysbench;
