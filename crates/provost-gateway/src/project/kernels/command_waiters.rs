//! Whoever waits for the end of a command, and what it printed until then.

use provost_proto::ActionId;
use provost_proto::kernel::{
    ActionOutcome, KernelReport, OutputChunk, OutputData, OutputStream, ReportPayload,
};
use tokio::sync::oneshot;

use super::KernelRegistry;

/// What a command printed, as far as it was kept.
#[derive(Debug, Default)]
pub(crate) struct CapturedCommandOutput {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl CapturedCommandOutput {
    fn push_output(&mut self, output: &OutputChunk) {
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

    pub(crate) fn stream_text(&self, stream: OutputStream) -> String {
        let bytes = match stream {
            OutputStream::Stdout => &self.stdout,
            OutputStream::Stderr => &self.stderr,
        };
        String::from_utf8_lossy(bytes).into_owned()
    }
}

/// How a command ended, for whoever waits for it.
#[derive(Debug)]
pub(crate) struct FinishedCommand {
    pub(crate) outcome: ActionOutcome,
    pub(crate) output: CapturedCommandOutput,
}

#[derive(Debug)]
pub(super) struct CommandWaiter {
    output: CapturedCommandOutput,
    reply: oneshot::Sender<FinishedCommand>,
}

/// Someone waits for the end of a command.
#[derive(Debug)]
pub(crate) struct FinishedCommandReceiver(oneshot::Receiver<FinishedCommand>);

impl FinishedCommandReceiver {
    pub(crate) async fn receive_finished(self) -> Option<FinishedCommand> {
        self.0.await.ok()
    }
}

impl KernelRegistry {
    /// Asks to be told of the end of a command.
    pub(crate) fn register_waiter(&self, id: ActionId) -> FinishedCommandReceiver {
        let (reply, end) = oneshot::channel();
        let waiter = CommandWaiter { output: CapturedCommandOutput::default(), reply };
        self.waiting.lock().insert(id, waiter);
        FinishedCommandReceiver(end)
    }

    /// Whoever asked has gone, or was told that it goes on.
    pub(crate) fn remove_waiter(&self, id: ActionId) {
        self.waiting.lock().remove(&id);
    }

    /// Tells whoever waits what was written to the log.
    pub(super) fn notify_waiter(&self, report: &KernelReport) {
        let mut waiting = self.waiting.lock();
        match &report.what {
            ReportPayload::Started { .. } | ReportPayload::Runtime(_) => {}
            ReportPayload::Output(output) => {
                if let Some(waiter) = waiting.get_mut(&report.action) {
                    waiter.output.push_output(output);
                }
            }
            ReportPayload::Finished(outcome) => {
                if let Some(CommandWaiter { output, reply }) = waiting.remove(&report.action) {
                    // The request may have been answered with "it goes on".
                    drop(reply.send(FinishedCommand { outcome: outcome.clone(), output }));
                }
            }
        }
    }

    pub(super) fn notify_finished(&self, id: ActionId, outcome: ActionOutcome) {
        let report = KernelReport { number: 0, action: id, what: ReportPayload::Finished(outcome) };
        self.notify_waiter(&report);
    }
}
