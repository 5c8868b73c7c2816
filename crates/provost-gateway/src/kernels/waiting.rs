//! Whoever waits for the end of a command, and what it printed until then.

use std::sync::PoisonError;

use provost_proto::ActionId;
use provost_proto::kernel::{Happened, Outcome, Output, OutputStream, Report};
use tokio::sync::oneshot;

use super::Kernels;

/// What a command printed, as far as it was kept.
#[derive(Debug, Default)]
pub(crate) struct Printed(Vec<(OutputStream, Vec<u8>)>);

impl Printed {
    fn add(&mut self, output: &Output) {
        if output.dropped > 0 {
            let mark = format!("\n… {} bytes were dropped here …\n", output.dropped);
            self.0.push((output.stream, mark.into_bytes()));
        }
        self.0.push((output.stream, output.data.clone()));
    }

    pub(crate) fn of(&self, stream: OutputStream) -> Vec<u8> {
        self.0.iter().filter(|(of, _)| *of == stream).flat_map(|(_, data)| data.clone()).collect()
    }
}

/// How a command ended, for whoever waits for it.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) outcome: Outcome,
    pub(crate) output: Printed,
}

#[derive(Debug)]
pub(super) struct Waiter {
    output: Printed,
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
        let waiter = Waiter { output: Printed::default(), reply };
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(id, waiter);
        Waiting(end)
    }

    /// Tells whoever waits what was written to the log.
    pub(super) fn tell(&self, report: &Report) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        // Those that went away are forgotten with the next command that ends.
        match &report.what {
            Happened::Started { .. } => {}
            Happened::Output(output) => {
                if let Some(waiter) = waiting.get_mut(&report.action) {
                    waiter.output.add(output);
                }
            }
            Happened::Finished(outcome) => {
                if let Some(Waiter { output, reply }) = waiting.remove(&report.action) {
                    // The request may have been answered with "it goes on".
                    drop(reply.send(Finished { outcome: outcome.clone(), output }));
                }
            }
        }
    }

    pub(super) fn forget(&self, id: ActionId, outcome: Outcome) {
        let report = Report { number: 0, action: id, what: Happened::Finished(outcome) };
        self.tell(&report);
    }
}
