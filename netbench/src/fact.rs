//! Facts of calibration: a line for people and a record for programs, from one value.

use crate::record::{Fields, Recorder};
use core::fmt::{self, Write};
use genet::calibrate::{Fact, Sure, Value};

/// Writes the head of the table of facts.
///
/// # Errors
/// Those of `out`.
pub fn write_head(out: &mut dyn Write) -> fmt::Result {
    writeln!(out, "{:<50} {:<13} {:<20} agree sure", "fact", "documented", "measured")
}

/// Writes one line of it: what was asked, documented, measured, whether these agree, and how sure that is.
///
/// # Errors
/// Those of `out`.
pub fn write_line(out: &mut dyn Write, fact: &Fact) -> fmt::Result {
    let question = fact.question;
    let unit = question.unit.trim_start_matches('_');
    write!(out, "{:<50} ", question.about)?;
    match question.documented {
        Some(value) => write_value(out, value, unit, 13)?,
        None => write!(out, "{:<13}", "-")?,
    }
    write!(out, " ")?;
    match fact.answer {
        Ok(value) => write_value(out, value, unit, 20)?,
        Err(why) => return writeln!(out, "open: {why}"),
    }
    let agree = match fact.agrees() {
        Some(true) => "yes",
        Some(false) => "NO",
        None => "-",
    };
    write!(out, " {agree:<5} {}", fact.sure().word())?;
    if fact.sure() != Sure::Once {
        write!(out, " {}/{}", fact.same, fact.runs)?;
    }
    writeln!(out)
}

fn write_value(out: &mut dyn Write, value: Value, unit: &str, width: usize) -> fmt::Result {
    match value {
        Value::Word(word) => write!(out, "{word:<width$}"),
        Value::Number(number) => {
            let digits = number.checked_ilog10().map_or(1, |log| log as usize + 1);
            write!(out, "{number} {unit:<rest$}", rest = width.saturating_sub(digits + 1))
        }
    }
}

/// Writes the fact's record. The key of a number ends in its unit.
pub fn record(out: &mut dyn Write, recorder: &mut Recorder, fact: &Fact) {
    let question = fact.question;
    let add = |r: &mut Fields<'_>, key: &str, value: Value| match value {
        Value::Word(word) => r.word(key, word),
        Value::Number(number) => r.num(&alloc::format!("{key}{}", question.unit), number),
    };
    recorder.record(out, "fact", |r| {
        r.word("name", question.name);
        if let Some(documented) = question.documented {
            add(r, "documented", documented);
        }
        match fact.answer {
            Ok(value) => {
                add(r, "measured", value);
                if let Some(agree) = fact.agrees() {
                    r.num("agree", agree as u8);
                }
                r.word("sure", fact.sure().word());
            }
            Err(why) => {
                r.word("sure", "open");
                r.word("because", why);
            }
        }
        r.num("runs", fact.runs);
        r.num("same", fact.same);
        if !fact.via.is_empty() {
            r.word("via", fact.via);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::parse;
    use genet::calibrate::{Ask, QUESTIONS};
    use std::string::String;

    /// The longest that can come.
    fn facts() -> impl Iterator<Item = Fact> {
        QUESTIONS.iter().flat_map(|question| {
            let answer = match question.documented {
                Some(Value::Number(_)) => Value::Number(65_535),
                _ => Value::Word("the_ring_that_runs"),
            };
            [Ok(answer), Err("transmit_stuck")].map(|answer| Fact {
                question,
                answer,
                via: "phy_1000",
                runs: 6,
                same: 5,
            })
        })
    }

    #[test]
    fn lines_are_columns_and_records_are_short() {
        let mut recorder = Recorder::new();
        for fact in facts() {
            let (mut line, mut text) = (String::new(), String::new());
            write_line(&mut line, &fact).unwrap();
            assert!(line.len() <= 106 && line.lines().count() == 1, "{line}");
            record(&mut text, &mut recorder, &fact);
            assert!(text.len() <= 170 && text.lines().count() == 1, "{text}");
            let read = parse(text.trim_end().as_bytes()).unwrap();
            assert_eq!((read.kind, read.get("name")), ("fact", Some(fact.question.name)));
        }
    }

    #[test]
    fn a_fact_reads_the_same_in_both() {
        let question = Ask::Tick.question();
        let fact = Fact { question, answer: Ok(Value::Number(8_000)), via: "mac_1000", runs: 6, same: 6 };
        let (mut line, mut text) = (String::new(), String::new());
        write_line(&mut line, &fact).unwrap();
        assert_eq!(
            line.split_whitespace().collect::<std::vec::Vec<_>>().join(" "),
            "length of a timeout tick 8192 ns 8000 ns NO certain 6/6"
        );
        record(&mut text, &mut Recorder::new(), &fact);
        let fields = "name=tick documented_ns=8192 measured_ns=8000 agree=0 sure=certain runs=6 same=6 via=mac_1000*";
        assert!(text.contains(fields), "{text}");
    }
}
