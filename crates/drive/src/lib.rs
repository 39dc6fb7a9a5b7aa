//! The machinery of running: clock, pace, recorder, slots, worker life cycle, the serial loop, the simulated world.
