//! `provost events`.

use std::process::ExitCode;
use std::time::Duration;

use futures::StreamExt;
use provost_proto::{AuditPage, Event, Seq};

use crate::args::EventsArgs;
use crate::client::Client;
use crate::config::Config;
use crate::output::{self, bold, faint, line, plain, remark};

/// How long to wait before looking for the daemon again.
const AGAIN: Duration = Duration::from_millis(500);

pub(crate) async fn run(args: &EventsArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::connect(config)?;
    if args.follow {
        follow(args, config, client).await?;
    } else {
        history(args, &client).await?;
    }
    Ok(ExitCode::SUCCESS)
}

fn query(args: &EventsArgs, after: Seq) -> String {
    let stream = args.stream.map(|stream| format!("&stream={stream}")).unwrap_or_default();
    format!("after={after}{stream}")
}

async fn history(args: &EventsArgs, client: &Client) -> anyhow::Result<()> {
    let mut after = Some(args.after);
    while let Some(place) = after {
        let page: AuditPage = client.get(&format!("/api/audit?{}", query(args, place))).await?;
        for event in &page.events {
            print(args, event)?;
        }
        after = page.next;
    }
    Ok(())
}

/// Prints as it happens; comes back by itself when the daemon does.
async fn follow(args: &EventsArgs, config: &Config, mut client: Client) -> anyhow::Result<()> {
    let mut after = args.after;
    loop {
        if let Ok(response) = client.stream(&format!("/api/events?{}", query(args, after))).await {
            let mut chunks = response.bytes_stream();
            let mut rest = Vec::new();
            while let Some(Ok(chunk)) = chunks.next().await {
                rest.extend_from_slice(&chunk);
                for event in take_events(&mut rest) {
                    after = event.seq;
                    print(args, &event)?;
                }
            }
        }
        remark(&faint("Lost the daemon; waiting for it."));
        client = loop {
            tokio::time::sleep(AGAIN).await;
            if let Some(client) = Client::find(config)? {
                break client;
            }
        };
    }
}

/// Takes the complete lines out of the buffer. An event is one `data:` line.
fn take_events(rest: &mut Vec<u8>) -> Vec<Event> {
    let Some(end) = rest.iter().rposition(|&byte| byte == b'\n') else { return Vec::new() };
    let whole: Vec<u8> = rest.drain(..=end).collect();
    whole
        .split(|&byte| byte == b'\n')
        .filter_map(|line| line.strip_prefix(b"data: "))
        .filter_map(|data| serde_json::from_slice(data).ok())
        .collect()
}

fn print(args: &EventsArgs, event: &Event) -> anyhow::Result<()> {
    if args.json.json {
        return line(&serde_json::to_string(event)?);
    }
    let body = event.body.as_object().into_iter().flatten();
    let body: Vec<_> = body
        .filter(|(_, value)| !value.is_null())
        .map(|(key, value)| format!("{}={}", plain(key), plain(&text(value))))
        .collect();
    line(&format!(
        "{} {} {} {} {}",
        faint(&format!("{:>6}", event.seq)),
        output::time(event.at),
        bold(&format!("{:<16}", plain(&event.kind))),
        faint(&plain(&format!("{} {}", event.principal, event.actor))),
        body.join(" ")
    ))
}

fn text(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
