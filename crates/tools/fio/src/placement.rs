//! Where and under which conditions a job runs: CPUs, nodes, memory, control groups, what the kernel is told.

use super::diagnostic::Trouble;
use super::job::{Conditions, ControlGroup, Job, Look, Nodes};
use fathom_spec::{Lifetime, MemoryMode, MemoryPolicy};

/// Reads the conditions of a job.
pub(crate) fn conditions(look: &Look) -> Result<Conditions, Trouble> {
    let buffers = look.word("mem", "malloc").0;
    if buffers == "cudamalloc" {
        return Err(look.wrong("mem", "buffers are main memory", "say malloc or leave it out"));
    }
    let mask = look.count("cpumask").map(|mask| (0..64).filter(|cpu| mask >> cpu & 1 == 1).collect());
    Ok(Conditions {
        cpus: cpus(look, "cpus_allowed")?.or(mask),
        cpu_nodes: look.text("numa_cpu_nodes").map(|text| nodes(look, "numa_cpu_nodes", text)).transpose()?,
        memory: look.text("numa_mem_policy").map(|text| memory(look, text)).transpose()?,
        control_group: look.text("cgroup").filter(|name| !name.is_empty()).map(|name| ControlGroup {
            name: name.to_owned(),
            weight: look.count("cgroup_weight"),
            stays: look.switch("cgroup_nodelete", false),
        }),
        huge_mappings: look.switch("thp", false),
        lifetime: match look.word("write_hint", "none").0 {
            "short" => Lifetime::Short,
            "medium" => Lifetime::Medium,
            "long" => Lifetime::Long,
            "extreme" => Lifetime::Extreme,
            _ => Lifetime::Untold,
        },
        split: look.word("cpus_allowed_policy", "shared").0 == "split",
        huge_pages: matches!(buffers, "shmhuge" | "mmaphuge"),
        scheduler: look.text("ioscheduler").map(str::to_owned),
        invalidate: look.switch("invalidate", true) && !look.switch("pre_read", false),
    })
}

/// The CPUs that an option names.
pub(crate) fn cpus(look: &Look, name: &str) -> Result<Option<Vec<u32>>, Trouble> {
    let Some(text) = look.text(name) else { return Ok(None) };
    let wrong = || look.wrong(name, &format!("{text:?} is no list of CPUs"), &format!("say {name}=0-3,6"));
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
fn nodes(look: &Look, name: &str, text: &str) -> Result<Nodes, Trouble> {
    if text.trim() == "all" {
        return Ok(Nodes::All);
    }
    let list = cpu_list(text).filter(|list| list.iter().all(|node| *node < 1024));
    let what = format!("{text:?} is no list of nodes");
    list.map(Nodes::These).ok_or_else(|| look.wrong(name, &what, "say 0, 0-1 or all"))
}

/// `mode[:nodes]`.
fn memory(look: &Look, text: &str) -> Result<(MemoryMode, Nodes), Trouble> {
    let option = "numa_mem_policy";
    let (mode, list) = text.split_once(':').unwrap_or((text, ""));
    let mode = match mode.trim() {
        "default" => MemoryMode::Default,
        "prefer" => MemoryMode::Prefer,
        "bind" => MemoryMode::Bind,
        "interleave" => MemoryMode::Interleave,
        "local" => MemoryMode::Local,
        word => {
            let hint = "say default, prefer, bind, interleave or local";
            return Err(look.wrong(option, &format!("{word:?} is no policy"), hint));
        }
    };
    let list = match mode {
        MemoryMode::Default | MemoryMode::Local => Nodes::These(Vec::new()),
        _ if list.is_empty() => {
            return Err(look.wrong(option, "this policy needs nodes", "say bind:0-1, for instance"));
        }
        _ => nodes(look, option, list)?,
    };
    let one = matches!(&list, Nodes::These(list) if list.len() == 1);
    if mode == MemoryMode::Prefer && !one {
        return Err(look.wrong(option, "one node can be preferred", "say prefer:0, for instance"));
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
