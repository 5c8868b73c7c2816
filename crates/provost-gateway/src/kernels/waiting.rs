//! Whoever waits for the end of a command, and what it printed until then.

use std::sync::PoisonError;

use provost_proto::ActionId;
use provost_proto::kernel::{
    ActionOutcome, KernelReport, OutputChunk, OutputData, OutputStream, ReportPayload,
};
use tokio::sync::oneshot;

use super::Kernels;

/// What a command printed, as far as it was kept.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Heard {
    fn add(&mut self, output: &OutputChunk) {
        let to = match output.stream {
            OutputStream::Stdout => &mut self.stdout,
            OutputStream::Stderr => &mut self.stderr,
        };
        if output.dropped > 0 {
            let mark = format!("\n… {} bytes were dropped here …\n", output.dropped);
            to.extend_from_slice(mark.as_bytes());
        }
        // A kernel sends bytes; only the log has references.
        if let OutputData::Bytes(bytes) = &output.data {
            to.extend_from_slice(bytes);
        }
    }

    pub(crate) fn of(&self, stream: OutputStream) -> String {
        let bytes = match stream {
            OutputStream::Stdout => &self.stdout,
            OutputStream::Stderr => &self.stderr,
        };
        String::from_utf8_lossy(bytes).into_owned()
    }
}

/// How a command ended, for whoever waits for it.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) outcome: ActionOutcome,
    pub(crate) output: Heard,
}

#[derive(Debug)]
pub(super) struct Waiter {
    output: Heard,
    reply: oneshot::Sender<Finished>,
}

/// Someone waits for the end of a command.
#[derive(Debug)]
pub(crate) struct Waiting(oneshot::Receiver<Finished>);

impl Waiting {
    pub(crate) async fn end(self) -> Option<Finished> {
        self.0.await.ok()
    }
}

impl Kernels {
    /// Asks to be told of the end of a command.
    pub(crate) fn expect(&self, id: ActionId) -> Waiting {
        let (reply, end) = oneshot::channel();
        let waiter = Waiter { output: Heard::default(), reply };
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(id, waiter);
        Waiting(end)
    }

    /// Whoever asked has gone, or was told that it goes on.
    pub(crate) fn nobody_waits(&self, id: ActionId) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }

    /// Tells whoever waits what was written to the log.
    pub(super) fn tell(&self, report: &KernelReport) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        match &report.what {
            ReportPayload::Started { .. } | ReportPayload::Runtime(_) => {}
            ReportPayload::Output(output) => {
                if let Some(waiter) = waiting.get_mut(&report.action) {
                    waiter.output.add(output);
                }
            }
            ReportPayload::Finished(outcome) => {
                if let Some(Waiter { output, reply }) = waiting.remove(&report.action) {
                    // The request may have been answered with "it goes on".
                    drop(reply.send(Finished { outcome: outcome.clone(), output }));
                }
            }
        }
    }

    pub(super) fn forget(&self, id: ActionId, outcome: ActionOutcome) {
        let report = KernelReport { number: 0, action: id, what: ReportPayload::Finished(outcome) };
        self.tell(&report);
    }
}
