//! `provost events`.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use futures::StreamExt;
use provost_proto::{AuditPage, Event, Seq};

use crate::args::EventsArgs;
use crate::client::{Client, Refused};
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
        match client.stream(&format!("/api/events?{}", query(args, after))).await {
            Ok(response) => {
                let mut chunks = response.bytes_stream();
                let mut rest = Vec::new();
                while let Some(Ok(chunk)) = chunks.next().await {
                    rest.extend_from_slice(&chunk);
                    for event in take_events(&mut rest)? {
                        after = event.seq;
                        print(args, &event)?;
                    }
                }
            }
            // It was understood and refused; waiting would not change that.
            Err(error) if error.is::<Refused>() => return Err(error),
            Err(_) => {}
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

/// The place of the last event.
pub(super) async fn newest(client: &Client) -> anyhow::Result<Seq> {
    let page: AuditPage = client.get(&format!("/api/audit?before={}&limit=1", i64::MAX)).await?;
    Ok(page.events.first().map_or(0, |event| event.seq))
}

/// Takes the complete messages out of the buffer. A message that has a name of
/// its own, such as `live`, is no event; every other must be one.
pub(super) fn take_events(rest: &mut Vec<u8>) -> anyhow::Result<Vec<Event>> {
    let Some(end) = rest.windows(2).rposition(|pair| pair == b"\n\n") else {
        return Ok(Vec::new());
    };
    let whole: Vec<u8> = rest.drain(..end + 2).collect();
    let text = std::str::from_utf8(&whole).context("the daemon sent what is not UTF-8")?;
    let mut events = Vec::new();
    for message in text.split("\n\n") {
        let field = |name| message.lines().find_map(|line| line.strip_prefix(name));
        if let (None, Some(data)) = (field("event: "), field("data: ")) {
            let event = serde_json::from_str(data).with_context(|| {
                let id = plain(field("id: ").unwrap_or("without a number"));
                format!("event {id} is not one that this Provost understands")
            })?;
            events.push(event);
        }
    }
    Ok(events)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_that_cannot_be_read_is_an_error_that_names_it() {
        let mut rest = b": provost\n\nevent: live\ndata: {}\n\nid: 7\ndata: {\"se".to_vec();
        assert!(take_events(&mut rest).unwrap().is_empty());
        assert_eq!(rest, b"id: 7\ndata: {\"se", "what is not complete stays");
        rest.extend_from_slice(b"q\":7}\n\n");
        let error = format!("{:#}", take_events(&mut rest).unwrap_err());
        assert!(error.starts_with("event 7 is not one"), "{error}");
    }
}
