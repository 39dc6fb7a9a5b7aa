//! What a plan may ask of block work: what would be dropped without a word is an error that names it.

use fathom_content::Filler;
use fathom_record::ExecuteError;
use fathom_spec::{Arrival, Blocks, Content, Pattern, QueueKind, Stream, Work};

/// What this engine cannot do yet is an error that names it, never silence.
pub(crate) fn refuse(what: &str) -> ExecuteError {
    ExecuteError::Plan {
        what: format!("the engine has no {what}"),
        hint: "describe the load without it".to_owned(),
    }
}

/// Checks that a stream asks for nothing that would be dropped.
pub(crate) fn blocks(stream: &Stream) -> Result<&Blocks, ExecuteError> {
    let Work::Blocks(blocks) = &stream.work else {
        return Err(refuse("such work on blocks"));
    };
    match &stream.arrival {
        Arrival::Recorded { .. } if !matches!(blocks.pattern, Pattern::Trace(_)) => {
            return Err(refuse("recorded arrivals without a recording"));
        }
        Arrival::Open(_) if matches!(blocks.pattern, Pattern::Trace(_)) => {
            return Err(refuse("timetable for a recording, which has its own"));
        }
        _ => {}
    }
    if stream.stop.of_window && (blocks.verify.is_some() || blocks.shared.is_some()) {
        return Err(refuse("amount of a window for what is verified or shared"));
    }
    content(blocks)?;
    priorities(blocks)?;
    if stream.depth.most() == 0 || stream.workers == 0 || blocks.sizes.least().0 == 0 {
        return Err(refuse("stream without workers, depth or bytes"));
    }
    Ok(blocks)
}

/// Checks that a stream's bytes can be made, and judged where that is asked for.
fn content(blocks: &Blocks) -> Result<(), ExecuteError> {
    let Some(filler) = Filler::new(&blocks.content, 0) else {
        return Err(refuse_with(
            format!("the engine cannot make such a content: {:?}", blocks.content),
            "use another content",
        ));
    };
    if blocks.verify.is_none() || blocks.content == Content::SysbenchSum {
        return Ok(());
    }
    if !filler.checks() {
        return Err(refuse_with(
            "random bytes without headers cannot be verified: nothing says what they were".to_owned(),
            "write a pattern, or fio's headers",
        ));
    }
    if blocks.shared.is_some() {
        return Err(refuse_with(
            "workers that share a source cannot verify what they wrote".to_owned(),
            "give each worker a source of its own",
        ));
    }
    Ok(())
}

fn refuse_with(what: String, hint: &str) -> ExecuteError {
    ExecuteError::Plan { what, hint: hint.to_owned() }
}

/// Checks that a stream's queue can tell the kernel what the plan says of single operations.
fn priorities(blocks: &Blocks) -> Result<(), ExecuteError> {
    let told = matches!(blocks.queue, QueueKind::IoUring | QueueKind::Libaio);
    let refuse =
        |what: &str, hint: &str| Err(ExecuteError::Plan { what: what.to_owned(), hint: hint.to_owned() });
    if !blocks.priorities.is_empty() && !told {
        return refuse(
            "operations have priorities of their own in io_uring and libaio only",
            "use one of these",
        );
    }
    if blocks.priorities.iter().any(|rule| rule.percent > 100 || rule.class > 7 || rule.level > 7) {
        return refuse(
            "a priority has a share of 0 to 100 percent, a class and a level of 0 to 7",
            "say such",
        );
    }
    if blocks.queue_options.hand_over_every > 0 && blocks.queue != QueueKind::IoUring {
        return refuse("only io_uring hands operations over to threads of the kernel", "use it");
    }
    Ok(())
}
