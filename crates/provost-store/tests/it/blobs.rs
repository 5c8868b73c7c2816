//! Blobs: by content, and for bodies too large to stand in the log.

use provost_core::chain;
use provost_core::fold::View;
use provost_proto::{BlobRef, Hash, Stream, limits};
use provost_store::{Clock, Store, StoreError};

use super::{append, fresh, one, open, token};

#[tokio::test]
async fn bytes_come_back_by_their_hash_and_are_kept_once() {
    let (store, _folder) = fresh();
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let blob = store.put_blob(bytes.clone()).await.unwrap();
    assert_eq!(store.put_blob(bytes.clone()).await.unwrap(), blob);
    assert_eq!(blob, BlobRef { hash: chain::digest(&bytes), size: 100_000 });
    assert_eq!(store.blob(blob.hash).await.unwrap(), Some(bytes));
    assert_eq!(store.blob(Hash::ZERO).await.unwrap(), None);
}

#[tokio::test]
async fn a_blob_over_the_limit_is_refused() {
    let (store, _folder) = fresh();
    let error = store.put_blob(vec![0; limits::BLOB + 1]).await.unwrap_err();
    assert!(matches!(error, StoreError::TooLarge { .. }), "{error}");
}

#[tokio::test]
async fn a_large_body_is_referenced_and_still_folded_also_after_a_rebuild() {
    let (store, folder) = fresh();
    let label = "long ".repeat(limits::INLINE_BODY);
    let fact = token(&Clock::system(), &label);
    let body = fact.body().unwrap();
    let event = append(&store, one(Stream::Sys, fact)).await.remove(0);

    let blob: BlobRef = serde_json::from_value(event.body).unwrap();
    let bytes = store.blob(blob.hash).await.unwrap().unwrap();
    assert_eq!(serde_json::from_slice::<serde_json::Value>(&bytes).unwrap(), body);

    drop(store);
    let store = open(folder.path());
    store.rebuild().await.unwrap();
    let doc = store.docs(View::Tokens).await.unwrap().remove(0);
    assert_eq!(doc.into_token().map(|token| token.label), Some(label));
}
