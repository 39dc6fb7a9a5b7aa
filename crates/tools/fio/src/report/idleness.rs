//! How idle the processors were (`--idle-prof`), from the samples that the run keeps.

use super::tree::{Tree, object};
use fathom_record::{Run, Sample, SampleOf};
use std::io::{self, Write};

/// What was left of the processors.
#[derive(Clone, Debug, PartialEq)]
pub struct Idleness {
    /// Is each processor told, or all together only?
    pub per_cpu: bool,
    /// Number and share, percent, of each.
    pub cpus: Vec<(u32, f64)>,
    /// Mean and standard deviation of what a unit of work takes, us.
    pub unit_us: (f64, f64),
}

/// What the run kept of it; nothing where nobody looked.
pub fn idleness(run: &Run, per_cpu: bool) -> Option<Idleness> {
    let all = |name: &str| {
        let mut samples = run.samples.iter().rev();
        samples.find(|sample| sample.of == SampleOf::Idleness(None) && sample.name == name)
    };
    let unit = |name| all(name).map(|sample| sample.value as f64 / 1e6);
    let unit_us = (unit("unit_mean_ps")?, unit("unit_deviation_ps")?);
    let shares = run.samples.iter().filter(|sample| sample.name == "share_ppm");
    let share = |sample: &Sample| match sample.of {
        SampleOf::Idleness(Some(cpu)) => Some((cpu, sample.value as f64 / 1e4)),
        _ => None,
    };
    Some(Idleness { per_cpu, cpus: shares.filter_map(share).collect(), unit_us })
}

impl Idleness {
    /// The mean of all processors, percent.
    pub fn system(&self) -> f64 {
        self.cpus.iter().map(|(_, share)| share).sum::<f64>() / self.cpus.len().max(1) as f64
    }

    /// The value of the key `cpu_idleness`.
    pub fn tree(&self) -> Tree {
        let mut tree = object([("system", Tree::from(self.system()))]);
        for (cpu, share) in self.cpus.iter().filter(|_| self.per_cpu) {
            tree.push(format!("cpu-{cpu}"), *share);
        }
        tree.push("unit_mean", self.unit_us.0);
        tree.push("unit_stddev", self.unit_us.1);
        tree
    }

    /// The block of the normal report.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "\nCPU idleness:")?;
        writeln!(out, "  system: {:3.2}%", self.system())?;
        if self.per_cpu {
            let each: Vec<String> = self.cpus.iter().map(|(_, share)| format!("{share:3.2}%")).collect();
            writeln!(out, "  percpu: {}", each.join(", "))?;
        }
        write_unit(self.unit_us, out)
    }
}

/// The line about a unit of work, us.
pub fn write_unit((mean, deviation): (f64, f64), out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "  unit work: mean={mean:3.2}us, stddev={deviation:3.2}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_spec::Plan;

    #[test]
    fn idleness_comes_from_the_runs_samples_and_is_told_as_asked() {
        let mut run = Run::empty(&Plan::new(1));
        assert_eq!(idleness(&run, true), None);
        let sample = |of: &str, name: &'static str, value| Sample {
            at_ns: 1,
            of: of.into(),
            name: name.into(),
            value,
        };
        run.samples = vec![
            sample("idleness", "unit_mean_ps", 2_500_000),
            sample("idleness", "unit_deviation_ps", 40_000),
            sample("idleness cpu 0", "share_ppm", 500_000),
            sample("idleness cpu 0", "units", 7),
            sample("idleness cpu 3", "share_ppm", 250_000),
        ];
        let text = |per_cpu| {
            let mut out = Vec::new();
            idleness(&run, per_cpu).unwrap().write(&mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let unit = "  unit work: mean=2.50us, stddev=0.04\n";
        assert_eq!(text(false), format!("\nCPU idleness:\n  system: 37.50%\n{unit}"));
        assert_eq!(
            text(true),
            format!("\nCPU idleness:\n  system: 37.50%\n  percpu: 50.00%, 25.00%\n{unit}")
        );
        let keys = |per_cpu| match idleness(&run, per_cpu).unwrap().tree() {
            Tree::Object(pairs) => pairs.into_iter().map(|(key, _)| key).collect::<Vec<_>>(),
            _ => Vec::new(),
        };
        assert_eq!(keys(false), ["system", "unit_mean", "unit_stddev"]);
        assert_eq!(keys(true), ["system", "cpu-0", "cpu-3", "unit_mean", "unit_stddev"]);
    }
}
