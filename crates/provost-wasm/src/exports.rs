//! The functions of the WebAssembly module.
//!
//! One buffer carries requests and replies. The page asks for its address, writes a request into
//! the memory, calls, and reads the reply from there: no pointer is ever read here, so all of this
//! is safe code but for the names of the exports.

#![cfg_attr(
    target_family = "wasm",
    expect(
        unsafe_code,
        unreachable_pub,
        reason = "an exported name is an unsafe attribute; there is no unsafe block"
    )
)]
#![cfg(target_family = "wasm")]

use std::cell::RefCell;

use crate::client::NotebookClient;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static CLIENT: RefCell<NotebookClient> = RefCell::default();
}

/// Makes room for a request of so many bytes, and returns its address.
#[unsafe(no_mangle)]
pub extern "C" fn reserve(bytes: usize) -> *const u8 {
    BUFFER.with_borrow_mut(|buffer| {
        buffer.clear();
        buffer.resize(bytes, 0);
        buffer.as_ptr()
    })
}

/// Carries out the request, and returns the number of bytes of the reply.
#[unsafe(no_mangle)]
pub extern "C" fn call() -> usize {
    BUFFER.with_borrow_mut(|buffer| {
        *buffer = CLIENT.with_borrow_mut(|client| client.call(buffer));
        buffer.len()
    })
}

/// The address of the reply.
#[unsafe(no_mangle)]
pub extern "C" fn address() -> *const u8 {
    BUFFER.with_borrow(Vec::as_ptr)
}

/// Replaces bytes by their BLAKE3 hash, as hexadecimal digits, and returns how many there are.
#[unsafe(no_mangle)]
pub extern "C" fn hash() -> usize {
    BUFFER.with_borrow_mut(|buffer| {
        *buffer = provost_notebook::hash_bytes(buffer).to_string().into_bytes();
        buffer.len()
    })
}
