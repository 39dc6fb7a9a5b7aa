//! Which measurement next, and what they mean. No engine, no clock, no randomness but a passed seed.
