//! Events of the emulator: responses to the program, titles, the bell.

use std::cell::RefCell;
use std::rc::Rc;

use alacritty_terminal::event::{Event, EventListener, WindowSize};
use alacritty_terminal::term::color::Colors;
use alacritty_terminal::vte::ansi::Rgb;
use provost_proto::limits::MAX_TERMINAL_TITLE_BYTES;
use provost_sandbox::pty::PtySize;

use super::ScreenEffects;
use super::colors::resolve_color;

/// The limit of pending responses, in bytes: a program can trigger many.
const MAX_RESPONSE_BYTES: usize = 16 * 1024;

/// Collects the events of the emulator.
#[derive(Clone, Default)]
pub(super) struct ScreenEventListener(Rc<RefCell<CollectedEvents>>);

/// Formats the response to a color query.
type ColorFormatter = std::sync::Arc<dyn Fn(Rgb) -> String + Sync + Send>;

#[derive(Default)]
struct CollectedEvents {
    effects: ScreenEffects,
    color_queries: Vec<(usize, ColorFormatter)>,
    size: Option<PtySize>,
}

impl EventListener for ScreenEventListener {
    fn send_event(&self, event: Event) {
        let mut events = self.0.borrow_mut();
        match event {
            Event::PtyWrite(text) => events.push_response(&text),
            Event::Title(title) => events.effects.title = Some(sanitize_title(&title)),
            Event::ResetTitle => events.effects.title = Some(String::new()),
            Event::Bell => events.effects.bell = true,
            Event::ColorRequest(index, format_response) if events.color_queries.len() < 256 => {
                events.color_queries.push((index, format_response));
            }
            Event::TextAreaSizeRequest(format_response) => {
                let size = events.size.unwrap_or(PtySize { cols: 80, rows: 24 });
                let window = WindowSize {
                    num_lines: size.rows,
                    num_cols: size.cols,
                    cell_width: 8,
                    cell_height: 16,
                };
                events.push_response(&format_response(window));
            }
            Event::ColorRequest(..)
            | Event::MouseCursorDirty
            | Event::ClipboardStore(..)
            | Event::ClipboardLoad(..)
            | Event::CursorBlinkingChange
            | Event::Wakeup
            | Event::Exit
            | Event::ChildExit(_) => {}
        }
    }
}

impl CollectedEvents {
    fn push_response(&mut self, text: &str) {
        if self.effects.responses.len() + text.len() <= MAX_RESPONSE_BYTES {
            self.effects.responses.extend_from_slice(text.as_bytes());
        }
    }
}

/// A title of bounded length.
fn sanitize_title(title: &str) -> String {
    let mut end = title.len().min(MAX_TERMINAL_TITLE_BYTES);
    while !title.is_char_boundary(end) {
        end -= 1;
    }
    title[..end].chars().filter(|c| !c.is_control()).collect()
}

impl ScreenEventListener {
    /// Sets the size that size queries report.
    pub(super) fn set_size(&self, size: PtySize) {
        self.0.borrow_mut().size = Some(size);
    }

    /// Takes the effects since the last call.
    pub(super) fn take_effects(&self, colors: &Colors) -> ScreenEffects {
        let mut events = self.0.borrow_mut();
        for (index, format_response) in std::mem::take(&mut events.color_queries) {
            if let Some(color) = resolve_color(colors, index) {
                events.push_response(&format_response(color));
            }
        }
        std::mem::take(&mut events.effects)
    }
}
