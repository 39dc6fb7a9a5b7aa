//! Tests of the house itself: floors, sizes, words, licences.
