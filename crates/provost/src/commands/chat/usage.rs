//! `provost usage`: tokens and cost of models.

use std::process::ExitCode;

use provost_core::session::budget::format_dollars;
use provost_proto::session::UsageReport;
use provost_proto::{ProjectId, ProjectList};

use crate::args::UsageArgs;
use crate::client::DaemonClient;
use crate::config::Config;
use crate::output::{self, bold, faint, print_line, sanitize_text};

pub(crate) async fn run(args: &UsageArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let client = DaemonClient::connect(config)?;
    let days = args.days;
    let report: UsageReport = client.get(&format!("/api/usage?days={days}")).await?;
    if args.json.json {
        output::print_json(&report)?;
        return Ok(ExitCode::SUCCESS);
    }
    let ProjectList { projects } = client.get("/api/projects?all=true").await?;
    let name = |id: ProjectId| {
        let found = projects.iter().find(|project| project.id == id);
        found.map_or_else(|| id.to_string(), |project| project.slug.clone())
    };
    if report.rows.is_empty() {
        print_line(&format!("No usage in the last {days} days."))?;
    }
    for row in &report.rows {
        let when = match report.today.saturating_sub(row.day) {
            0 => "today".to_owned(),
            1 => "yesterday".to_owned(),
            days => format!("{days} days ago"),
        };
        print_line(&format!(
            "{when:<12}  {:<16}  {:<36}  {:>9} in  {:>8} out  {}",
            sanitize_text(&name(row.project)),
            sanitize_text(&row.model),
            row.usage.input,
            row.usage.output,
            format_cost(row.cost, row.unpriced),
        ))?;
    }
    let total = format_cost(report.cost, report.unpriced);
    print_line(&format!("{} {total}, of all days", bold("total")))?;
    print_line(&faint(&format!("Prices as of {}.", sanitize_text(&report.prices_as_of))))?;
    Ok(ExitCode::SUCCESS)
}

/// The known cost, and how many answers have no known price: these are not free.
fn format_cost(nanos: u64, unpriced: u64) -> String {
    match unpriced {
        0 => format_dollars(nanos),
        n => format!("{} and {n} answers without a known price", format_dollars(nanos)),
    }
}
