//! A runtime that prints what it is given: for demonstrations and tests, and it says so.

use futures::future::BoxFuture;

use crate::context::ExecutionContext;
use crate::handler::{ExecutionEnd, ExecutionHandler};

/// Prints the source of each cell.
#[derive(Debug, Default)]
pub struct EchoHandler;

impl ExecutionHandler for EchoHandler {
    fn execute(&self, context: ExecutionContext) -> BoxFuture<'_, ExecutionEnd> {
        Box::pin(async move {
            context.stdout(format!("{}\n", context.source())).await;
            ExecutionEnd::OK
        })
    }
}
