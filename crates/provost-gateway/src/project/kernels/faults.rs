//! Errors and outcomes of actions that a kernel did not carry out.

use provost_kernel::KernelError;
use provost_proto::Code;
use provost_proto::kernel::{ActionOutcome, ErrorInfo};
use serde_json::Value;

/// The outcome of an action that never started, or whose end is not known.
pub(crate) fn failed_outcome(fault: ErrorInfo) -> ActionOutcome {
    ActionOutcome {
        exit_code: None,
        signal: None,
        duration_ms: 0,
        fault: Some(fault),
        summary: Value::Null,
    }
}

/// An error of the kernel client as a client is told of it.
pub(crate) fn fault_from_kernel_error(error: &KernelError) -> ErrorInfo {
    match error {
        KernelError::Fault(fault) => fault.clone(),
        KernelError::Lost | KernelError::Unresponsive => kernel_lost_fault(&error.to_string()),
        KernelError::StartFailed(_) => {
            ErrorInfo { code: Code::Unavailable, message: error.to_string(), details: None }
        }
        KernelError::ProtocolMismatch { .. } => {
            ErrorInfo { code: Code::KernelTooOld, message: error.to_string(), details: None }
        }
    }
}

pub(crate) fn kernel_lost_fault(why: &str) -> ErrorInfo {
    ErrorInfo { code: Code::KernelLost, message: why.to_owned(), details: None }
}
