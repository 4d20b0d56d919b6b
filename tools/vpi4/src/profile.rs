//! Where instructions go: counted by function, at block granularity, from the linked firmware's symbols.
//!
//! A block is attributed to the function its first instruction was compiled for. Inlined code counts where it was
//! inlined. Memory functions of the compiler (memcpy, memset, ...) count for whoever called them.

use object::{Object, ObjectSymbol, SymbolKind};

/// Whose instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The TCP/IP stack.
    Smoltcp,
    /// Everything else.
    Ours,
}

struct Function {
    name: String,
    start: u64,
    end: u64,
    owner: Owner,
    /// memcpy and its like.
    helper: bool,
    instructions: u64,
}

/// Instruction counts by function.
pub struct Profile {
    base: u64,
    functions: Vec<Function>,
    /// Function of each instruction word of the image, plus one; 0 for none.
    by_word: Vec<u16>,
    total: u64,
    smoltcp: u64,
    /// For whom a helper runs now.
    caller: Owner,
}

impl Profile {
    /// From the linked firmware, which runs at `base`.
    pub fn new(elf: &[u8], base: u64) -> Result<Self, object::Error> {
        let file = object::File::parse(elf)?;
        let mut functions: Vec<Function> = file
            .symbols()
            .filter(|s| s.kind() == SymbolKind::Text && s.size() > 0)
            .filter_map(|s| {
                let name = format!("{:#}", rustc_demangle::demangle(s.name().ok()?));
                let owner = if name.contains("smoltcp") { Owner::Smoltcp } else { Owner::Ours };
                let helper = name.starts_with("mem") || name.contains("compiler_builtins");
                Some(Function { name, start: s.address(), end: s.address() + s.size(), owner, helper, instructions: 0 })
            })
            .collect();
        functions.sort_by_key(|f| f.start);
        let words = functions.iter().map(|f| f.end).max().unwrap_or(0) as usize / 4 + 1;
        let mut by_word = vec![0; words];
        for (index, function) in functions.iter().enumerate() {
            by_word[function.start as usize / 4..function.end as usize / 4].fill(index as u16 + 1);
        }
        Ok(Profile { base, functions, by_word, total: 0, smoltcp: 0, caller: Owner::Ours })
    }

    fn index(&self, pc: u64) -> Option<usize> {
        let word = pc.checked_sub(self.base)? as usize / 4;
        (*self.by_word.get(word)? as usize).checked_sub(1)
    }

    /// A block of `instructions` at `pc` runs; `return_address` is x30.
    pub fn block(&mut self, pc: u64, instructions: u64, return_address: u64) {
        self.total += instructions;
        let Some(index) = self.index(pc) else { return };
        let mut owner = self.functions[index].owner;
        if self.functions[index].helper {
            if pc - self.base == self.functions[index].start
                && let Some(caller) = self.index(return_address)
                && !self.functions[caller].helper
            {
                self.caller = self.functions[caller].owner;
            }
            owner = self.caller;
        }
        self.functions[index].instructions += instructions;
        if owner == Owner::Smoltcp {
            self.smoltcp += instructions;
        }
    }

    /// Instructions so far: all, and those of the TCP/IP stack.
    pub fn totals(&self) -> (u64, u64) {
        (self.total, self.smoltcp)
    }

    /// Name of the function at `pc`, and how far into it.
    pub fn symbol(&self, pc: u64) -> Option<(&str, u64)> {
        let function = &self.functions[self.index(pc)?];
        Some((&function.name, pc - self.base - function.start))
    }

    /// The functions with the most instructions, most first.
    pub fn top(&self, n: usize) -> Vec<(&str, u64)> {
        let mut all: Vec<_> = self.functions.iter().map(|f| (f.name.as_str(), f.instructions)).collect();
        all.sort_by_key(|(_, instructions)| std::cmp::Reverse(*instructions));
        all.truncate(n);
        all
    }
}
