//! The message of a single call: the text of `-p`, followed by piped input.

use std::io::{IsTerminal as _, Read as _};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use provost_proto::limits;

use crate::output::{faint, print_stderr};

/// How long to wait for piped input before a notice is printed.
const STDIN_NOTICE_DELAY: Duration = Duration::from_secs(3);

/// The message; `None` if the chat is interactive.
pub(super) async fn read_message(prompt: Option<&str>) -> anyhow::Result<Option<String>> {
    let is_piped = !std::io::stdin().is_terminal();
    if prompt.is_none() && !is_piped {
        return Ok(None);
    }
    let piped =
        if is_piped || prompt == Some("-") { read_piped_stdin().await? } else { Vec::new() };
    join_prompt_and_input(prompt.filter(|prompt| *prompt != "-").unwrap_or_default(), piped)
        .map(Some)
}

/// Reads piped input, up to one byte more than a message may have.
async fn read_piped_stdin() -> anyhow::Result<Vec<u8>> {
    let mut reading = tokio::task::spawn_blocking(|| {
        let mut bytes = Vec::new();
        let most = u64::try_from(limits::MAX_MESSAGE_BYTES).unwrap_or(u64::MAX).saturating_add(1);
        std::io::stdin().lock().take(most).read_to_end(&mut bytes).map(|_| bytes)
    });
    let soon = tokio::time::timeout(STDIN_NOTICE_DELAY, &mut reading).await;
    let read = if let Ok(read) = soon {
        read
    } else {
        print_stderr(&faint("Reading piped input; use `< /dev/null` if there is none."));
        reading.await
    };
    read?.context("cannot read standard input")
}

/// The prompt, then the piped input.
fn join_prompt_and_input(prompt: &str, piped: Vec<u8>) -> anyhow::Result<String> {
    let most = limits::MAX_MESSAGE_BYTES;
    ensure!(
        prompt.len().saturating_add(2).saturating_add(piped.len()) <= most,
        "the message is longer than the limit of {most} bytes\n\
         hint: write it to a file of the project, and name the file"
    );
    let Ok(piped) = String::from_utf8(piped) else {
        bail!("the piped input is not text\nhint: it must be UTF-8");
    };
    match (prompt.trim().is_empty(), piped.trim().is_empty()) {
        (true, true) => {
            bail!("the message is empty\nhint: pass it with -p TEXT, or pipe it in")
        }
        (false, true) => Ok(prompt.to_owned()),
        (true, false) => Ok(piped),
        (false, false) => Ok(format!("{prompt}\n\n{piped}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prompt_comes_before_the_piped_input() {
        for (prompt, piped, message) in [
            ("Explain", "an error\n", "Explain\n\nan error\n"),
            ("Explain", " \n", "Explain"),
            ("", "an error\n", "an error\n"),
        ] {
            assert_eq!(join_prompt_and_input(prompt, piped.into()).unwrap(), message);
        }
    }

    #[test]
    fn an_invalid_message_is_rejected_with_a_hint() {
        let long = vec![b'x'; limits::MAX_MESSAGE_BYTES - 8];
        assert!(join_prompt_and_input("123456", long.clone()).is_ok());
        for (prompt, piped, why) in [
            ("1234567", long, "262144 bytes"),
            ("x", vec![0xff, 0xfe], "is not text"),
            ("", Vec::new(), "is empty"),
        ] {
            let error = join_prompt_and_input(prompt, piped).unwrap_err().to_string();
            assert!(error.contains(why) && error.contains("\nhint: "), "{error}");
        }
    }
}
