//! `pty.read` and `pty.write`: the terminal for agents.

use serde_json::{Value, json};

use super::Host;

const SECRET: &str = "s3cr3t-Value-42";

async fn shows(host: &mut Host, text: &str) -> Value {
    loop {
        let read = host.act("pty.read", json!({ "scrollback": 100 })).await.unwrap();
        let all = format!("{}\n{}", read["scrollback"], read["screen"]);
        if all.contains(text) {
            return read;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_typed_is_on_the_screen_and_can_be_read_by_its_place() {
    let mut host = Host::start().await;
    for (action, params) in [("pty.read", json!({})), ("pty.write", json!({ "text": "x" }))] {
        assert_eq!(host.act(action, params).await.unwrap_err()["code"], "PTY_DEAD", "{action}");
    }
    host.open().await;
    shows(&mut host, "ready>").await;
    let wrote = host.act("pty.write", json!({ "text": "echo sum-$((2 + 3))\r" })).await.unwrap();
    let read = shows(&mut host, "sum-5\\nready>").await;
    assert_eq!((&read["cols"], &read["rows"]), (&json!(80), &json!(24)));
    assert_eq!((&read["running"], &read["alternate"]), (&json!(true), &json!(false)));
    assert_eq!(read["cursor"], json!({ "row": 2, "col": 7, "shown": true }));
    let raw = json!({ "after": wrote["offset"], "limit": 1000 });
    let raw = host.act("pty.read", raw).await.unwrap();
    assert!(raw["text"].as_str().unwrap().contains("\r\nsum-5\r\n"), "{raw}");
    assert_eq!(raw["next"], raw["end"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_is_read_however_it_is_cut_but_its_person_sees_it() {
    let mut host = Host::start().await;
    host.open().await;
    let mut person = host.attach(None, 80, 24).await;
    person.until("ready>").await;
    let from = person.at;
    // In one line, across a line end, and wrapped by the program itself.
    let line = format!(
        "clear; a={SECRET}; echo \"<$a>\"; printf '%073d%s\\n' 0 \"$a\"; \
         printf '\\033[10;73H%s\\033[11;1H%s\\n' \"${{a:0:8}}\" \"${{a:8}}\"; echo end-$((1))\r"
    );
    person.types(&line).await;
    person.until("end-1\r\n").await;
    assert!(person.text().contains(&format!("<{SECRET}>")));
    let read = shows(&mut host, "end-1").await;
    let screen = read["screen"].as_str().unwrap();
    assert_eq!(screen.matches("[redacted: API_KEY]").count(), 3, "{screen}");
    for left in ["s3cr3t", "Value-42", "lue-42"] {
        assert!(!screen.contains(left), "{left} in {screen}");
    }
    for limit in [1, 3, 7, 100_000] {
        let (mut after, mut all) = (from, String::new());
        while after < person.at {
            let params = json!({ "after": after, "limit": limit });
            let read = host.act("pty.read", params).await.unwrap();
            all.push_str(read["text"].as_str().unwrap());
            after = read["next"].as_u64().unwrap();
        }
        assert!(!all.contains(SECRET) && all.contains("<[redacted: API_KEY]>"), "{limit}: {all}");
    }
    for report in &host.reports {
        assert!(!report.to_string().contains(SECRET), "{report}");
    }
}
