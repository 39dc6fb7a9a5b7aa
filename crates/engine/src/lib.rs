//! Does block and file work: queues, the batch loop, opening and guarding targets.
