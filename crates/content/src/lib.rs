//! What bytes stand in a block, and what is wrong with them. No I/O.
