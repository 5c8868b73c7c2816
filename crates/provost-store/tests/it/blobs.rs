//! Blobs: by content, and for large bodies.

use provost_core::fold::ViewKind;
use provost_core::hash_chain;
use provost_proto::kernel::{OutputChunk, OutputData, OutputStream};
use provost_proto::{BlobRef, Fact, Hash, Stream, limits};
use provost_store::{Clock, EventStore, StoreError};

use super::{append, fresh, one, open, token};

#[tokio::test]
async fn bytes_come_back_by_their_hash_and_are_kept_once() {
    let (store, _folder) = fresh();
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let blob = store.put_blob(bytes.clone()).await.unwrap();
    assert_eq!(store.put_blob(bytes.clone()).await.unwrap(), blob);
    assert_eq!(blob, BlobRef { hash: hash_chain::digest(&bytes), size: 100_000 });
    assert_eq!(store.get_blob(blob.hash).await.unwrap(), Some(bytes));
    assert_eq!(store.get_blob(Hash::ZERO).await.unwrap(), None);
}

#[tokio::test]
async fn a_blob_over_the_limit_is_refused() {
    let (store, _folder) = fresh();
    let error = store.put_blob(vec![0; limits::MAX_BLOB_BYTES + 1]).await.unwrap_err();
    assert!(matches!(error, StoreError::TooLarge { .. }), "{error}");
}

#[tokio::test]
async fn a_large_body_is_referenced_and_still_folded_also_after_a_rebuild() {
    let (store, folder) = fresh();
    let label = "long ".repeat(limits::MAX_INLINE_BODY_BYTES);
    let fact = token(&Clock::system(), &label);
    let body = fact.body().unwrap();
    let event = append(&store, one(Stream::Sys, fact)).await.remove(0);

    let blob: BlobRef = serde_json::from_value(event.body).unwrap();
    let bytes = store.get_blob(blob.hash).await.unwrap().unwrap();
    assert_eq!(serde_json::from_slice::<serde_json::Value>(&bytes).unwrap(), body);

    drop(store);
    let store = open(folder.path());
    store.rebuild_views().await.unwrap();
    let doc = store.list_documents(ViewKind::Tokens).await.unwrap().remove(0);
    assert_eq!(doc.into_token().map(|token| token.label), Some(label));
}

pub(super) fn printed(data: Vec<u8>) -> Fact {
    let clock = Clock::system();
    let output =
        OutputChunk { stream: OutputStream::Stdout, offset: 0, dropped: 0, data: data.into() };
    Fact::ActionOutput { action: clock.new_id(), project: clock.new_id(), report: 1, output }
}

#[tokio::test]
async fn much_output_is_kept_as_it_was_printed_and_little_stands_in_its_event() {
    let (store, _folder) = fresh();
    let mixed: Vec<u8> = (0..=255).cycle().take(32 * 1024).collect();
    // The second is short, but long when its control characters are escaped.
    for bytes in [mixed, vec![1; 1000], vec![b'x'; limits::MAX_INLINE_BODY_BYTES + 1]] {
        let event = append(&store, one(Stream::Sys, printed(bytes.clone()))).await.remove(0);
        let Some(Fact::ActionOutput { output, .. }) = event.fact() else {
            panic!("{event:?} is not output")
        };
        let OutputData::Blob(blob) = output.data else { panic!("{output:?} stands in its event") };
        assert_eq!(blob.size, u64::try_from(bytes.len()).unwrap());
        assert_eq!(store.get_blob(blob.hash).await.unwrap(), Some(bytes));
    }
    let event = append(&store, one(Stream::Sys, printed(b"ok\n".to_vec()))).await.remove(0);
    assert_eq!(event.body["output"]["data"]["text"], "ok\n");
    assert_eq!(store.verify_log().await.unwrap().bad, None);
}
