//! Findings and profiles told: one file per format.
