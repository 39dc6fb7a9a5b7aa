//! What a worker is to the system, taken on its own thread before it works: priorities, user, locked memory.

use crate::sys::thread_attributes::{Locked, set_io_priority, set_memory_policy};
use fathom_record::ExecuteError;
use fathom_spec::ThreadAttributes;
use rustix::process::{Gid, Uid};

/// What is given back when the worker has ended.
pub(crate) struct Held(#[expect(dead_code, reason = "it is only kept")] Option<Locked>);

fn refused(what: String, hint: &'static str) -> impl FnOnce(rustix::io::Errno) -> ExecuteError {
    move |error| ExecuteError::System { what: format!("cannot {what}: {error}"), hint: hint.to_owned() }
}

/// Gives the calling thread its attributes.
pub(crate) fn take(attributes: &ThreadAttributes) -> Result<Held, ExecuteError> {
    let ThreadAttributes { nice, io_priority, user, group, locked, memory, control_group } = attributes;
    if let Some(policy) = memory {
        set_memory_policy(policy).map_err(refused(
            format!("take memory from the nodes {:?} ({:?})", policy.nodes, policy.mode),
            "name nodes that the system has (/sys/devices/system/node), on a kernel with NUMA",
        ))?;
    }
    if let Some(tasks) = control_group {
        // 0 is the thread that writes.
        std::fs::write(tasks, "0").map_err(|error| ExecuteError::System {
            what: format!("cannot enter the control group {tasks}: {error}"),
            hint: "only root may, unless the group belongs to the user".to_owned(),
        })?;
    }
    let held = match locked.0 {
        0 => None,
        bytes => Some(Locked::new(bytes as usize).map_err(refused(
            format!("lock {locked} of memory"),
            "raise the limit on locked memory (ulimit -l), or lock less",
        ))?),
    };
    if let Some(nice) = nice {
        rustix::process::setpriority_process(None, *nice).map_err(refused(
            format!("set the nice value {nice}"),
            "only root may go below what the program has",
        ))?;
    }
    if let Some((class, level)) = io_priority {
        set_io_priority(*class, *level).map_err(refused(
            format!("set the I/O priority: class {class}, level {level}"),
            "only root may use the real-time class (1)",
        ))?;
    }
    if let Some(group) = group {
        rustix::thread::set_thread_gid(Gid::from_raw(*group))
            .map_err(refused(format!("become group {group}"), "only root may"))?;
    }
    if let Some(user) = user {
        rustix::thread::set_thread_uid(Uid::from_raw(*user))
            .map_err(refused(format!("become user {user}"), "only root may"))?;
    }
    Ok(Held(held))
}
