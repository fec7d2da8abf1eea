// SPDX-License-Identifier: MIT
// The C API through cgo, without helpers: go run ffi.go IMAGE TEXT
package main

/*
#include <stdlib.h>
#include <rankfeed/rankfeed.h>
*/
import "C"

import (
	"fmt"
	"os"
	"unsafe"
)

func check(status C.rankfeed_status) {
	if status != C.RANKFEED_OK {
		panic(C.GoString(C.rankfeed_status_name(status)))
	}
}

func take(need C.rankfeed_mem_req) unsafe.Pointer {
	return C.aligned_alloc(need.alignment, (need.size+need.alignment-1)&^(need.alignment-1))
}

func main() {
	path, text := C.CString(os.Args[1]), C.CString(os.Args[2])
	var image C.rankfeed_mapping
	check(C.rankfeed_image_map(path, &image, nil))
	need := C.rankfeed_model_mem_req()
	var model *C.rankfeed_model
	check(C.rankfeed_model_open(image.data, image.size, 0, take(need), need.size, &model, nil))
	limits := C.rankfeed_limits{max_text_bytes: 4096}
	limits.struct_size = C.uint32_t(unsafe.Sizeof(limits))
	check(C.rankfeed_encoder_mem_req(model, &limits, &need))
	var encoder *C.rankfeed_encoder
	check(C.rankfeed_encoder_init(model, &limits, take(need), need.size, &encoder))
	options := C.rankfeed_encode_options{flags: C.RANKFEED_ADD_SPECIAL_TOKENS}
	options.struct_size = C.uint32_t(unsafe.Sizeof(options))
	ids := (*[256]C.int32_t)(C.malloc(256 * 4))
	io := C.rankfeed_encoding{capacity: 256, input_ids: &ids[0]}
	io.struct_size = C.uint32_t(unsafe.Sizeof(io))
	check(C.rankfeed_encode(encoder, C.rankfeed_text{text, C.size_t(len(os.Args[2]))}, &options, &io))
	for i := 0; i < int(io.count); i++ {
		fmt.Print(ids[i], " ")
	}
	fmt.Println()
	C.rankfeed_image_unmap(&image)
}
