//! Which loads a run measures, in ORION's order, and how long that takes. Pure arithmetic.

use super::options::{Level, Matrix, Options};
use fathom_record::Load;

/// The matrix of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Points {
    /// Columns: outstanding small I/Os, ascending.
    pub smalls: Vec<u32>,
    /// Rows: outstanding large I/Os or streams, ascending.
    pub larges: Vec<u32>,
    /// What is measured, in order: small loads first, then large ones.
    pub loads: Vec<Load>,
    /// "Total Data Points" of the summary; where the matrix has the corner without load, that is counted too.
    pub total: u64,
    /// The summary's "Small Columns" (of `basic` only the 0 beside the large loads).
    pub small_columns: Vec<u32>,
}

impl Points {
    /// The data points of a run over so many disks.
    pub fn new(options: &Options, disks: u32) -> Self {
        let to = |most: u32| (0..=most).collect::<Vec<u32>>();
        let (n, small, large) = (disks, options.num_small.unwrap_or(0), options.num_large.unwrap_or(0));
        match (options.level, options.matrix) {
            (Level::Simple, _) | (Level::Advanced, Matrix::Basic) => Points::basic(to(5 * n), to(2 * n)),
            (Level::Normal, _) | (Level::Advanced, Matrix::Detailed) => Points::all(to(5 * n), to(2 * n)),
            (Level::Oltp, _) => Points::oltp(n),
            (Level::Dss, _) => Points::all(vec![0], to(15 * n)),
            (Level::Advanced, Matrix::Point) => Points::all(vec![small], vec![large]),
            (Level::Advanced, Matrix::Col) => Points::all(vec![small], to(2 * n)),
            (Level::Advanced, Matrix::Row) => Points::all(to(5 * n), vec![large]),
            (Level::Advanced, Matrix::Max) => Points::all(to(small), to(large)),
        }
    }

    /// First row, then first column.
    fn basic(smalls: Vec<u32>, larges: Vec<u32>) -> Self {
        let small = smalls.iter().skip(1).map(|small| Load { small: *small, large: 0 });
        let large = larges.iter().skip(1).map(|large| Load { small: 0, large: *large });
        let loads: Vec<Load> = small.chain(large).collect();
        let total = loads.len() as u64 + 1;
        Points { smalls, larges, loads, total, small_columns: vec![0] }
    }

    /// Row by row.
    fn all(smalls: Vec<u32>, larges: Vec<u32>) -> Self {
        let row = |large: &u32| {
            let large = *large;
            smalls.iter().map(move |small| Load { small: *small, large }).collect::<Vec<_>>()
        };
        let loads: Vec<Load> = larges.iter().flat_map(row).filter(|load| *load != Load::default()).collect();
        let total = smalls.len() as u64 * larges.len() as u64;
        Points { small_columns: smalls.clone(), smalls, larges, loads, total }
    }

    /// 1 to N by ones, then 2N, 3N to 20N.
    fn oltp(n: u32) -> Self {
        let smalls: Vec<u32> = (1..=n).chain((2..=20).map(|times| times * n)).collect();
        Points { total: smalls.len() as u64 + 1, ..Points::all(smalls, vec![0]) }
    }

    /// The minutes of ORION's estimate: the points' durations, and one.
    pub fn minutes(&self, options: &Options) -> u64 {
        (self.total as f64 * options.duration.seconds() / 60.0) as u64 + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::parse;

    fn points(line: &str, disks: u32) -> (Points, u64) {
        let words: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        let options = parse(&words, Default::default()).unwrap();
        let points = Points::new(&options, disks);
        let minutes = points.minutes(&options);
        (points, minutes)
    }

    #[test]
    fn estimates_are_those_that_orion_printed() {
        for (line, disks, total, minutes) in [
            ("-run simple", 1, 8, 9),
            ("-run simple", 2, 15, 16),
            ("-run simple", 4, 29, 30),
            ("-run simple", 6, 43, 44),
            ("-run normal", 1, 18, 19),
            ("-run advanced -matrix max -num_small 4 -num_large 4", 1, 25, 26),
            ("-run oltp", 1, 21, 22),
            ("-run oltp", 3, 23, 24),
            ("-run dss", 1, 16, 65),
            ("-run advanced -matrix row -num_large 2", 2, 11, 12),
            ("-run advanced -matrix col -num_small 3", 2, 5, 6),
            ("-run advanced -matrix point -num_small 8 -num_large 2", 2, 1, 2),
        ] {
            let (points, found) = points(line, disks);
            assert_eq!((points.total, found), (total, minutes), "{line} {disks}");
        }
    }

    #[test]
    fn small_loads_come_first_and_nothing_without_load_is_measured() {
        let (simple, _) = points("-run simple", 1);
        let loads: Vec<_> = simple.loads.iter().map(|l| (l.small, l.large)).collect();
        assert_eq!(loads, [(1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (0, 1), (0, 2)]);
        let (normal, _) = points("-run normal", 1);
        assert_eq!(normal.loads.len(), 17);
        assert_eq!(normal.loads[5], Load { small: 0, large: 1 });
        let (oltp, _) = points("-run oltp", 4);
        assert_eq!(oltp.smalls[..6], [1, 2, 3, 4, 8, 12]);
        assert!(oltp.smalls.contains(&68) && oltp.smalls.last() == Some(&80));
        let (point, _) = points("-run advanced -matrix point -num_small 8 -num_large 2", 1);
        assert_eq!(point.loads, [Load { small: 8, large: 2 }]);
    }

    #[test]
    fn any_number_of_disks_has_its_points() {
        for disks in 1..=64 {
            assert_eq!(points("-run simple", disks).0.loads.len() as u32, 7 * disks);
            let most = points("-run dss", disks).0.loads.last().copied();
            assert_eq!(most, Some(Load { small: 0, large: 15 * disks }));
        }
    }
}
