// SPDX-License-Identifier: MIT
//! Finds the installed libraries: in the folder RANKFEED_LIB_DIR, else as pkg-config knows them.
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=RANKFEED_LIB_DIR");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    for folder in folders() {
        println!("cargo:rustc-link-search=native={folder}");
    }
    println!("cargo:rustc-link-lib=dylib=rankfeed_builder");
    println!("cargo:rustc-link-lib=dylib=rankfeed_runtime");
}

fn folders() -> Vec<String> {
    if let Ok(folder) = std::env::var("RANKFEED_LIB_DIR") {
        return vec![folder];
    }
    let answer = Command::new("pkg-config").args(["--libs-only-L", "rankfeed-builder"]).output();
    match answer {
        Ok(answer) if answer.status.success() => String::from_utf8_lossy(&answer.stdout)
            .split_whitespace()
            .filter_map(|word| word.strip_prefix("-L").map(str::to_string))
            .collect(),
        _ => {
            println!("cargo:warning=rankfeed was not found by pkg-config; set RANKFEED_LIB_DIR to the folder of librankfeed_builder.so where it is in none of the linker's own");
            Vec::new()
        }
    }
}
