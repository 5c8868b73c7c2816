//! Arguments of the commands for the log's files.

use clap::{Args, Subcommand};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use provost_proto::UnixMicros;

use super::JsonArgs;

#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    #[command(subcommand)]
    pub(crate) what: LogCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LogCommand {
    /// Move older events into compressed segment files.
    ///
    /// They are read as before: by `provost events`, `provost audit`, the timeline. Only whole
    /// blocks of 512 events are moved, and the space that they leave in the database is used
    /// again. `[log_archive]` in config.toml does this by age or size.
    Archive {
        /// Events before this: 2026-10-31, or 2026-10-31T18:00, in your time zone.
        #[arg(long, value_name = "DATE", value_parser = parse_time)]
        before: UnixMicros,
        #[command(flatten)]
        json: JsonArgs,
    },
    /// List the segment files.
    Segments(JsonArgs),
}

/// A date, a date with a time, or a time with its zone (RFC 3339).
fn parse_time(text: &str) -> Result<UnixMicros, String> {
    let local = |time: DateTime| time.to_zoned(TimeZone::system()).map(|time| time.timestamp());
    let time = text
        .parse::<Timestamp>()
        // A date alone is its midnight. `Date` would accept a time as well, and drop it.
        .or_else(|_| text.parse::<DateTime>().and_then(local));
    let micros = time.ok().and_then(|time| UnixMicros::try_from(time.as_microsecond()).ok());
    micros.ok_or_else(|| "not a date since 1970; write it as 2026-10-31".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_midnight_here_and_a_time_may_have_its_zone() {
        assert_eq!(parse_time("1970-01-01T00:00:01Z"), Ok(1_000_000));
        assert_eq!(parse_time("2026-10-31T18:00:00+02:00"), parse_time("2026-10-31T16:00:00Z"));
        assert_eq!(parse_time("2026-10-31"), parse_time("2026-10-31T00:00"));
        for wrong in ["", "yesterday", "2026-13-01", "31.10.2026", "1969-01-01T00:00:00Z"] {
            assert!(parse_time(wrong).unwrap_err().contains("2026-10-31"), "{wrong}");
        }
    }

    #[test]
    fn a_time_of_the_day_counts() {
        let midnight = parse_time("2026-10-31").unwrap();
        assert_eq!(parse_time("2026-10-31T18:30").unwrap(), midnight + (18 * 60 + 30) * 60_000_000);
    }
}
