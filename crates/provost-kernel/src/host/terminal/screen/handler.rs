//! The layer between the parser and the cells.
//!
//! Most calls are forwarded to the cells. This layer keeps what they do not expose
//! (margins, tab stops, the active character set), and handles what they do
//! differently from our clients' terminals: clearing the screen adds nothing to the
//! scrollback, a tab at the margin does not wrap, and the legacy numbers of the
//! alternate screen work. Clipboard access is disabled.

use alacritty_terminal::grid::{Cursor, Dimensions as _};
use alacritty_terminal::index::Line;
use alacritty_terminal::term::cell::Cell;
use alacritty_terminal::term::{Config, Osc52, Term, TermMode};
use alacritty_terminal::vte::ansi::{
    Attr, CharsetIndex, ClearMode, Color, CursorShape, CursorStyle, Handler, Hyperlink,
    KeyboardModes, KeyboardModesApplyBehavior, LineClearMode, Mode, ModifyOtherKeys, NamedMode,
    NamedPrivateMode, PrivateMode, Rgb, StandardCharset, TabulationClearMode,
};
use provost_proto::limits::TERMINAL_SCROLLBACK_LINES;
use provost_sandbox::pty::PtySize;

use super::events::ScreenEventListener;
use super::{GridDimensions, ScreenEffects};

/// The cells, and the state that they do not expose.
pub(super) struct ScreenHandler {
    pub(super) term: Term<ScreenEventListener>,
    events: ScreenEventListener,
    /// The scroll region: the first line, and the one after the last.
    pub(super) margins: (usize, usize),
    pub(super) tabs: Vec<bool>,
    pub(super) charset: CharsetIndex,
    pub(super) title: Option<String>,
    /// Whether the last output was a character, which a combining character may join.
    pub(super) joins: bool,
    size: PtySize,
}

impl ScreenHandler {
    pub(super) fn new(size: PtySize) -> Self {
        let config = Config {
            scrolling_history: TERMINAL_SCROLLBACK_LINES,
            osc52: Osc52::Disabled,
            ..Config::default()
        };
        let events = ScreenEventListener::default();
        events.set_size(size);
        let term = Term::new(config, &GridDimensions(size), events.clone());
        let tabs = default_tab_stops(usize::from(size.cols));
        let margins = (0, usize::from(size.rows));
        Self {
            term,
            events,
            margins,
            tabs,
            charset: CharsetIndex::G0,
            title: None,
            joins: false,
            size,
        }
    }

    /// Takes the effects since the last call.
    pub(super) fn take_effects(&mut self) -> ScreenEffects {
        let effects = self.events.take_effects(self.term.colors());
        if let Some(title) = &effects.title {
            self.title = Some(title.clone());
        }
        effects
    }

    pub(super) fn resize(&mut self, size: PtySize) {
        self.events.set_size(size);
        (self.size, self.joins) = (size, false);
        let (cols, before) = (usize::from(size.cols), self.tabs.len());
        self.term.resize(GridDimensions(size));
        self.margins = (0, usize::from(size.rows));
        self.tabs.truncate(cols);
        self.tabs.extend((before.min(cols)..cols).map(|column| column % 8 == 0));
    }

    pub(super) fn size(&self) -> PtySize {
        self.size
    }

    /// Performs DECSTR, `ESC [ ! p`, which the parser does not know.
    pub(super) fn soft_reset(&mut self) {
        for mode in [
            NamedPrivateMode::CursorKeys,
            NamedPrivateMode::BracketedPaste,
            NamedPrivateMode::Origin,
            NamedPrivateMode::ReportFocusInOut,
        ] {
            self.term.unset_private_mode(mode.into());
        }
        self.term.set_private_mode(NamedPrivateMode::ShowCursor.into());
        self.term.set_private_mode(NamedPrivateMode::LineWrap.into());
        self.term.unset_mode(NamedMode::Insert.into());
        self.term.unset_keypad_application_mode();
        self.term.terminal_attribute(Attr::Reset);
        for index in [CharsetIndex::G0, CharsetIndex::G1, CharsetIndex::G2, CharsetIndex::G3] {
            self.term.configure_charset(index, StandardCharset::Ascii);
        }
        self.set_active_charset(CharsetIndex::G0);
        let cursor = self.term.grid().cursor.clone();
        self.set_scrolling_region(1, None);
        let grid = self.term.grid_mut();
        grid.cursor = cursor;
        grid.saved_cursor = Cursor::default();
    }

