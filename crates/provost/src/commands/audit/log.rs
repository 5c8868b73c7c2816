//! `provost log`: the files of the log.

use std::process::ExitCode;

use provost_proto::{ArchiveLogRequest, ArchiveLogResult, LogSegment, LogSegmentList, UnixMicros};

use crate::args::{LogArgs, LogCommand};
use crate::client::DaemonClient;
use crate::config::Config;
use crate::output::{self, faint, print_line, sanitize_text};

pub(crate) async fn run(args: LogArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let client = DaemonClient::connect(config)?;
    match args.what {
        LogCommand::Archive { before, json } => archive(&client, before, json.json).await,
        LogCommand::Segments(json) => list_segments(&client, json.json).await,
    }
}

async fn archive(
    client: &DaemonClient,
    before: UnixMicros,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let result: ArchiveLogResult =
        client.post("/api/log/archive", &ArchiveLogRequest { before }).await?;
    if json {
        output::print_json(&result)?;
        return Ok(ExitCode::SUCCESS);
    }
    let before = output::format_time(before);
    let n_events: u64 = result.segments.iter().map(count_events).sum();
    if n_events == 0 {
        print_line(&match result.left {
            0 => format!("Nothing to archive: the database has no events before {before}."),
            left => format!(
                "Nothing to archive: the database has {left} events before {before}, and events \
                 are archived in blocks of 512."
            ),
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    for segment in &result.segments {
        print_line(&format_segment(segment))?;
    }
    print_line(&format!(
        "Archived {n_events} events. The database holds {} now; the space they left is used again.",
        format_size(result.log_bytes)
    ))?;
    Ok(ExitCode::SUCCESS)
}

async fn list_segments(client: &DaemonClient, json: bool) -> anyhow::Result<ExitCode> {
    let list: LogSegmentList = client.get("/api/log/segments").await?;
    if json {
        output::print_json(&list)?;
        return Ok(ExitCode::SUCCESS);
    }
    for segment in &list.segments {
        print_line(&format_segment(segment))?;
    }
    let files = match list.segments.len() {
        0 => "No segments.".to_owned(),
        1 => "1 segment.".to_owned(),
        n => format!("{n} segments."),
    };
    print_line(&format!(
        "{files} The database holds {} events, {}.",
        list.log_events,
        format_size(list.log_bytes)
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn count_events(segment: &LogSegment) -> u64 {
    (segment.last + 1).saturating_sub(segment.first)
}

fn format_segment(segment: &LogSegment) -> String {
    format!(
        "events {} to {}  {} to {}  {}  {}",
        segment.first,
        segment.last,
        output::format_time(segment.first_at),
        output::format_time(segment.last_at),
        format_size(segment.bytes),
        faint(&sanitize_text(&segment.file))
    )
}

fn format_size(bytes: u64) -> String {
    match bytes {
        0..0x10_0000 => format!("{} KiB", bytes.div_ceil(1 << 10)),
        _ => format!("{}.{} MiB", bytes >> 20, (bytes >> 10 & 1023) * 10 / 1024),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_in_kib_and_mib() {
        let sizes = [1, 1024, 1025, (1 << 20) - 1, 1 << 20, (5 << 20) + (1 << 19)];
        let texts = sizes.map(format_size);
        assert_eq!(texts, ["1 KiB", "1 KiB", "2 KiB", "1024 KiB", "1.0 MiB", "5.5 MiB"]);
    }
}
