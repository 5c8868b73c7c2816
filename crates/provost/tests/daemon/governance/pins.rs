//! Pins: an answer is valid for the scripts that were shown, or the prompt says that
//! they are not pinned (THREATS 26).

use super::*;

fn scopes(question: &Value) -> Vec<String> {
    let choices = question["question"]["choices"].as_array().unwrap();
    choices.iter().map(|choice| choice["scope"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn what_runs_by_another_name_than_its_file_is_pinned_and_a_grant_ends_when_it_changes() {
    let fixture = GovernanceFixture::new().await;
    fixture.write("pkg/__main__.py", "print('one')\n");
    fixture.write("package.json", r#"{ "main": "lib/start.js" }"#);
    fixture.write("lib/start.js", "console.log('one')\n");
    for (command, file) in [("python3 -m pkg", "pkg/__main__.py"), ("node .", "lib/start.js")] {
        let asked = json!({ "command": command });
        let question = fixture.request_command(asked.clone()).await;
        let pins = question["question"]["pins"].to_string();
        assert!(pins.contains(file), "{command}: {pins}");
        assert_eq!(scopes(&question), ["once", "session", "until"], "{command}");
        let (status, response) = fixture.allow(&question, json!({ "scope": "session" })).await;
        assert_eq!(status, 200, "{response}");
        fixture.wait_finished(&question).await;
        fixture.run_command(asked.clone()).await;
        fixture.write(file, "changed\n");
        fixture.request_command(asked).await;
    }
    fixture.assert_log_intact();
}

#[tokio::test]
async fn where_nothing_can_be_pinned_the_question_says_so_and_is_answered_once() {
    let fixture = GovernanceFixture::new().await;
    fixture.write("b1.sh", "echo one\n");
    for command in ["sh b*.sh", "F=b1.sh; sh $F", "pytest", "cat b*.sh | sh"] {
        let question = fixture.request_command(json!({ "command": command })).await;
        let notes = question["question"]["notes"].to_string();
        assert!(notes.contains("what it runs can change after you answer"), "{command}: {notes}");
        assert_eq!(scopes(&question), ["once"], "{command}");
    }
    // A script that is not there yet can be there by the time a rule allows it.
    let question = fixture.request_command(json!({ "command": "sh later.sh" })).await;
    assert!(!scopes(&question).contains(&"always".to_owned()), "{question}");
    let question = fixture.request_command(json!({ "command": "echo x" })).await;
    assert!(scopes(&question).contains(&"always".to_owned()), "{question}");
    fixture.assert_log_intact();
}

#[tokio::test]
async fn the_hosts_in_a_file_of_addresses_are_shown() {
    let fixture = GovernanceFixture::new().await;
    fixture.write("urls.txt", "https://a.example/x\nb.example\n");
    let many: Vec<String> = (0..25).map(|n| format!("http://h{n}.example\n")).collect();
    fixture.write("many.txt", &many.concat());
    fixture.write("large.txt", &"http://x.example\n".repeat(20_000));
    for (command, shown) in [
        ("wget -i urls.txt", "urls.txt names the hosts `a.example`, `b.example`"),
        ("curl -K urls.txt", "urls.txt names the hosts `a.example`, `b.example`"),
        ("wget -qi many.txt", "`h19.example` and 5 more"),
        ("wget -i large.txt", "large.txt may name any host: it is too large to be read"),
    ] {
        let asked = json!({ "command": command, "network": true });
        let question = fixture.request_command(asked).await;
        let notes = question["question"]["notes"].to_string();
        assert!(notes.contains(shown), "{command}: {notes}");
    }
    let question = fixture.request_command(json!({ "command": "curl -K urls.txt" })).await;
    fixture.write("urls.txt", "https://evil.example\n");
    let (status, response) = fixture.allow(&question, json!({})).await;
    assert_eq!(status, 409, "{response}");
    let pending = fixture.pending_approvals().await;
    let notes = pending.iter().map(|approval| approval["question"]["notes"].to_string());
    let evil: Vec<String> = notes.filter(|notes| notes.contains("`evil.example`")).collect();
    assert_eq!(evil.len(), 1, "{pending:?}");
    fixture.assert_log_intact();
}
