// SPDX-License-Identifier: MIT
//! Errors: the type of the tokenizers crate's, so that what converts that one converts these.
use std::ffi::CStr;
use std::fmt;

use rankfeed_sys as sys;

pub type Error = Box<dyn std::error::Error + Send + Sync>;
pub type Result<T> = std::result::Result<T, Error>;

/// A status of the library, with what it is about.
#[derive(Debug, Clone)]
pub struct Status {
    pub code: i32,
    pub about: String,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, message) = unsafe {
            (
                CStr::from_ptr(sys::rankfeed_status_name(self.code)),
                CStr::from_ptr(sys::rankfeed_status_message(self.code)),
            )
        };
        write!(f, "{}: {} ({})", self.about, message.to_string_lossy(), name.to_string_lossy())
    }
}

impl std::error::Error for Status {}

pub(crate) fn check(code: sys::rankfeed_status, about: &str) -> Result<()> {
    if code == sys::RANKFEED_OK {
        return Ok(());
    }
    Err(Box::new(Status { code, about: about.to_string() }))
}
