//! Numbers in, numbers out: batch means, effective sample size, warm-up, steady state, knee, comparison. Takes slices and counts, not fathom's types.