    /// After how many lines none of the current content is left, if lines only scroll.
    pub(super) fn lines_until_overwritten(&self) -> Option<usize> {
        let rows = self.term.screen_lines();
        let special = TermMode::ALT_SCREEN | TermMode::ORIGIN;
        let plain = self.margins == (0, rows) && !self.term.mode().intersects(special);
        plain.then_some(TERMINAL_SCROLLBACK_LINES + 2 * rows)
    }

    fn in_margins(&self) -> bool {
        let line = usize::try_from(self.term.grid().cursor.point.line.0).unwrap_or(0);
        (self.margins.0..self.margins.1).contains(&line)
    }

    fn cursor_column(&self) -> usize {
        self.term.grid().cursor.point.column.0
    }

    fn pending_wrap(&self) -> bool {
        self.term.grid().cursor.input_needs_wrap
    }

    fn clear_rows(&mut self, until: Option<Line>) {
        let grid = self.term.grid_mut();
        match until {
            Some(line) => grid.reset_region::<Color, _>(..line),
            None => grid.reset_region::<Color, _>(..),
        }
    }
}

fn default_tab_stops(columns: usize) -> Vec<bool> {
    (0..columns).map(|column| column % 8 == 0).collect()
}

macro_rules! forward {
    ($($name:ident($($argument:ident: $type:ty),*);)+) => {
        $(#[inline]
        fn $name(&mut self, $($argument: $type),*) {
            self.joins = false;
            self.term.$name($($argument),*);
        })+
    };
}

impl Handler for ScreenHandler {
    forward! {
        set_title(title: Option<String>);
        set_cursor_style(style: Option<CursorStyle>);
        set_cursor_shape(shape: CursorShape);
        goto(line: i32, column: usize);
        goto_line(line: i32);
        goto_col(column: usize);
        insert_blank(count: usize);
        move_up(count: usize);
        move_down(count: usize);
        identify_terminal(kind: Option<char>);
        device_status(kind: usize);
        move_forward(count: usize);
        move_backward(count: usize);
        move_down_and_cr(count: usize);
        move_up_and_cr(count: usize);
        backspace();
        carriage_return();
        linefeed();
        bell();
        substitute();
        newline();
        scroll_up(count: usize);
        scroll_down(count: usize);
        erase_chars(count: usize);
        delete_chars(count: usize);
        move_backward_tabs(count: u16);
        move_forward_tabs(count: u16);
        save_cursor_position();
        restore_cursor_position();
        clear_line(mode: LineClearMode);
        reverse_index();
        terminal_attribute(attribute: Attr);
        set_mode(mode: Mode);
        unset_mode(mode: Mode);
        report_mode(mode: Mode);
        report_private_mode(mode: PrivateMode);
        set_keypad_application_mode();
        unset_keypad_application_mode();
        configure_charset(index: CharsetIndex, charset: StandardCharset);
        set_color(index: usize, color: Rgb);
        dynamic_color_sequence(prefix: String, index: usize, terminator: &str);
        reset_color(index: usize);
        decaln();
        push_title();
        pop_title();
        text_area_size_pixels();
        text_area_size_chars();
        set_hyperlink(link: Option<Hyperlink>);
        report_keyboard_mode();
        push_keyboard_mode(mode: KeyboardModes);
        pop_keyboard_modes(count: u16);
        set_keyboard_mode(mode: KeyboardModes, how: KeyboardModesApplyBehavior);
        set_modify_other_keys(mode: ModifyOtherKeys);
        report_modify_other_keys();
    }

    #[inline]
    fn input(&mut self, c: char) {
        self.joins = true;
        self.term.input(c);
    }

    fn insert_blank_lines(&mut self, count: usize) {
        self.joins = false;
        self.term.insert_blank_lines(count);
        if self.in_margins() {
            self.term.carriage_return();
        }
    }

