//! What was seen: histograms, latencies, intervals, samples, events, runs, results. No judgement.
