//! What to do to the storage, and nothing about how: quantities as types, the plan and its streams. No I/O, no clock, no command line.
