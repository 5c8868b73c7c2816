//! Resuming from an offset.

use provost_proto::terminal::TerminalInputFrame;
use serde_json::json;

use super::Host;

/// The output at the end of the command.
const END: &[u8] = b"end-1\r\nready>";

#[tokio::test(flavor = "multi_thread")]
async fn whoever_comes_back_gets_exactly_the_missing_bytes() {
    let mut host = Host::start().await;
    host.open().await;
    let mut whole = host.attach(None, 80, 24).await;
    whole.until("ready>").await;
    let from = whole.at;
    let mut cut = host.attach(Some(from), 80, 24).await;
    let (mut pieces, mut at) = (Vec::new(), from);
    whole.output.clear();
    whole.types("for i in $(seq 1 30000); do echo line-$i; done; echo end-$((1))\r").await;
    // Disconnects repeatedly, wherever it is, while output arrives.
    for n_cuts in 1.. {
        while cut.output.is_empty() {
            assert!(cut.next().await);
        }
        assert_eq!(cut.n_snapshots, 0, "all is still kept");
        let new = pieces.len().saturating_sub(END.len());
        pieces.append(&mut cut.output);
        at = cut.at;
        if pieces[new..].windows(END.len()).any(|bytes| bytes == END) {
            break;
        }
        if n_cuts <= 20 {
            cut = host.attach(Some(at), 80, 24).await;
        }
    }
    assert!(at > from);
    whole.until("end-1\r\nready>").await;
    // One of them may have received more after the end.
    let both = pieces.len().min(whole.output.len());
    assert!(pieces[..both] == whole.output[..both], "{} and {}", pieces.len(), whole.output.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_was_away_too_long_gets_what_it_looks_like() {
    let mut host = Host::start().await;
    host.open().await;
    let mut client = host.attach(None, 80, 24).await;
    client.until("ready>").await;
    let from = client.at;
    client.types("yes 0123456789abcdef | head -c 20000000; echo; echo end-$((1))\r").await;
    client.until("end-1\r\nready>").await;
    for after in [from, client.at + 1, u64::MAX] {
        let mut late = host.attach(Some(after), 80, 24).await;
        late.until("end-1").await;
        assert_eq!((late.n_snapshots, late.at), (1, client.at), "after {after}");
        assert!(late.output.len() < 200_000, "{} bytes", late.output.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn too_much_input_is_refused_and_none_of_it_lost_in_silence() {
    let mut host = Host::start().await;
    host.open().await;
    let mut client = host.attach(None, 80, 24).await;
    client.until("ready>").await;
    client.types("stty -echo -icanon; echo raw-$((1)); sleep 4242\r").await;
    client.until("raw-1\r\n").await;
    let piece = vec![b'x'; 60_000];
    for _ in 0..40 {
        if client.try_send(TerminalInputFrame::Input(piece.clone().into())).await.is_err() {
            break;
        }
    }
    client.read_to_end().await;
    assert_eq!(client.error.as_deref(), Some("CONFLICT"));
    let mut again = host.attach(None, 80, 24).await;
    again.until("raw-1").await;
    let refused = host.act("pty.write", json!({ "text": "y".repeat(60_000) })).await.unwrap_err();
    assert_eq!(refused["code"], "CONFLICT");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_in_the_terminal_of_another_kernel_process_is_none_in_this_one() {
    let mut starts = Vec::new();
    for _ in 0..3 {
        let mut host = Host::start().await;
        host.open().await;
        let mut client = host.attach(None, 80, 24).await;
        client.until("ready>").await;
        let now = host.request("runtime", json!({})).await.unwrap();
        let offset = now["runtime"]["terminal"]["offset"].as_u64().unwrap();
        assert_eq!(offset, client.at, "and the kernel reports the offset");
        assert!(offset < 1 << 53, "exact in JavaScript");
        for earlier in &starts {
            let mut back = host.attach(Some(*earlier), 80, 24).await;
            back.until("ready>").await;
            assert_eq!((back.n_snapshots, back.at), (1, client.at));
        }
        starts.push(offset);
        host.task.abort();
    }
}
