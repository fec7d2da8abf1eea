// SPDX-License-Identifier: MIT
//! A loaded vocabulary and encoders over it.
use std::ffi::{CStr, CString};
use std::mem::size_of;
use std::os::raw::c_char;
use std::path::Path;
use std::sync::Arc;

use rankfeed_sys as sys;

use crate::error::{check, Error, Result};
use crate::memory::Block;

/// An image, a tokenizer.json or a .model in memory; immutable, shared by all threads.
pub(crate) struct Vocabulary {
    loaded: *mut sys::rankfeed_loaded,
}

// rankfeed/builder.h: immutable until it is freed, shared freely between threads.
unsafe impl Send for Vocabulary {}
unsafe impl Sync for Vocabulary {}

impl Vocabulary {
    pub fn load(path: &Path) -> Result<Vocabulary> {
        let name = path.to_str().ok_or_else(|| Error::from("a path that is not UTF-8"))?;
        let name = CString::new(name)?;
        let mut loaded = std::ptr::null_mut();
        let mut error = sys::rankfeed_builder_error {
            struct_size: size_of::<sys::rankfeed_builder_error>() as u32,
            code: 0,
            byte_offset: 0,
            message: [0; 496],
        };
        let status = unsafe { sys::rankfeed_load(name.as_ptr(), std::ptr::null(), &mut loaded, &mut error) };
        if status == sys::RANKFEED_OK {
            return Ok(Vocabulary { loaded });
        }
        let message = unsafe { CStr::from_ptr(error.message.as_ptr()) };
        Err(Error::from(message.to_string_lossy().into_owned()))
    }

    pub fn model(&self) -> *const sys::rankfeed_model {
        unsafe { sys::rankfeed_loaded_model(self.loaded) }
    }

    pub fn info(&self) -> sys::rankfeed_model_info {
        let mut info: sys::rankfeed_model_info = unsafe { std::mem::zeroed() };
        info.struct_size = size_of::<sys::rankfeed_model_info>() as u32;
        let status = unsafe { sys::rankfeed_model_get_info(self.model(), &mut info) };
        assert_eq!(status, sys::RANKFEED_OK, "the declarations are those of another version");
        info
    }

    pub fn piece(&self, id: u32) -> Option<String> {
        let mut data: *const c_char = std::ptr::null();
        let mut size = 0;
        let status = unsafe { sys::rankfeed_model_id_to_piece(self.model(), id, &mut data, &mut size) };
        if status != sys::RANKFEED_OK {
            return None;
        }
        let bytes = if size == 0 { &[][..] } else { unsafe { std::slice::from_raw_parts(data.cast::<u8>(), size) } };
        Some(String::from_utf8_lossy(bytes).into_owned())
    }

    pub fn id(&self, piece: &str) -> Option<u32> {
        let id = unsafe { sys::rankfeed_model_piece_to_id(self.model(), piece.as_ptr().cast(), piece.len()) };
        u32::try_from(id).ok()
    }
}

impl Drop for Vocabulary {
    fn drop(&mut self) {
        unsafe { sys::rankfeed_loaded_free(self.loaded) }
    }
}

/// The tokens of one text, without those of the template.
#[derive(Default)]
pub(crate) struct Tokens {
    pub ids: Vec<i32>,
    pub begin: Vec<u32>,
    pub end: Vec<u32>,
}

/// One thread at a time; its memory grows with the longest text.
pub(crate) struct Encoder {
    vocabulary: Arc<Vocabulary>,
    scratch: Block,
    encoder: *mut sys::rankfeed_encoder,
    max_text_bytes: u32,
}

// It is used by whoever holds it.
unsafe impl Send for Encoder {}

const SMALLEST: u32 = 16 << 10; // bytes of text
const CACHE: u32 = 4 << 20; // as the C++ wrapper's

impl Encoder {
    pub fn new(vocabulary: Arc<Vocabulary>) -> Result<Encoder> {
        let (scratch, encoder) = Encoder::make(&vocabulary, SMALLEST)?;
        Ok(Encoder { vocabulary, scratch, encoder, max_text_bytes: SMALLEST })
    }

