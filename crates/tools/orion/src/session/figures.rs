//! The record of a run of ORION's: figures, curves, and what is needed to tell it again.

use crate::{LargeType, Layout, Lun, Options};
use fathom_calibrate::observe::{CONFIDENCE, Observed};
use fathom_record::*;
use fathom_session::Figures;
use fathom_spec::{Bytes, GroupId, LatencyLimit, MIB, Nanos, Statistic, StreamId};

/// What `fathom show` needs to tell the run again.
pub fn request(options: &Options, luns: &[Lun], disks: u32, name: &str) -> serde_json::Value {
    let luns: Vec<_> =
        luns.iter().map(|lun| serde_json::json!({"name": lun.name, "size": lun.size.0})).collect();
    let layout = options.layout.version();
    serde_json::json!({ "orion": options.typed, "luns": luns, "disks": disks, "name": name, "csv": layout })
}

/// What [`request`] kept.
pub struct Requested {
    /// The words after the program's name.
    pub typed: Vec<String>,
    /// LUNs as they were found.
    pub luns: Vec<Lun>,
    /// `-num_disks`, or how many LUNs there were.
    pub disks: u32,
    /// `NAME_YYYYMMDD_HHMM`.
    pub name: String,
    /// Layout of the files.
    pub layout: Layout,
}

/// Reads [`request`] again.
pub fn requested(record: &ResultRecord) -> Option<Requested> {
    let request = record.facts.get("request")?;
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    let typed = request.get("orion")?.as_array()?.iter().filter_map(text).collect();
    let lun = |value: &serde_json::Value| {
        Some(Lun { name: text(value.get("name")?)?, size: Bytes(value.get("size")?.as_u64()?) })
    };
    let luns = request.get("luns")?.as_array()?.iter().filter_map(lun).collect();
    let disks = request.get("disks")?.as_u64()? as u32;
    let version = request.get("csv").and_then(serde_json::Value::as_str);
    let layout = version.and_then(Layout::of_version).unwrap_or_default();
    Some(Requested { typed, luns, disks, name: text(request.get("name")?)?, layout })
}

/// One kind of I/O of a run, as if it had been alone.
fn only(run: &Run, group: GroupId) -> Option<Observed> {
    let of = |id: &StreamId| run.plan.streams.get(id.0 as usize).is_some_and(|s| s.group == group);
    let mut alone = run.clone();
    alone.intervals.retain(|interval| of(&interval.stream));
    Observed::of(&alone).filter(|observed| observed.sum.operations > 0)
}

/// ORION's own mark of a slow I/O.
const SLOW: LatencyLimit = LatencyLimit { of: Statistic::Mean, at_most: Nanos::from_millis(10) };

/// Figures and curves of what was measured.
pub fn figures(runs: &[Run], options: &Options) -> Figures {
    let seen: Vec<(usize, Option<Observed>, Option<Observed>)> = runs
        .iter()
        .enumerate()
        .filter(|(_, run)| run.purpose == Purpose::Load && run.faults().next().is_none())
        .map(|(index, run)| (index, only(run, SMALL), only(run, LARGE)))
        .collect();
    let load = |index: usize| runs[index].load;
    let small = || seen.iter().filter_map(|(index, small, _)| Some((*index, small.as_ref()?)));
    let large = || seen.iter().filter_map(|(index, _, large)| Some((*index, large.as_ref()?)));
    let mut summary = std::collections::BTreeMap::new();
    if let Some((index, best)) = small().max_by(|a, b| a.1.rate.total_cmp(&b.1.rate)) {
        summary.insert(FigureName::MaxIops, figure(best, index, load(index), Unit::PerSecond));
        summary.insert(FigureName::Latency, figure(best, index, load(index), Unit::Nanoseconds));
    }
    if let Some((index, best)) = large().max_by(|a, b| a.1.bytes_per_second.total_cmp(&b.1.bytes_per_second))
    {
        summary.insert(FigureName::MaxMbps, figure(best, index, load(index), Unit::MebibytesPerSecond));
    }
    if let Some((index, alone)) = small().find(|(index, _)| load(*index) == (Load { small: 1, large: 0 })) {
        summary.insert(FigureName::UnloadedLatency, figure(alone, index, load(index), Unit::Nanoseconds));
    }
    let mut curves: Vec<Curve> = Vec::new();
    for (index, small, large) in &seen {
        let Some((name, point)) = curve_point(options, (*index, load(*index)), small, large) else {
            continue;
        };
        match curves.iter_mut().find(|curve| curve.name == name) {
            Some(curve) => curve.points.push(point),
            None => curves.push(Curve { name, points: vec![point], knee: None }),
        }
    }
    Figures::Own(summary, curves)
}

fn figure(observed: &Observed, index: usize, load: Load, unit: Unit) -> Figure {
    let latency = observed.figures(Some(&SLOW));
    let (value, half_width) = match unit {
        Unit::PerSecond | Unit::Ratio => (observed.rate, observed.rate_half_width()),
        Unit::MebibytesPerSecond => mbps(observed),
        Unit::Nanoseconds => (latency.mean_ns, latency.mean_half_width_ns),
    };
    Figure {
        value,
        half_width,
        confidence: CONFIDENCE,
        unit,
        converged: half_width.is_some_and(|half| half <= 0.05 * value),
        load: Some(load),
        latency: Some(latency),
        bound: None,
        run: Some(index),
        note: None,
    }
}

fn mbps(observed: &Observed) -> (f64, Option<f64>) {
    let per_operation = observed.sum.bytes as f64 / observed.sum.operations.max(1) as f64 / MIB as f64;
    (observed.bytes_per_second / MIB as f64, observed.rate_half_width().map(|half| half * per_operation))
}

/// The point of a load on its curve. Where both kinds ran, operations are the small ones and bytes the large ones.
fn curve_point(
    options: &Options,
    (index, load): (usize, Load),
    small: &Option<Observed>,
    large: &Option<Observed>,
) -> Option<(CurveName, CurvePoint)> {
    let name = match (small.is_some(), large.is_some(), options.write, options.large_type) {
        (true, false, 0, _) => CurveName::SmallReads,
        (true, false, 100, _) => CurveName::RandomWrites,
        (false, true, 0, LargeType::Rand) => CurveName::LargeRandomReads,
        (false, true, 0, LargeType::Seq) => CurveName::LargeSequentialReads,
        (false, true, 100, LargeType::Seq) => CurveName::SequentialWrites,
        _ => CurveName::Mixed,
    };
    let first = small.as_ref().or(large.as_ref())?;
    let point = CurvePoint {
        load,
        iops: first.rate,
        iops_half_width: first.rate_half_width(),
        mbps: large.as_ref().map_or(mbps(first).0, |large| mbps(large).0),
        latency: first.figures(Some(&SLOW)),
        exploring: false,
        run: Some(index),
    };
    Some((name, point))
}
