//! Shows runs: terminal, JSON, CSV, one-file HTML with SVG charts.
