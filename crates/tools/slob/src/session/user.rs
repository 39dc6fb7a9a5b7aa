//! The user of a load: who is told how far it is, and may have had enough.

use fathom_session::watch::Progress;
use fathom_session::{Console, Interrupt};

/// How the user is told of progress, and says that it is enough.
#[derive(Clone, Copy)]
pub struct User<'a> {
    /// The bar.
    pub progress: &'a Progress,
    /// Has the user had enough?
    pub interrupt: &'a Interrupt,
    /// Where lines go.
    pub console: &'a Console,
}
