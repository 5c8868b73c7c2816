//! What is said in one call: the words of `-p`, and what is piped in.

use std::io::{IsTerminal as _, Read as _};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use provost_proto::limits;

use crate::output::{faint, print_stderr};

/// How long nothing may be piped in before we say what we wait for.
const STDIN_NOTICE_DELAY: Duration = Duration::from_secs(3);

/// What to say; `None` if a person types it instead.
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

/// What is piped in, up to a byte more than a message may have.
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
        print_stderr(&faint("Reading what is piped in; `< /dev/null` if nothing is."));
        reading.await
    };
    read?.context("cannot read the input")
}

/// First what is asked, then what it is about.
fn join_prompt_and_input(prompt: &str, piped: Vec<u8>) -> anyhow::Result<String> {
    let most = limits::MAX_MESSAGE_BYTES;
    ensure!(
        prompt.len().saturating_add(2).saturating_add(piped.len()) <= most,
        "what is piped in and said is longer than a message may be, which is {most} bytes\n\
         hint: put it into a file of the project, and name that"
    );
    let Ok(piped) = String::from_utf8(piped) else {
        bail!("what is piped in is not text\nhint: it must be UTF-8");
    };
    match (prompt.trim().is_empty(), piped.trim().is_empty()) {
        (true, true) => {
            bail!("there is nothing to say\nhint: say it with -p TEXT, or pipe it in")
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
    fn what_is_asked_comes_before_what_is_piped_in() {
        for (prompt, piped, said) in [
            ("Explain", "an error\n", "Explain\n\nan error\n"),
            ("Explain", " \n", "Explain"),
            ("", "an error\n", "an error\n"),
        ] {
            assert_eq!(join_prompt_and_input(prompt, piped.into()).unwrap(), said);
        }
    }

    #[test]
    fn what_cannot_be_said_says_why() {
        let long = vec![b'x'; limits::MAX_MESSAGE_BYTES - 8];
        assert!(join_prompt_and_input("123456", long.clone()).is_ok());
        for (prompt, piped, why) in [
            ("1234567", long, "262144 bytes"),
            ("x", vec![0xff, 0xfe], "is not text"),
            ("", Vec::new(), "nothing to say"),
        ] {
            let said = join_prompt_and_input(prompt, piped).unwrap_err().to_string();
            assert!(said.contains(why) && said.contains("\nhint: "), "{said}");
        }
    }
}
