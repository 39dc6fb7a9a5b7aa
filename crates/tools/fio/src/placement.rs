//! Where and under which conditions a job runs: CPUs, nodes, memory, control groups, what the kernel is told.

use super::diagnostic::Trouble;
use super::job::{Conditions, ControlGroup, Job, Nodes};
use super::options::OptionId;
use super::reader::OptionReader;
use fathom_spec::{Lifetime, MemoryMode, MemoryPolicy};

/// Reads the conditions of a job.
pub(crate) fn conditions(reader: &OptionReader) -> Result<Conditions, Trouble> {
    let buffers = reader.word(OptionId::Mem);
    if buffers == "cudamalloc" {
        return Err(reader.wrong(OptionId::Mem, "buffers are main memory", "say malloc or leave it out"));
    }
    let mask =
        reader.said_count(OptionId::Cpumask).map(|mask| (0..64).filter(|cpu| mask >> cpu & 1 == 1).collect());
    Ok(Conditions {
        cpus: cpus(reader, OptionId::CpusAllowed)?.or(mask),
        cpu_nodes: reader
            .text(OptionId::NumaCpuNodes)
            .map(|text| nodes(reader, OptionId::NumaCpuNodes, text))
            .transpose()?,
        memory: reader.text(OptionId::NumaMemPolicy).map(|text| memory(reader, text)).transpose()?,
        control_group: reader.some_text(OptionId::Cgroup).map(|name| ControlGroup {
            name,
            weight: reader.said_count(OptionId::CgroupWeight),
            stays: reader.switch(OptionId::CgroupNodelete),
        }),
        huge_mappings: reader.switch(OptionId::Thp),
        lifetime: match reader.word(OptionId::WriteHint) {
            "short" => Lifetime::Short,
            "medium" => Lifetime::Medium,
            "long" => Lifetime::Long,
            "extreme" => Lifetime::Extreme,
            _ => Lifetime::Untold,
        },
        split: reader.word(OptionId::CpusAllowedPolicy) == "split",
        huge_pages: matches!(buffers, "shmhuge" | "mmaphuge"),
        scheduler: reader.text(OptionId::Ioscheduler).map(str::to_owned),
        invalidate: reader.switch(OptionId::Invalidate) && !reader.switch(OptionId::PreRead),
    })
}

/// The CPUs that an option names.
pub(crate) fn cpus(reader: &OptionReader, id: OptionId) -> Result<Option<Vec<u32>>, Trouble> {
    let Some(text) = reader.text(id) else { return Ok(None) };
    let wrong =
        || reader.wrong(id, &format!("{text:?} is no list of CPUs"), &format!("say {}=0-3,6", id.name()));
    cpu_list(text).map(Some).ok_or_else(wrong)
}

/// `0-3,6`.
fn cpu_list(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in text.split([',', ':']) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if last < first || last > 65_535 {
            return None;
        }
        cpus.extend(first..=last);
    }
    (cpus.len() <= 65_536).then_some(cpus)
}

/// `all`, or `0,2-3`.
fn nodes(reader: &OptionReader, id: OptionId, text: &str) -> Result<Nodes, Trouble> {
    if text.trim() == "all" {
        return Ok(Nodes::All);
    }
    let list = cpu_list(text).filter(|list| list.iter().all(|node| *node < 1024));
    let what = format!("{text:?} is no list of nodes");
    list.map(Nodes::These).ok_or_else(|| reader.wrong(id, &what, "say 0, 0-1 or all"))
}

/// `mode[:nodes]`.
fn memory(reader: &OptionReader, text: &str) -> Result<(MemoryMode, Nodes), Trouble> {
    let option = OptionId::NumaMemPolicy;
    let (mode, list) = text.split_once(':').unwrap_or((text, ""));
    let mode = match mode.trim() {
        "default" => MemoryMode::Default,
        "prefer" => MemoryMode::Prefer,
        "bind" => MemoryMode::Bind,
        "interleave" => MemoryMode::Interleave,
        "local" => MemoryMode::Local,
        word => {
            let hint = "say default, prefer, bind, interleave or local";
            return Err(reader.wrong(option, &format!("{word:?} is no policy"), hint));
        }
    };
    let list = match mode {
        MemoryMode::Default | MemoryMode::Local => Nodes::These(Vec::new()),
        _ if list.is_empty() => {
            return Err(reader.wrong(option, "this policy needs nodes", "say bind:0-1, for instance"));
        }
        _ => nodes(reader, option, list)?,
    };
    let one = matches!(&list, Nodes::These(list) if list.len() == 1);
    if mode == MemoryMode::Prefer && !one {
        return Err(reader.wrong(option, "one node can be preferred", "say prefer:0, for instance"));
    }
    Ok((mode, list))
}

