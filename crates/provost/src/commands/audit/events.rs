//! `provost events`: prints the log, and parses the event stream for other commands.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use futures::StreamExt;
use provost_proto::{AuditPage, Event, EventsPage, Fact, LogCursor, MessageId, limits};
use serde_json::Value;

use crate::args::EventsArgs;
use crate::client::{DaemonClient, RequestRejected};
use crate::config::Config;
use crate::output::{self, bold, faint, print_line, print_stderr, sanitize_text};

/// How many events are printed if nothing says how many: a log may hold millions.
const DEFAULT_EVENTS: usize = 200;

/// Interval between attempts to reconnect.
const RECONNECT_INTERVAL: Duration = Duration::from_millis(500);

pub(crate) async fn run(args: &EventsArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let client = DaemonClient::connect(config)?;
    if args.follow {
        follow_events(args, config, client).await?;
    } else {
        print_history(args, &client).await?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The parts of the query that select events.
fn build_filter(args: &EventsArgs) -> String {
    let stream = args.stream.map(|stream| format!("&stream={stream}")).unwrap_or_default();
    let parameters = [
        ("project", &args.project),
        ("session", &args.filter.session),
        ("kind", &args.kind),
        ("actor", &args.filter.actor),
        ("text", &args.filter.text),
    ];
    let parameters = parameters.map(|(name, value)| encode_parameter(name, value.as_deref()));
    format!("{stream}{}", parameters.concat())
}

/// One parameter of a query, if it has a value.
pub(crate) fn encode_parameter(name: &str, value: Option<&str>) -> String {
    let Some(value) = value else { return String::new() };
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b',' | b':' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    format!("&{name}={}", value.bytes().map(encode).collect::<String>())
}

fn build_query(args: &EventsArgs, after: LogCursor) -> String {
    format!("after={after}{}", build_filter(args))
}

/// Prints the last events, the oldest of them first.
async fn print_latest(
    args: &EventsArgs,
    limit: Option<usize>,
    client: &DaemonClient,
) -> anyhow::Result<()> {
    let is_default = limit.is_none();
    let limit = limit.unwrap_or(DEFAULT_EVENTS);
    let (mut found, mut before) = (Vec::new(), Some(LogCursor::END));
    let filter = build_filter(args);
    while let Some(cursor) = before.filter(|_| found.len() < limit) {
        let page_size = (limit - found.len()).min(limits::MAX_EVENT_PAGE_EVENTS);
        let path = format!("/api/events?before={cursor}&limit={page_size}{filter}");
        let page: EventsPage = client.get(&path).await?;
        found.extend(page.events);
        before = page.next;
    }
    if is_default && before.is_some() {
        print_stderr(&faint(&format!(
            "These are the last {DEFAULT_EVENTS}; `--after 0` begins with the first."
        )));
    }
    found.iter().rev().try_for_each(|event| print_event(args, event))
}

async fn print_history(args: &EventsArgs, client: &DaemonClient) -> anyhow::Result<()> {
    let Some(first) = args.after else {
        return print_latest(args, args.limit, client).await;
    };
    let mut after = Some(first);
    while let Some(cursor) = after {
        let page: AuditPage =
            client.get(&format!("/api/audit?{}", build_query(args, cursor))).await?;
        for event in &page.events {
            print_event(args, event)?;
        }
        after = page.next;
    }
    Ok(())
}

/// Prints new events; reconnects when the daemon restarts.
async fn follow_events(
    args: &EventsArgs,
    config: &Config,
    mut client: DaemonClient,
) -> anyhow::Result<()> {
    let mut after = match args.after {
        Some(after) => after,
        None => fetch_head_cursor(&client).await?,
    };
    loop {
        match client.get_stream(&format!("/api/events?{}", build_query(args, after))).await {
            Ok(response) => {
                let mut chunks = response.bytes_stream();
                let mut rest = Vec::new();
                while let Some(Ok(chunk)) = chunks.next().await {
                    rest.extend_from_slice(&chunk);
                    for event in drain_sse_events(&mut rest)? {
                        after = event.cursor();
                        print_event(args, &event)?;
                    }
                }
            }
            // The request was rejected; a retry would not help.
            Err(error) if error.is::<RequestRejected>() => return Err(error),
            Err(_) => {}
        }
        print_stderr(&faint("Lost the connection to the daemon; waiting for it."));
        client = loop {
            tokio::time::sleep(RECONNECT_INTERVAL).await;
            if let Some(client) = DaemonClient::connect_if_running(config)? {
                break client;
            }
        };
    }
}

/// The position after the last event.
pub(crate) async fn fetch_head_cursor(client: &DaemonClient) -> anyhow::Result<LogCursor> {
    let page: EventsPage = client.get("/api/events?limit=1").await?;
    Ok(page.head)
}

/// A message of a session's stream.
#[derive(Debug)]
pub(crate) enum SessionMessage {
    /// An event of the log.
    Event(Box<Event>),
    /// The model begins to write this message, in place of what it wrote before.
    DraftBegun(MessageId),
    /// A piece of that message.
    Delta(Box<Fact>),
}

/// Takes the complete server-sent messages out of the buffer. A message with an event
/// name, such as `live`, is not a log event; every other message must be one.
pub(crate) fn drain_sse_events(rest: &mut Vec<u8>) -> anyhow::Result<Vec<Event>> {
    let messages = drain_session_messages(rest)?.into_iter();
    let events = messages.filter_map(|message| match message {
        SessionMessage::Event(event) => Some(*event),
        SessionMessage::DraftBegun(_) | SessionMessage::Delta(_) => None,
    });
    Ok(events.collect())
}

/// The same with what the model is writing.
pub(crate) fn drain_session_messages(rest: &mut Vec<u8>) -> anyhow::Result<Vec<SessionMessage>> {
    let Some(end) = rest.windows(2).rposition(|pair| pair == b"\n\n") else {
        return Ok(Vec::new());
    };
    let whole: Vec<u8> = rest.drain(..end + 2).collect();
    let text = std::str::from_utf8(&whole).context("the daemon sent text that is not UTF-8")?;
    let mut messages = Vec::new();
    for message in text.split("\n\n") {
        let field = |name| message.lines().find_map(|line| line.strip_prefix(name));
        let Some(data) = field("data: ") else { continue };
        let unreadable = || {
            let id = sanitize_text(field("id: ").unwrap_or("without an id"));
            format!("event {id} cannot be parsed by this version of Provost")
        };
        messages.push(match field("event: ") {
            None => SessionMessage::Event(serde_json::from_str(data).with_context(unreadable)?),
            Some("draft") => {
                let begun: Value = serde_json::from_str(data).with_context(unreadable)?;
                let message = begun["message"].clone();
                SessionMessage::DraftBegun(
                    serde_json::from_value(message).with_context(unreadable)?,
                )
            }
            Some("delta") => {
                SessionMessage::Delta(serde_json::from_str(data).with_context(unreadable)?)
            }
            Some(_) => continue,
        });
    }
    Ok(messages)
}

fn print_event(args: &EventsArgs, event: &Event) -> anyhow::Result<()> {
    if args.json.json {
        return print_line(&serde_json::to_string(event)?);
    }
    let body = event.body.as_object().into_iter().flatten();
    let body: Vec<_> = body
        .filter(|(_, value)| !value.is_null())
        .map(|(key, value)| {
            format!("{}={}", sanitize_text(key), sanitize_text(&value_to_text(value)))
        })
        .collect();
    print_line(&format!(
        "{} {} {} {} {}",
        faint(&format!("{:>6}", event.seq)),
        output::format_time(event.at),
        bold(&format!("{:<16}", sanitize_text(&event.kind))),
        faint(&sanitize_text(&format!("{} {}", event.principal, event.actor))),
        body.join(" ")
    ))
}

fn value_to_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_that_cannot_be_parsed_is_an_error_that_names_it() {
        let mut rest = b": provost\n\nevent: live\ndata: {}\n\nid: 7\ndata: {\"se".to_vec();
        assert!(drain_sse_events(&mut rest).unwrap().is_empty());
        assert_eq!(rest, b"id: 7\ndata: {\"se", "an incomplete message stays");
        rest.extend_from_slice(b"q\":7}\n\n");
        let error = format!("{:#}", drain_sse_events(&mut rest).unwrap_err());
        assert!(error.starts_with("event 7 cannot be parsed"), "{error}");
    }
}
