//! Each distribution against its own law, by chi-square at 0.1 %.

use super::*;
use rand_xoshiro::rand_core::SeedableRng;

const DRAWS: u64 = 400_000;

/// How often each block of `count` comes; ranks are put back in order where the law spreads them.
fn counts(pattern: Pattern, count: u64, by_rank: bool) -> Vec<u64> {
    let mut random = Xoshiro256Plus::seed_from_u64(11);
    let mut skew = Skew::of(&pattern, count, 5).unwrap();
    let mut counts = vec![0; count as usize];
    (0..DRAWS).for_each(|_| counts[skew.draw(&mut random) as usize] += 1);
    if by_rank { (0..count).map(|rank| counts[skew.spread.at(rank) as usize]).collect() } else { counts }
}

/// The chi-square quantile at 99.9 % (Wilson and Hilferty).
fn limit(freedom: f64) -> f64 {
    let part = 2.0 / (9.0 * freedom);
    freedom * (1.0 - part + 3.09 * part.sqrt()).powi(3)
}

fn fits(counts: &[u64], weights: &[f64]) {
    let total: f64 = weights.iter().sum();
    let (chi, cells) = counts.iter().zip(weights).fold((0.0, 0), |(chi, cells), (seen, weight)| {
        let expected = DRAWS as f64 * weight / total;
        (chi + (*seen as f64 - expected).powi(2) / expected, cells + 1)
    });
    let most = limit(f64::from(cells - 1));
    assert!(chi < most, "chi-square {chi} over {most}");
}

#[test]
fn zipf_follows_its_law_below_at_and_above_an_exponent_of_one() {
    for exponent in [0.6, 1.0, 1.2] {
        let weights: Vec<f64> = (1..=200).map(|rank| f64::from(rank).powf(-exponent)).collect();
        fits(&counts(Pattern::Zipf(exponent), 200, true), &weights);
    }
}

#[test]
fn a_fifth_of_the_blocks_takes_four_fifths_of_a_pareto_load() {
    let counts = counts(Pattern::Pareto(0.2), 100, true);
    let power: f64 = 0.2f64.ln() / 0.8f64.ln();
    let upto = |rank: usize| (rank as f64 / 100.0).powf(1.0 / power);
    let weights: Vec<f64> = (0..100).map(|rank| upto(rank + 1) - upto(rank)).collect();
    fits(&counts, &weights);
    let first: u64 = counts[..20].iter().sum();
    assert!((first as f64 / DRAWS as f64 - 0.8).abs() < 0.005);
}

/// Shares of the most frequent tenth, fifth and half of the blocks, of half a million I/Os of fio 3.33 over 4096 blocks.
#[test]
fn a_normal_load_is_as_uneven_as_fios_and_spread_over_the_region() {
    for (parameter, seen) in
        [(5.0, [0.442, 0.761, 0.998]), (20.0, [0.371, 0.669, 0.989]), (50.0, [0.209, 0.403, 0.868])]
    {
        let counts = counts(Pattern::Normal(parameter), 4096, false);
        let places = counts.iter().zip(0u64..).map(|(count, block)| (*count as f64, block as f64));
        let mean = places.clone().map(|(count, block)| count * block).sum::<f64>() / DRAWS as f64;
        let square = places.map(|(count, block)| count * (block - mean).powi(2)).sum::<f64>() / DRAWS as f64;
        assert!((square.sqrt() - 1182.0).abs() < 60.0, "as an even load's: {}", square.sqrt());
        let mut sorted = counts;
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        for (part, share) in [0.1, 0.2, 0.5].into_iter().zip(seen) {
            let upto: u64 = sorted[..(4096.0 * part) as usize].iter().sum();
            let mine = upto as f64 / DRAWS as f64;
            assert!(
                (mine - share).abs() < 0.03,
                "{parameter}: {part} of the blocks take {mine}, not {share}"
            );
        }
    }
}

#[test]
fn zones_get_their_share_and_the_rest_gets_the_rest() {
    let counts = counts(Pattern::Zoned(vec![(60.0, 10.0), (30.0, 20.0)]), 100, false);
    let weight = |block| match block {
        0..10 => 60.0 / 10.0,
        10..30 => 30.0 / 20.0,
        _ => 10.0 / 70.0,
    };
    fits(&counts, &(0..100).map(weight).collect::<Vec<_>>());
}

#[test]
fn parameters_outside_a_law_are_refused() {
    let patterns = [
        Pattern::Zipf(0.0),
        Pattern::Pareto(1.0),
        Pattern::Normal(-1.0),
        Pattern::Zoned(vec![(90.0, 10.0), (20.0, 10.0)]),
        Pattern::Zoned(Vec::new()),
    ];
    assert!(patterns.iter().all(|pattern| Skew::of(pattern, 10, 1).is_err()));
}

#[test]
fn a_region_of_one_block_is_that_block_in_every_law() {
    let patterns =
        [Pattern::Zipf(1.1), Pattern::Pareto(0.2), Pattern::Normal(5.0), Pattern::Zoned(vec![(50.0, 50.0)])];
    patterns.into_iter().for_each(|pattern| assert_eq!(counts(pattern, 1, false), [DRAWS]));
}
