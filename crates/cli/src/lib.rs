//! The only one that speaks: arguments, progress, printing, exit codes.