    fn delete_lines(&mut self, count: usize) {
        self.joins = false;
        self.term.delete_lines(count);
        if self.in_margins() {
            self.term.carriage_return();
        }
    }

    fn put_tab(&mut self, count: u16) {
        self.joins = false;
        if !self.pending_wrap() {
            self.term.put_tab(count);
        }
    }

    fn set_horizontal_tabstop(&mut self) {
        self.joins = false;
        let column = self.cursor_column();
        if let Some(tab) = self.tabs.get_mut(column) {
            *tab = true;
        }
        self.term.set_horizontal_tabstop();
    }

    fn clear_tabs(&mut self, mode: TabulationClearMode) {
        self.joins = false;
        match mode {
            TabulationClearMode::All => self.tabs.fill(false),
            TabulationClearMode::Current => {
                let column = self.cursor_column();
                if let Some(tab) = self.tabs.get_mut(column) {
                    *tab = false;
                }
            }
        }
        self.term.clear_tabs(mode);
    }

    fn set_tabs(&mut self, interval: u16) {
        self.joins = false;
        let step = usize::from(interval).max(1);
        for (column, tab) in self.tabs.iter_mut().enumerate() {
            *tab = column % step == 0;
        }
        self.term.set_tabs(interval);
    }

    fn set_active_charset(&mut self, index: CharsetIndex) {
        self.joins = false;
        self.charset = index;
        self.term.set_active_charset(index);
    }

    fn set_scrolling_region(&mut self, top: usize, bottom: Option<usize>) {
        self.joins = false;
        let lines = self.term.screen_lines();
        let end = bottom.unwrap_or(lines);
        if top >= 1 && top < end {
            self.margins = ((top - 1).min(lines), end.min(lines));
        }
        self.term.set_scrolling_region(top, bottom);
    }

    fn clear_screen(&mut self, mode: ClearMode) {
        self.joins = false;
        match mode {
            ClearMode::All => self.clear_rows(None),
            ClearMode::Above => {
                let line = self.term.grid().cursor.point.line;
                if line.0 > 0 {
                    self.clear_rows(Some(line));
                }
                self.term.clear_screen(mode);
            }
            ClearMode::Below | ClearMode::Saved => self.term.clear_screen(mode),
        }
    }

    fn reset_state(&mut self) {
        self.joins = false;
        self.term.reset_state();
        self.margins = (0, self.term.screen_lines());
        self.tabs = default_tab_stops(self.term.columns());
        self.charset = CharsetIndex::G0;
    }

    fn set_private_mode(&mut self, mode: PrivateMode) {
        self.joins = false;
        self.term.set_private_mode(normalize_private_mode(mode));
    }

    fn unset_private_mode(&mut self, mode: PrivateMode) {
        self.joins = false;
        self.term.unset_private_mode(normalize_private_mode(mode));
    }
}

/// The alternate screen has two legacy mode numbers.
fn normalize_private_mode(mode: PrivateMode) -> PrivateMode {
    match mode {
        PrivateMode::Unknown(47 | 1047) => {
            PrivateMode::Named(NamedPrivateMode::SwapScreenAndSetRestoreCursor)
        }
        PrivateMode::Unknown(_) | PrivateMode::Named(_) => mode,
    }
}

impl ScreenHandler {
    /// Whether the alternate screen is shown.
    pub(super) fn is_alternate(&self) -> bool {
        self.term.mode().contains(TermMode::ALT_SCREEN)
    }

    /// Reads the main screen, which may not be the one that is shown.
    pub(super) fn with_main_grid<T>(
        &mut self,
        read: impl FnOnce(&alacritty_terminal::grid::Grid<Cell>) -> T,
    ) -> T {
        if !self.is_alternate() {
            return read(self.term.grid());
        }
        // Showing the main screen keeps both; showing the alternate one again clears it.
        let alternate = self.term.grid().clone();
        self.term.swap_alt();
        let result = read(self.term.grid());
        self.term.swap_alt();
        *self.term.grid_mut() = alternate;
        result
    }
}
