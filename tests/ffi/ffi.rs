// SPDX-License-Identifier: MIT
// The C API from Rust without any crate: declarations as a -sys crate would have them. Encodes a text
// from several threads at once over one model, and walks a request batch by batch.
use std::alloc::{alloc, Layout};
use std::ffi::{c_char, c_void, CString};

#[repr(C)] #[derive(Clone, Copy)] struct MemReq { size: usize, alignment: usize }
#[repr(C)] struct Mapping { data: *const c_void, size: usize, page_size_obtained: u32, reserved: u32, base: *mut c_void, base_size: usize }
#[repr(C)] #[derive(Clone, Copy)] struct Text { data: *const u8, size: usize }
#[repr(C)] struct Limits { struct_size: u32, max_text_bytes: u32, with_offsets: u32, cache_bytes: u32 }
#[repr(C)] struct EncodeOptions { struct_size: u32, flags: u32, sp_extra: [u8; 8] }
#[repr(C)] struct Encoding {
    struct_size: u32, capacity: u32, input_ids: *mut i32, offset_begin: *mut u32, offset_end: *mut u32,
    special_tokens_mask: *mut u8, token_type_ids: *mut u32, count: u32,
}
enum Model {}
enum Encoder {}

#[link(name = "rankfeed_runtime")]
extern "C" {
    fn rankfeed_image_map(path: *const c_char, out: *mut Mapping, detail: *mut c_void) -> i32;
    fn rankfeed_image_unmap(mapping: *mut Mapping);
    fn rankfeed_model_mem_req() -> MemReq;
    fn rankfeed_model_open(image: *const c_void, size: usize, flags: u32, storage: *mut c_void, storage_size: usize,
                           out: *mut *mut Model, detail: *mut c_void) -> i32;
    fn rankfeed_encoder_mem_req(model: *const Model, limits: *const Limits, out: *mut MemReq) -> i32;
    fn rankfeed_encoder_init(model: *const Model, limits: *const Limits, scratch: *mut c_void, size: usize,
                             out: *mut *mut Encoder) -> i32;
    fn rankfeed_encode(encoder: *mut Encoder, text: Text, options: *const EncodeOptions, io: *mut Encoding) -> i32;
}

fn allocate(need: MemReq) -> *mut c_void {
    unsafe { alloc(Layout::from_size_align(need.size, need.alignment).unwrap()) as *mut c_void }
}

struct Shared(*const Model);
unsafe impl Sync for Shared {} // rankfeed/model.h: immutable, share freely between threads

fn encode(model: *const Model, text: &str) -> Vec<i32> {
    let limits = Limits { struct_size: std::mem::size_of::<Limits>() as u32, max_text_bytes: 4096, with_offsets: 0, cache_bytes: 0 };
    let mut need = MemReq { size: 0, alignment: 0 };
    let mut encoder: *mut Encoder = std::ptr::null_mut();
    let mut ids = vec![0i32; 256];
    let options = EncodeOptions { struct_size: std::mem::size_of::<EncodeOptions>() as u32, flags: 1, sp_extra: [0; 8] };
    let mut io = Encoding {
        struct_size: std::mem::size_of::<Encoding>() as u32, capacity: ids.len() as u32, input_ids: ids.as_mut_ptr(),
        offset_begin: std::ptr::null_mut(), offset_end: std::ptr::null_mut(), special_tokens_mask: std::ptr::null_mut(),
        token_type_ids: std::ptr::null_mut(), count: 0,
    };
    unsafe {
        assert_eq!(rankfeed_encoder_mem_req(model, &limits, &mut need), 0);
        assert_eq!(rankfeed_encoder_init(model, &limits, allocate(need), need.size, &mut encoder), 0);
        assert_eq!(rankfeed_encode(encoder, Text { data: text.as_ptr(), size: text.len() }, &options, &mut io), 0);
    }
    ids.truncate(io.count as usize);
    ids
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let path = CString::new(arguments[1].clone()).unwrap();
    let mut mapping: Mapping = unsafe { std::mem::zeroed() };
    let mut model: *mut Model = std::ptr::null_mut();
    unsafe {
        assert_eq!(rankfeed_image_map(path.as_ptr(), &mut mapping, std::ptr::null_mut()), 0);
        let need = rankfeed_model_mem_req();
        assert_eq!(rankfeed_model_open(mapping.data, mapping.size, 0, allocate(need), need.size, &mut model, std::ptr::null_mut()), 0);
    }
    let shared = Shared(model);
    let shared = &shared;
    let text: &str = &arguments[2];
    let results: Vec<Vec<i32>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(move || encode(shared.0, text))).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert!(results.iter().all(|r| *r == results[0]));
    for id in &results[0] { print!("{} ", id); }
    println!();
    unsafe { rankfeed_image_unmap(&mut mapping) };
}
