// SPDX-License-Identifier: MIT
//! Memory with the alignment that the library asks for.
use std::alloc::{alloc, dealloc, handle_alloc_error, Layout};
use std::ffi::c_void;

use rankfeed_sys as sys;

pub(crate) struct Block {
    data: *mut u8,
    layout: Layout,
}

// Plain bytes; who holds the block decides who uses them.
unsafe impl Send for Block {}

impl Block {
    pub fn new(need: sys::rankfeed_mem_req) -> Block {
        let layout = Layout::from_size_align(need.size.max(1), need.alignment).expect("sizes of the library fit");
        let data = unsafe { alloc(layout) };
        if data.is_null() {
            handle_alloc_error(layout);
        }
        Block { data, layout }
    }
    pub fn data(&self) -> *mut c_void {
        self.data.cast()
    }
    pub fn size(&self) -> usize {
        self.layout.size()
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        unsafe { dealloc(self.data, self.layout) }
    }
}
