//! Requests that wait for the end of a command, and the command's output until then.

use provost_proto::ActionId;
use provost_proto::kernel::{
    ActionOutcome, KernelReport, OutputChunk, OutputData, OutputStream, ReportPayload,
};
use tokio::sync::oneshot;

use super::KernelPool;

/// The output of a command, without what the kernel dropped.
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
        // A kernel sends bytes; only the log has references to blobs.
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

/// The outcome and the output of a command that ended.
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

/// Receives the end of a command.
#[derive(Debug)]
pub(crate) struct FinishedCommandReceiver(oneshot::Receiver<FinishedCommand>);

impl FinishedCommandReceiver {
    pub(crate) async fn receive_finished(self) -> Option<FinishedCommand> {
        self.0.await.ok()
    }
}

impl KernelPool {
    /// Registers a request that waits for the end of a command.
    pub(crate) fn register_command_waiter(&self, id: ActionId) -> FinishedCommandReceiver {
        let (reply, end) = oneshot::channel();
        let waiter = CommandWaiter { output: CapturedCommandOutput::default(), reply };
        self.command_waiters.lock().insert(id, waiter);
        FinishedCommandReceiver(end)
    }

    /// Removes a waiter: its request has ended, or was answered that the command goes on.
    pub(crate) fn remove_command_waiter(&self, id: ActionId) {
        self.command_waiters.lock().remove(&id);
    }

    /// Passes a report that is in the log to the waiter of its action.
    pub(super) fn notify_waiter(&self, report: &KernelReport) {
        let mut waiters = self.command_waiters.lock();
        match &report.what {
            ReportPayload::Started { .. } | ReportPayload::Runtime(_) => {}
            ReportPayload::Output(output) => {
                if let Some(waiter) = waiters.get_mut(&report.action) {
                    waiter.output.push_output(output);
                }
            }
            ReportPayload::Finished(outcome) => {
                if let Some(CommandWaiter { output, reply }) = waiters.remove(&report.action) {
                    // The request may have been answered before.
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
