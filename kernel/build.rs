//! Links the firmware with the boot crate's linker script, as a static PIE.

fn main() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../boot/link/pi4.ld");
    println!("cargo:rerun-if-changed={script}");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=GENETBENCH_COMMIT");
    println!(
        "cargo:rustc-env=GENETBENCH_COMMIT={}",
        std::env::var("GENETBENCH_COMMIT").unwrap_or_else(|_| "unknown".into())
    );
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("none") {
        for arg in ["-pie", "--no-dynamic-linker", "-zmax-page-size=4096", "-znorelro", "-znotext", "--hash-style=sysv"]
        {
            println!("cargo:rustc-link-arg-bins={arg}");
        }
        println!("cargo:rustc-link-arg-bins=-T{script}");
    }
}
