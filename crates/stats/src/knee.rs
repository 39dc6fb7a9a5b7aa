//! Where throughput stops paying for latency.
//!
//! On measured points of (load, throughput, latency): the power has a meaning in every unit and needs no smooth curve.

/// One measured point of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// The load: outstanding I/Os or an offered rate.
    pub load: f64,
    /// The throughput at that load, in any unit.
    pub throughput: f64,
    /// The mean latency at that load, in any unit.
    pub latency: f64,
}

/// Points whose power is within this share of the greatest count as equal to it.
const EQUAL: f64 = 1e-9;

/// The index of the point of greatest power, throughput over latency (Kleinrock 1979, "Power and deterministic rules of
/// thumb for probabilistic problems in computer communications").
///
/// There a relative gain in throughput equals the relative loss in latency; beyond it each per cent of throughput costs
/// more than a per cent of latency. With n ways of fixed service time it is exactly n outstanding; of an M/M/1 queue it
/// is half the capacity. Of points of equal power the greatest load is taken. `None` where no point has a positive latency.
pub fn power_knee(points: &[Point]) -> Option<usize> {
    let power = |p: &Point| p.throughput / p.latency;
    points
        .iter()
        .enumerate()
        .filter(|(_, p)| p.latency > 0.0 && p.throughput.is_finite() && p.latency.is_finite())
        .fold(None, |best: Option<(usize, &Point)>, (index, point)| match best {
            Some((_, held)) if power(point) < power(held) * (1.0 - EQUAL) => best,
            Some((_, held)) if power(point) <= power(held) * (1.0 + EQUAL) && point.load < held.load => best,
            _ => Some((index, point)),
        })
        .map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device of so many ways, each with a service time of 1: what any number of outstanding I/Os gets from it.
    fn ways(ways: f64, loads: &[f64]) -> Vec<Point> {
        loads
            .iter()
            .map(|load| Point { load: *load, throughput: load.min(ways), latency: (load / ways).max(1.0) })
            .collect()
    }

    #[test]
    fn the_knee_of_a_device_is_its_ways() {
        let loads: Vec<f64> = (0..=9).map(|i| f64::from(1 << i)).collect();
        for (n, index) in [(1.0, 0), (8.0, 3), (32.0, 5), (256.0, 8)] {
            assert_eq!(power_knee(&ways(n, &loads)), Some(index), "{n} ways");
        }
    }

    #[test]
    fn the_knee_of_a_queue_is_half_its_capacity() {
        let points: Vec<Point> = (1..20)
            .map(|i| {
                let load = f64::from(i) / 20.0;
                Point { load, throughput: load, latency: 1.0 / (1.0 - load) }
            })
            .collect();
        assert_eq!(power_knee(&points).map(|i| points[i].load), Some(0.5));
    }

    #[test]
    fn of_equal_power_the_greater_load_is_taken_in_either_order() {
        let a = Point { load: 1.0, throughput: 10.0, latency: 1.0 };
        let b = Point { load: 2.0, throughput: 20.0, latency: 2.0 };
        assert_eq!(power_knee(&[a, b]), Some(1));
        assert_eq!(power_knee(&[b, a]), Some(0));
    }

    #[test]
    fn no_curve_has_no_knee() {
        assert_eq!(power_knee(&[]), None);
        let idle = Point { load: 1.0, throughput: 0.0, latency: 0.0 };
        assert_eq!(power_knee(&[idle]), None);
    }
}