    fn make(vocabulary: &Vocabulary, max_text_bytes: u32) -> Result<(Block, *mut sys::rankfeed_encoder)> {
        let limits = sys::rankfeed_limits {
            struct_size: size_of::<sys::rankfeed_limits>() as u32,
            max_text_bytes,
            with_offsets: 1,
            cache_bytes: CACHE,
            max_stretch_bytes: 0,
        };
        let mut need = sys::rankfeed_mem_req { size: 0, alignment: 64 };
        let model = vocabulary.model();
        check(unsafe { sys::rankfeed_encoder_mem_req(model, &limits, &mut need) }, "encoder")?;
        let scratch = Block::new(need);
        let mut encoder = std::ptr::null_mut();
        let status =
            unsafe { sys::rankfeed_encoder_init(model, &limits, scratch.data(), scratch.size(), &mut encoder) };
        check(status, "encoder")?;
        Ok((scratch, encoder))
    }

    fn reserve(&mut self, bytes: usize) -> Result<()> {
        if bytes <= self.max_text_bytes as usize {
            return Ok(());
        }
        let most = unsafe { sys::rankfeed_max_text_bytes(self.vocabulary.model()) };
        if bytes > most as usize {
            return Err(Error::from(format!("a text has {bytes} bytes; the limit of the vocabulary is {most}")));
        }
        let bytes = (bytes as u32).checked_next_power_of_two().unwrap_or(most).min(most);
        let (scratch, encoder) = Encoder::make(&self.vocabulary, bytes)?;
        self.scratch = scratch;
        self.encoder = encoder;
        self.max_text_bytes = bytes;
        Ok(())
    }

    pub fn encode(&mut self, text: &str, flags: u32) -> Result<Tokens> {
        self.reserve(text.len())?;
        let options = sys::rankfeed_encode_options {
            struct_size: size_of::<sys::rankfeed_encode_options>() as u32,
            flags,
            sp_extra: [0; 8],
        };
        let mut tokens = Tokens::default();
        let mut capacity = text.len() / 2 + 16;
        loop {
            tokens.ids.resize(capacity, 0);
            tokens.begin.resize(capacity, 0);
            tokens.end.resize(capacity, 0);
            let mut io = sys::rankfeed_encoding {
                struct_size: size_of::<sys::rankfeed_encoding>() as u32,
                capacity: u32::try_from(capacity)?,
                input_ids: tokens.ids.as_mut_ptr(),
                offset_begin: tokens.begin.as_mut_ptr(),
                offset_end: tokens.end.as_mut_ptr(),
                special_tokens_mask: std::ptr::null_mut(),
                token_type_ids: std::ptr::null_mut(),
                count: 0,
            };
            let text = sys::rankfeed_text { data: text.as_ptr().cast(), size: text.len() };
            let status = unsafe { sys::rankfeed_encode(self.encoder, text, &options, &mut io) };
            let count = io.count as usize;
            if status == sys::RANKFEED_E_OUTPUT_SIZE && count > capacity {
                capacity = count;
                continue;
            }
            check(status, "text")?;
            tokens.ids.truncate(count);
            tokens.begin.truncate(count);
            tokens.end.truncate(count);
            return Ok(tokens);
        }
    }

    pub fn decode(&mut self, ids: &[i32], flags: u32) -> Result<String> {
        self.reserve(ids.len())?;
        let mut text: Vec<u8> = vec![0; ids.len() * 8 + 64];
        loop {
            let mut size = 0;
            let status = unsafe {
                sys::rankfeed_decode(
                    self.encoder,
                    ids.as_ptr(),
                    ids.len(),
                    flags,
                    text.as_mut_ptr().cast(),
                    text.len(),
                    &mut size,
                )
            };
            if status == sys::RANKFEED_E_OUTPUT_SIZE && size > text.len() {
                text.resize(size, 0);
                continue;
            }
            check(status, "ids")?;
            text.truncate(size);
            return Ok(String::from_utf8_lossy(&text).into_owned());
        }
    }
}
