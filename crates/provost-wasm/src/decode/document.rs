//! Documents, and the types in them.

use provost_proto::notebook::{
    AppendableOutput, Artifact, Cell, CellKind, DisplayLocations, Execution, ExecutionOutcome,
    ExecutionStatus, InputRequest, Notebook, NotebookDocument, NotebookFile, NotebookSlot,
    OutputLocation, OutputPage, OutputPart, ResumePoint, RuntimeCapabilities, RuntimeEndReason,
    RuntimeLocation, RuntimeSession, RuntimeSessionStatus, StreamName,
};
use serde_json::{Error, Value};

use super::fields::{DecodeJson, JsonFields, mismatch, names, records};

impl DecodeJson for NotebookDocument {
    fn read(value: Value) -> Result<Self, Error> {
        let mut fields = JsonFields::new(value)?;
        let view: String = fields.read("view")?;
        Ok(match view.as_str() {
            "notebooks" => Self::Notebooks(fields.read("document")?),
            "cells" => Self::Cells(fields.read("document")?),
            "executions" => Self::Executions(fields.read("document")?),
            "outputPages" => Self::OutputPages(fields.read("document")?),
            "displays" => Self::Displays(fields.read("document")?),
            "runtimeSessions" => Self::RuntimeSessions(fields.read("document")?),
            "artifacts" => Self::Artifacts(fields.read("document")?),
            _ => return Err(mismatch("a view")),
        })
    }
}

records! {
    Notebook {
        id project title language slots metadata file executions created_at created_by deleted_at
    }
    NotebookSlot { name kinds session fence }
    NotebookFile { path hash version }
    Cell {
        id notebook kind position source revision metadata slot execution created_at created_by
        deleted_at
    }
    Execution {
        id notebook cell kind slot count revision source status outcome why requested_by
        requested_at started_at finished_at session fence cancelling input outputs first_output
        clear_pending last_page last_page_parts last_page_bytes appendable
    }
    InputRequest { prompt secret }
    AppendableOutput { output stream }
    OutputPage { execution notebook page parts }
    OutputPart { output ordinal continues content }
    DisplayLocations { notebook display places }
    OutputLocation { execution page output ordinal }
    RuntimeSession {
        id notebook slot fence runtime_id runtime_type place capabilities client_id status
        execution started_at ended_at end_reason why
    }
    RuntimeCapabilities { can_execute_code can_execute_sql can_execute_ai }
    Artifact { hash notebook mime size name }
    ResumePoint { version hash }
}

names! {
    CellKind { "code" Code "markdown" Markdown "raw" Raw "sql" Sql "ai" Ai }
    ExecutionStatus {
        "queued" Queued "assigned" Assigned "running" Running "finished" Finished
    }
    ExecutionOutcome { "ok" Ok "error" Error "cancelled" Cancelled "lost" Lost }
    RuntimeLocation { "native" Native "browser" Browser "remote" Remote }
    RuntimeSessionStatus {
        "starting" Starting "ready" Ready "busy" Busy "restarting" Restarting
        "unresponsive" Unresponsive "ended" Ended
    }
    RuntimeEndReason {
        "shutdown" Shutdown "restart" Restart "error" Error "timeout" Timeout
        "displaced" Displaced
    }
    StreamName { "stdout" Stdout "stderr" Stderr }
}
