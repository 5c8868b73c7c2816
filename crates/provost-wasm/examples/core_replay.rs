//! The fold of the core as a module: events in, the hash of all views out.
//!
//! `cargo xtask test` builds it for WebAssembly and compares it with `core_replay_native`.
#![cfg_attr(
    target_family = "wasm",
    expect(
        unsafe_code,
        unreachable_pub,
        reason = "an exported name is an unsafe attribute; there is no unsafe block"
    )
)]

#[cfg_attr(
    not(target_family = "wasm"),
    expect(dead_code, reason = "built natively only with all other examples")
)]
mod core_log;

#[cfg(target_family = "wasm")]
mod exports {
    use std::cell::RefCell;

    use crate::core_log::CoreLog;

    thread_local! {
        static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
        static LOG: RefCell<CoreLog> = RefCell::default();
    }

    /// Makes room for a request, and returns its address.
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
            *buffer = LOG.with_borrow_mut(|log| log.call(buffer));
            buffer.len()
        })
    }

    /// The address of the reply.
    #[unsafe(no_mangle)]
    pub extern "C" fn address() -> *const u8 {
        BUFFER.with_borrow(Vec::as_ptr)
    }
}
