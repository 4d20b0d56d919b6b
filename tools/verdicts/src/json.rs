//! target/verdicts.json. All strings in it are words of ours, without anything that needs escaping.

use crate::matrix::{Matrix, Row};
use crate::truth::Kind;
use std::fmt::Write;

/// The whole file.
pub fn render(rows: &[Row], worlds: usize) -> String {
    let matrix = Matrix::of(rows);
    let mut out = String::from("{\n");
    let _ = writeln!(out, "  \"note\": \"virtual: sessions of the virtual Pi 4; host_ms is the host's\",");
    let _ = writeln!(out, "  \"worlds\": {worlds},\n  \"sessions\": {},", rows.len());
    let _ = writeln!(out, "  \"false_confirmations\": {},", matrix.false_confirmations());
    let _ = writeln!(out, "  \"true_confirmed_ppm\": {},\n  \"rows\": [", matrix.true_confirmed_ppm());
    for (index, row) in rows.iter().enumerate() {
        let end = if index + 1 == rows.len() { "" } else { "," };
        let _ = writeln!(out, "    {}{end}", one(row));
    }
    out + "  ]\n}\n"
}

fn one(row: &Row) -> String {
    let list = |kind: Kind| {
        let of_kind = row.truth.findings.iter().filter(|f| f.kind == kind);
        of_kind.map(|f| format!("\"{}\": {}", f.hypothesis.word(), f.rise_milli)).collect::<Vec<_>>().join(", ")
    };
    let states = row.states.iter().map(|(h, s)| format!("\"{}\": \"{}\"", h.word(), s.word()));
    format!(
        "{{\"world\": \"{}\", \"variant\": \"{}\", \"seed\": {}, \"truth_rise_milli\": {{{}}}, \
         \"consequences_rise_milli\": {{{}}}, \"rate_bps\": {}, \"verdicts\": {{{}}}, \"virtual_s\": {}.{:03}, \
         \"host_ms\": {}}}",
        row.world,
        row.variant,
        row.seed,
        list(Kind::Cause),
        list(Kind::Consequence),
        row.truth.rate_bps,
        states.collect::<Vec<_>>().join(", "),
        row.virtual_ns / 1_000_000_000,
        row.virtual_ns / 1_000_000 % 1_000,
        row.host_ms
    )
}
