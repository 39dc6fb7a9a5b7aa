//! Numbers as fio shortens them: at most so many characters, in the unit that lets them fit. The rules were found by
//! giving the program known amounts and reading what it printed; the tests hold those observations.

/// Powers of what a unit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// 1024: `KiB`.
    Two,
    /// 1000: `kB`, and plain `k`.
    Ten,
}

/// What stands behind a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suffix {
    /// `26.8k`: a count, of thousands only.
    Count,
    /// `105MiB`, `110MB`, `512B`.
    Bytes(Base),
    /// The same a second.
    BytesPerSecond(Base),
}

const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const DECIMAL: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];

/// `value` in at most `figures` characters with its unit. The number is divided by its base until its whole part
/// has no more digits than that; what room is left (a point and at least one digit) takes decimals.
pub fn short(value: u64, figures: usize, suffix: Suffix) -> String {
    let base: u64 = match suffix {
        Suffix::Bytes(Base::Two) | Suffix::BytesPerSecond(Base::Two) => 1024,
        _ => 1000,
    };
    let (mut whole, mut rest, mut power) = (value, 0u64, 0usize);
    while power < DECIMAL.len() - 1 && digits(whole) > figures {
        rest = whole % base;
        whole /= base;
        power += 1;
    }
    let decimals = figures.saturating_sub(digits(whole) + 1);
    let number = if decimals == 0 || power == 0 {
        (whole + u64::from(rest * 2 >= base)).to_string()
    } else {
        format!("{:.decimals$}", whole as f64 + rest as f64 / base as f64)
    };
    let unit = match suffix {
        Suffix::Bytes(Base::Two) | Suffix::BytesPerSecond(Base::Two) => BINARY[power],
        _ => DECIMAL[power],
    };
    match suffix {
        Suffix::Count => format!("{number}{unit}"),
        Suffix::Bytes(_) => format!("{number}{unit}B"),
        Suffix::BytesPerSecond(_) if value == 0 => number,
        Suffix::BytesPerSecond(_) => format!("{number}{unit}B/s"),
    }
}

fn digits(value: u64) -> usize {
    value.checked_ilog10().unwrap_or(0) as usize + 1
}

/// The unit in which a latency is told: its name, and how many nanoseconds it has.
pub type Unit = (&'static str, u64);

/// Nanoseconds until they are large throughout: the smallest over 2,000 and the largest of six digits.
pub fn unit_for(smallest_ns: u64, largest_ns: u64, deviation_ns: f64) -> Unit {
    if smallest_ns > 2_000_000 && largest_ns > 99_999_999 && deviation_ns > 1_000_000.0 {
        ("msec", 1_000_000)
    } else if smallest_ns > 2_000 && largest_ns > 99_999 && deviation_ns > 1_000.0 {
        ("usec", 1_000)
    } else {
        ("nsec", 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Suffix::*;

    #[test]
    fn amounts_are_shortened_as_the_peer_does() {
        for (value, binary, decimal) in [
            (512, "512B", "512B"),
            (9728, "9728B", "9728B"),
            (10240, "10.0KiB", "10.2kB"),
            (101_888, "99.5KiB", "102kB"),
            (1_023_488, "1000KiB", "1023kB"),
            (10_239_488, "10000KiB", "10.2MB"),
            (10_485_248, "10.00MiB", "10.5MB"),
            (10_957_312, "10.4MiB", "11.0MB"),
            (104_815_616, "100.0MiB", "105MB"),
            (1_048_156_160, "1000MiB", "1048MB"),
            (9_999_599_616, "9536MiB", "10000MB"),
            (10_003_999_744, "9541MiB", "10.0GB"),
            (450_092_628_480, "419GiB", "450GB"),
        ] {
            assert_eq!(short(value, 4, Bytes(Base::Two)), binary);
            assert_eq!(short(value, 4, Bytes(Base::Ten)), decimal);
        }
        assert_eq!(short(10_737_418_240, 10, Bytes(Base::Two)), "10485760.0KiB");
        assert_eq!(short(10_737_418_240, 1, Bytes(Base::Two)), "0TiB");
        assert_eq!(short(1 << 20, 6, Bytes(Base::Two)), "1024.0KiB");
    }

    #[test]
    fn rates_and_counts_are_shortened_as_the_peer_does() {
        for (value, binary, decimal) in [
            (682, "682B/s", "682B/s"),
            (512_000, "500KiB/s", "512kB/s"),
            (10_240_000_000, "9766MiB/s", "10.2GB/s"),
            (2_684_354_560_000, "2500GiB/s", "2684GB/s"),
            (0, "0", "0"),
        ] {
            assert_eq!(short(value, 4, BytesPerSecond(Base::Two)), binary);
            assert_eq!(short(value, 4, BytesPerSecond(Base::Ten)), decimal);
        }
        for (value, figures, text) in [
            (335, 4, "335"),
            (26_830, 4, "26.8k"),
            (1_175_000, 4, "1175k"),
            (1_279_400, 6, "1279.4k"),
            (977_233, 6, "977233"),
        ] {
            assert_eq!(short(value, figures, Count), text);
        }
    }

    #[test]
    fn a_latency_is_told_in_nanoseconds_until_all_of_it_is_large() {
        assert_eq!(unit_for(5_030, 49_101, 6_561.0).0, "nsec");
        assert_eq!(unit_for(210, 1_279_400, 7_649.0).0, "nsec");
        assert_eq!(unit_for(17_000, 4_945_000, 138_670.0).0, "usec");
        assert_eq!(unit_for(2_000_001, 100_000_000, 1_000_001.0).0, "msec");
    }
}
