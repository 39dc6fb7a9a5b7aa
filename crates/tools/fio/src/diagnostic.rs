//! Where something was said, and what is wrong with it.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A text that was read: a job file, or the command line.
#[derive(Debug, PartialEq, Eq)]
pub struct Source {
    /// Its name, as it was given.
    pub name: String,
    /// All of it.
    pub text: String,
    /// Lines before it: of a recording only the line is kept in which something is wrong.
    pub lines_before: usize,
}

/// A part of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Of what.
    pub source: Arc<Source>,
    /// Which bytes of its text.
    pub span: Range<usize>,
}

impl Place {
    /// A part of a source; the span is clipped to the text.
    pub fn new(source: &Arc<Source>, span: Range<usize>) -> Self {
        let most = source.text.len();
        let start = span.start.min(most);
        Place { source: source.clone(), span: start..span.end.clamp(start, most) }
    }

    /// Line and column, both from 1; the column counts characters.
    pub fn line_and_column(&self) -> (usize, usize) {
        let before = self.source.text.get(..self.span.start).unwrap_or_default();
        let line = self.source.lines_before + before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        (line, column)
    }

    /// The line in which it begins, without its end, and where that line begins.
    fn line(&self) -> (&str, usize) {
        let text = &self.source.text;
        let start = text.get(..self.span.start).and_then(|t| t.rfind('\n')).map_or(0, |at| at + 1);
        let line = text.get(start..).unwrap_or_default().lines().next().unwrap_or_default();
        (line, start)
    }

    /// A part of this part, such as a value within its line.
    pub fn part(&self, span: Range<usize>) -> Place {
        Place::new(&self.source, self.span.start + span.start..self.span.start + span.end)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column) = self.line_and_column();
        write!(f, "{}:{line}:{column}", self.source.name)
    }
}

/// What is wrong, where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub hint: String,
    /// Where, if it is anywhere.
    pub at: Option<Place>,
}

impl Trouble {
    /// Something wrong at a place.
    pub fn at(place: &Place, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Trouble { what: what.into(), hint: hint.into(), at: Some(place.clone()) }
    }

    /// Something wrong with the whole.
    pub fn anywhere(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Trouble { what: what.into(), hint: hint.into(), at: None }
    }

    /// The message with the line it is about, its columns marked, and the hint.
    pub fn render(&self) -> String {
        use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
        let plain = Renderer::plain();
        let Some(place) = &self.at else {
            return format!("error: {}\nhint: {}", self.what, self.hint);
        };
        let (text, start) = place.line();
        // A line of many kilobytes is nobody's to read, and the renderer takes its time with it.
        if text.len() > 400 {
            return format!("error: {}\n  --> {place}\nhint: {}", self.what, self.hint);
        }
        let from = place.span.start.saturating_sub(start).min(text.len());
        let to = place.span.end.saturating_sub(start).clamp(from, text.len());
        let snippet = Snippet::source(text)
            .line_start(place.line_and_column().0)
            .path(&place.source.name)
            .annotation(AnnotationKind::Primary.span(from..to));
        let title = Level::ERROR.primary_title(&self.what).element(snippet);
        format!("{}\nhint: {}", plain.render(&[title]), self.hint)
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.at {
            Some(place) => write!(f, "{place}: {}\nhint: {}", self.what, self.hint),
            None => write!(f, "{}\nhint: {}", self.what, self.hint),
        }
    }
}

impl std::error::Error for Trouble {}

#[cfg(test)]
mod tests {
    use super::*;

    fn source() -> Arc<Source> {
        Arc::new(Source { name: "x.fio".into(), text: "[a]\nrw=read\nblok=4k\n".into(), lines_before: 0 })
    }

    #[test]
    fn a_place_knows_its_line_and_column() {
        let source = source();
        let at = source.text.find("blok").unwrap();
        assert_eq!(Place::new(&source, at..at + 4).to_string(), "x.fio:3:1");
        assert_eq!(Place::new(&source, at + 5..at + 7).line_and_column(), (3, 6));
        assert_eq!(Place::new(&source, 900..1000).line_and_column(), (4, 1));
    }

    #[test]
    fn trouble_points_into_the_line() {
        let source = source();
        let at = source.text.find("blok").unwrap();
        let trouble = Trouble::at(&Place::new(&source, at..at + 4), "there is no option blok", "say bs");
        let text = trouble.render();
        assert!(text.contains("error: there is no option blok"), "{text}");
        assert!(text.contains("--> x.fio:3:1"), "{text}");
        assert!(text.contains("blok=4k"), "{text}");
        assert!(text.contains("^^^^"), "{text}");
        assert!(text.ends_with("hint: say bs"), "{text}");
    }
}
