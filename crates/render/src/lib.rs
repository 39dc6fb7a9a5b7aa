//! Shows runs: terminal text, JSON, CSV, one-file HTML with SVG charts.
//!
//! Everything here is a pure function from a [`fathom_record::ResultRecord`] to bytes. It opens nothing, knows
//! no engine, no store, no clock and no terminal: who calls says how wide the page is and whether it may have
//! colour. A report can be made from a JSON file alone.
//!
//! | module | holds |
//! |---|---|
//! | [`mod@format`] | the forms of a record, and the one function that writes it in each |
//! | [`report`] | a result for the terminal: what a DBA reads in ten seconds |
//! | [`figure_rows`] | which figures are shown, in which order, under which names |
//! | [`latency_table`] | latencies, one load in a column |
//! | [`brief`], [`kv`], [`markdown`], [`oracle`], [`openmetrics`] | a result in one line, for scripts, wikis, Oracle's users, Prometheus |
//! | [`history`] | the list of runs, the status line, the plan of a dry run |
//! | [`json`] | the record as JSON, and its description for people |
//! | [`list`] | rows under heads as JSON, CSV and Markdown |
//! | [`csv`] | curves and time series with units in the header |
//! | [`html`] | one self-contained page |
//! | [`matrix`] | a page with heat maps over small and large load |
//! | [`surface`] | a page with heat maps and surfaces over two sizes |
//! | [`chart`], [`timeline`], [`heat`], [`svg`] | the charts of those pages |
//! | [`number`] | numbers as people read them |
//! | [`labels`] | what figures, loads and bounds are called |

pub mod brief;
pub mod chart;
pub mod csv;
pub mod facts;
pub mod figure_rows;
#[doc(hidden)]
pub mod fixture;
pub mod format;
pub mod heat;
pub mod history;
pub mod html;
mod html_details;
pub mod json;
pub mod kv;
pub mod labels;
pub mod latency_table;
pub mod list;
pub mod markdown;
pub mod matrix;
pub mod number;
pub mod openmetrics;
pub mod oracle;
pub mod plot;
pub mod record_doc;
pub mod report;
pub mod surface;
pub mod svg;
pub mod terminal;
pub mod timeline;

pub use record_doc::record_doc;
pub use terminal::Style;
