//! genetbench, the host companion of the firmware.
//!
//! Exit status: 0 done, 1 the input is not what it should be, 2 could not run.

#![forbid(unsafe_code)]

mod flatten;

use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

/// Host companion of the genetbench firmware.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Turn the linked firmware (ELF) into kernel8.img, after checking that a loader can run it.
    Flatten {
        /// The linked firmware.
        elf: PathBuf,
        /// Where to write the image.
        image: PathBuf,
    },
}

fn main() -> ExitCode {
    let Command::Flatten { elf, image } = Cli::parse().command;
    let bytes = match std::fs::read(&elf) {
        Ok(bytes) => bytes,
        Err(error) => {
            eprintln!("genetbench: cannot read {}: {error}. Build it first: make kernel", elf.display());
            return ExitCode::from(2);
        }
    };
    let flat = match flatten::flatten(&bytes) {
        Ok(flat) => flat,
        Err(error) => {
            eprintln!("genetbench: {}: {error}", elf.display());
            return ExitCode::from(1);
        }
    };
    if let Err(error) = std::fs::write(&image, &flat.bytes) {
        eprintln!("genetbench: cannot write {}: {error}", image.display());
        return ExitCode::from(2);
    }
    println!(
        "{}: {} bytes, {} in memory, {} relocations",
        image.display(),
        flat.bytes.len(),
        flat.memory_bytes,
        flat.relocations
    );
    ExitCode::SUCCESS
}
