//! The host's facts on real loop devices, file systems and swap, and on fabricated trees where no machine has it all.

use fathom_host::roots;

#[path = "../src/fabricate.rs"]
mod fabricate;
mod guard;
mod lock;
mod resolve;
mod scene;
