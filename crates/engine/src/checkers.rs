//! Threads that check what a worker has read, while it reads on. What they find is what the worker would have found; its
//! latencies end when the bytes are there, and not when they are checked.

use crate::marks::CHECK;
use fathom_drive::{Checked, Content, Operation};
use fathom_record::EventKind;
use fathom_spec::Verb;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Hands checks over to threads; everything else is done by the content that it stands before.
pub(crate) struct Beside {
    inner: Box<dyn Content>,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    lists: Mutex<Lists>,
    /// There is something to check, or the end.
    more: Condvar,
}

#[derive(Debug, Default)]
struct Lists {
    asked: VecDeque<(Operation, u32)>,
    checked: Vec<(u32, Option<Box<EventKind>>)>,
    ended: bool,
}

impl Shared {
    fn lists(&self) -> MutexGuard<'_, Lists> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, content: &mut dyn Content) {
        let mut lists = self.lists();
        loop {
            if let Some((operation, tag)) = lists.asked.pop_front() {
                drop(lists);
                let found = match content.check(&operation, tag) {
                    Checked::Bad(found) => Some(found),
                    Checked::Good | Checked::Later => None,
                };
                lists = self.lists();
                lists.checked.push((tag, found));
            } else if lists.ended {
                return;
            } else {
                lists = self.more.wait(lists).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

impl Beside {
    /// A thread for each of `contents`, each of which checks as `inner` would; on these CPUs, or anywhere.
    pub(crate) fn before(
        inner: Option<Box<dyn Content>>,
        contents: Vec<Box<dyn Content>>,
        cpus: &[u32],
    ) -> std::io::Result<Option<Box<dyn Content>>> {
        let Some(inner) = inner else { return Ok(None) };
        if contents.is_empty() {
            return Ok(Some(inner));
        }
        let mut beside =
            Beside { inner, shared: Arc::default(), threads: Vec::with_capacity(contents.len()) };
        for mut content in contents {
            let shared = beside.shared.clone();
            let cpus: Vec<usize> = cpus.iter().map(|cpu| *cpu as usize).collect();
            let builder = std::thread::Builder::new().name("checker".to_owned()).stack_size(256 << 10);
            beside.threads.push(builder.spawn(move || {
                // A CPU that was taken away meanwhile changes where the check is done, and nothing of what it finds.
                fathom_drive::pin(&cpus);
                shared.serve(&mut *content);
            })?);
        }
        Ok(Some(Box::new(beside)))
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        let mut lists = self.shared.lists();
        lists.ended = true;
        lists.asked.clear();
        drop(lists);
        self.shared.more.notify_all();
        // A thread that panicked has left nothing behind.
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

impl Content for Beside {
    fn fill(&mut self, operation: &Operation, tag: u32) {
        self.inner.fill(operation, tag);
    }

    fn check(&mut self, operation: &Operation, tag: u32) -> Checked {
        if operation.verb != Verb::Read || operation.mark & CHECK == 0 {
            return self.inner.check(operation, tag);
        }
        self.shared.lists().asked.push_back((*operation, tag));
        self.shared.more.notify_one();
        Checked::Later
    }

    fn returned(&mut self, free: &mut Vec<u32>, found: &mut Vec<EventKind>) {
        for (tag, happening) in self.shared.lists().checked.drain(..) {
            free.push(tag);
            found.extend(happening.map(|happening| *happening));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_spec::{Bytes, StreamId};

    /// Finds fault with odd offsets.
    struct Odd;

    impl Content for Odd {
        fn fill(&mut self, _: &Operation, _: u32) {}
        fn check(&mut self, operation: &Operation, _: u32) -> Checked {
            match operation.offset % 2 {
                0 => Checked::Good,
                _ => Checked::Bad(Box::new(EventKind::Mismatch {
                    stream: StreamId(0),
                    offset: Bytes(operation.offset),
                    target: String::new(),
                    length: Bytes(0),
                    why: String::new(),
                    note: String::new(),
                })),
            }
        }
    }

    #[test]
    fn every_check_comes_back_once_with_what_it_found() {
        let contents: Vec<Box<dyn Content>> = vec![Box::new(Odd), Box::new(Odd)];
        let mut beside = Beside::before(Some(Box::new(Odd)), contents, &[]).unwrap().unwrap();
        let read = |offset, mark| Operation {
            offset,
            due_ns: 0,
            mark,
            length: 1,
            target: 0,
            verb: Verb::Read,
            cell: 0,
        };
        assert_eq!(beside.check(&read(0, 0), 7), Checked::Good);
        for tag in 0..100 {
            assert_eq!(beside.check(&read(tag, CHECK), tag as u32), Checked::Later);
        }
        let (mut free, mut found) = (Vec::new(), Vec::new());
        while free.len() < 100 {
            beside.returned(&mut free, &mut found);
            std::thread::yield_now();
        }
        free.sort_unstable();
        assert_eq!((free, found.len()), ((0..100).collect::<Vec<u32>>(), 50));
    }
}
