//! What the cells want to say: answers to the program, titles, the bell.

use std::cell::RefCell;
use std::rc::Rc;

use alacritty_terminal::event::{Event, EventListener, WindowSize};
use alacritty_terminal::term::color::Colors;
use alacritty_terminal::vte::ansi::Rgb;
use provost_proto::limits::MAX_TERMINAL_TITLE_BYTES;
use provost_sandbox::pty::PtySize;

use super::ScreenEffects;
use super::colors::resolve_color;

/// How much a terminal answers in one go, at most: it is a program's own doing.
const MAX_ANSWER_BYTES: usize = 16 * 1024;

/// What the cells want to say.
#[derive(Clone, Default)]
pub(super) struct ScreenEventListener(Rc<RefCell<CollectedEvents>>);

/// Writes the answer to a question for a color.
type ColorFormatter = std::sync::Arc<dyn Fn(Rgb) -> String + Sync + Send>;

#[derive(Default)]
struct CollectedEvents {
    said: ScreenEffects,
    asked: Vec<(usize, ColorFormatter)>,
    size: Option<PtySize>,
}

impl EventListener for ScreenEventListener {
    fn send_event(&self, event: Event) {
        let mut heard = self.0.borrow_mut();
        match event {
            Event::PtyWrite(text) => heard.push_answer(&text),
            Event::Title(title) => heard.said.title = Some(sanitize_title(&title)),
            Event::ResetTitle => heard.said.title = Some(String::new()),
            Event::Bell => heard.said.bell = true,
            Event::ColorRequest(index, answer) if heard.asked.len() < 256 => {
                heard.asked.push((index, answer));
            }
            Event::TextAreaSizeRequest(answer) => {
                let size = heard.size.unwrap_or(PtySize { cols: 80, rows: 24 });
                let window = WindowSize {
                    num_lines: size.rows,
                    num_cols: size.cols,
                    cell_width: 8,
                    cell_height: 16,
                };
                heard.push_answer(&answer(window));
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
    fn push_answer(&mut self, text: &str) {
        if self.said.answers.len() + text.len() <= MAX_ANSWER_BYTES {
            self.said.answers.extend_from_slice(text.as_bytes());
        }
    }
}

/// A title of a bounded length.
fn sanitize_title(title: &str) -> String {
    let mut end = title.len().min(MAX_TERMINAL_TITLE_BYTES);
    while !title.is_char_boundary(end) {
        end -= 1;
    }
    title[..end].chars().filter(|c| !c.is_control()).collect()
}

impl ScreenEventListener {
    /// The terminal has this size.
    pub(super) fn set_size(&self, size: PtySize) {
        self.0.borrow_mut().size = Some(size);
    }

    /// What was said since it was asked last.
    pub(super) fn take_effects(&self, colors: &Colors) -> ScreenEffects {
        let mut heard = self.0.borrow_mut();
        for (index, answer) in std::mem::take(&mut heard.asked) {
            if let Some(color) = resolve_color(colors, index) {
                heard.push_answer(&answer(color));
            }
        }
        std::mem::take(&mut heard.said)
    }
}
