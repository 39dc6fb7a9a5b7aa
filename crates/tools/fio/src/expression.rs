//! Arithmetic in values: `(8*$mb_memory)`, `(4k + 4k)`, `(2^12)`.
//!
//! Numbers are floating point while it goes on, as in fio; whoever asks for an integer gets it cut off.

/// How deep parentheses and signs may nest.
const DEPTH_MOST: usize = 64;

/// The value of an expression, in which `number` understands what stands between the operators.
/// `None`: it is none, or its value is no finite number.
pub fn evaluate(text: &str, number: &dyn Fn(&str) -> Option<f64>) -> Option<f64> {
    let mut reader = Reader { rest: text, number, depth: 0 };
    let value = reader.sum()?;
    (reader.rest.trim_start().is_empty() && value.is_finite()).then_some(value)
}

struct Reader<'a> {
    rest: &'a str,
    number: &'a dyn Fn(&str) -> Option<f64>,
    depth: usize,
}

impl Reader<'_> {
    fn takes(&mut self, sign: char) -> bool {
        match self.rest.trim_start().strip_prefix(sign) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn sum(&mut self) -> Option<f64> {
        let mut value = self.product()?;
        loop {
            if self.takes('+') {
                value += self.product()?;
            } else if self.takes('-') {
                value -= self.product()?;
            } else {
                return Some(value);
            }
        }
    }

    fn product(&mut self) -> Option<f64> {
        let mut value = self.signed()?;
        loop {
            if self.takes('*') {
                value *= self.signed()?;
            } else if self.takes('/') {
                value /= self.signed()?;
            } else if self.takes('%') {
                value %= self.signed()?;
            } else {
                return Some(value);
            }
        }
    }

    fn signed(&mut self) -> Option<f64> {
        self.deeper(|reader| if reader.takes('-') { Some(-reader.signed()?) } else { reader.power() })
    }

    fn power(&mut self) -> Option<f64> {
        let base = self.atom()?;
        if self.takes('^') { Some(base.powf(self.signed()?)) } else { Some(base) }
    }

    fn atom(&mut self) -> Option<f64> {
        if self.takes('(') {
            let value = self.deeper(Self::sum)?;
            return self.takes(')').then_some(value);
        }
        self.rest = self.rest.trim_start();
        let ends = |c: char| !(c.is_ascii_alphanumeric() || c == '.');
        let length = self.rest.find(ends).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        (self.number)(word)
    }

    fn deeper(&mut self, inner: impl FnOnce(&mut Self) -> Option<f64>) -> Option<f64> {
        self.depth += 1;
        let value = if self.depth > DEPTH_MOST { None } else { inner(self) };
        self.depth -= 1;
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Option<f64> {
        evaluate(text, &|word| match word.strip_suffix('k') {
            Some(thousands) => Some(thousands.parse::<f64>().ok()? * 1024.0),
            None => word.parse().ok(),
        })
    }

    #[test]
    fn operators_bind_as_usual() {
        assert_eq!(value("(4*1024)"), Some(4096.0));
        assert_eq!(value("( 4k + 4k )"), Some(8192.0));
        assert_eq!(value("(10 - 4 * 2)"), Some(2.0));
        assert_eq!(value("(2^3^2)"), Some(512.0));
        assert_eq!(value("(-2^2)"), Some(-4.0));
        assert_eq!(value("((1+2)*3%5)"), Some(4.0));
        assert_eq!(value("(10/4)"), Some(2.5));
        assert_eq!(value("8*24064"), Some(192_512.0));
    }

    #[test]
    fn what_is_none_is_none() {
        for text in ["", "(", ")", "(1", "1)", "1+", "*2", "(1/0)", "1 2", "k", "--", "(4x)"] {
            assert_eq!(value(text), None, "{text}");
        }
        assert_eq!(value(&"(".repeat(100_000)), None);
        assert_eq!(value(&"-".repeat(100_000)), None);
    }
}