/// A NUMA node of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its number.
    pub number: u32,
    /// Its CPUs.
    pub cpus: Vec<u32>,
}

/// Puts the machine's nodes in the place of what jobs say of them: CPUs to run on, and where memory comes from.
pub fn settle_nodes(jobs: &mut [Job], machine: &[Node]) -> Result<(), Trouble> {
    for job in jobs {
        let of = |asked: &Nodes| -> Result<Vec<&Node>, Trouble> {
            if machine.is_empty() {
                let what = format!("{}: this kernel tells of no NUMA nodes", job.name);
                return Err(Trouble::at(&job.at, what, "leave the numa options out"));
            }
            let Nodes::These(list) = asked else { return Ok(machine.iter().collect()) };
            let one = |number: &u32| {
                machine.iter().find(|node| node.number == *number).ok_or_else(|| {
                    let known: Vec<String> = machine.iter().map(|node| node.number.to_string()).collect();
                    let what = format!("{}: this machine has no NUMA node {number}", job.name);
                    Trouble::at(&job.at, what, format!("it has these: {}", known.join(" ")))
                })
            };
            list.iter().map(one).collect()
        };
        let cpus = job.place.cpu_nodes.as_ref().map(&of).transpose()?;
        let memory = job.place.memory.as_ref().map(|(mode, nodes)| Ok((*mode, of(nodes)?))).transpose()?;
        if let Some(nodes) = cpus {
            job.place.cpus = Some(nodes.into_iter().flat_map(|node| node.cpus.iter().copied()).collect());
        }
        if let Some((mode, nodes)) = memory {
            let nodes = nodes.into_iter().map(|node| node.number).collect();
            job.terms.standing.memory = Some(MemoryPolicy { mode, nodes });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::inherit::tests::jobs;
    use super::super::resolve::meant;
    use super::*;

    fn of(text: &str) -> Result<Job, String> {
        let job = jobs(&format!("[a]\nsize=1m\n{text}\n")).unwrap().jobs.remove(0);
        let mut job = [meant(&job).map_err(|trouble| trouble.to_string())?];
        let machine = [Node { number: 0, cpus: vec![0, 1] }, Node { number: 2, cpus: vec![4, 5] }];
        settle_nodes(&mut job, &machine).map_err(|trouble| trouble.to_string())?;
        let [job] = job;
        Ok(job)
    }

    #[test]
    fn nodes_are_those_of_the_machine() {
        let cpus = |text: &str| of(&format!("numa_cpu_nodes={text}")).map(|job| job.place.cpus);
        assert_eq!(cpus("2"), Ok(Some(vec![4, 5])));
        assert_eq!(cpus("all"), Ok(Some(vec![0, 1, 4, 5])));
        assert_eq!(cpus("0,2"), Ok(Some(vec![0, 1, 4, 5])));
        assert!(cpus("0-2").unwrap_err().contains("has no NUMA node 1"));
        assert!(cpus("x").unwrap_err().contains("is no list of nodes"));
        let both = of("cpus_allowed=1\nnuma_cpu_nodes=2").unwrap();
        assert_eq!(both.place.cpus, Some(vec![4, 5]), "as in fio the nodes count");
    }

    #[test]
    fn memory_comes_from_where_the_policy_says() {
        let policy = |text: &str| of(&format!("numa_mem_policy={text}")).map(|job| job.terms.standing.memory);
        let some = |mode, nodes: &[u32]| Ok(Some(MemoryPolicy { mode, nodes: nodes.to_vec() }));
        assert_eq!(policy("bind:0,2"), some(MemoryMode::Bind, &[0, 2]));
        assert_eq!(policy("interleave:all"), some(MemoryMode::Interleave, &[0, 2]));
        assert_eq!(policy("prefer:2"), some(MemoryMode::Prefer, &[2]));
        assert_eq!(policy("local"), some(MemoryMode::Local, &[]));
        assert!(policy("prefer:0,2").unwrap_err().contains("one node can be preferred"));
        assert!(policy("bind").unwrap_err().contains("needs nodes"));
        assert!(policy("nowhere:0").unwrap_err().contains("is no policy"));
    }

    #[test]
    fn control_groups_and_hints_are_read() {
        let job = of("cgroup=a/b\ncgroup_weight=200\nwrite_hint=long\nioengine=mmap\nthp=1").unwrap();
        let group = job.place.control_group.unwrap();
        assert_eq!((group.name.as_str(), group.weight, group.stays), ("a/b", Some(200), false));
        assert_eq!((job.place.lifetime, job.place.huge_mappings), (Lifetime::Long, true));
    }
}
