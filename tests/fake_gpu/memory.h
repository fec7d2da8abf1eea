// SPDX-License-Identifier: MIT
// memory.h: memory of the fake devices. Every allocation lies between pages that nobody may touch, is
// poisoned, and stays reserved, unreadable, after its free. Page-locked memory has two addresses:
// the program's, which is made read-only while a copy from it is pending and unreadable while a
// copy to it is, and the device's.
#ifndef RANKFEED_TESTS_FAKE_GPU_MEMORY_H_
#define RANKFEED_TESTS_FAKE_GPU_MEMORY_H_

#include <cstddef>

#include "fake_gpu/device.h"

namespace fake_gpu {

Code Malloc(size_t bytes, void** out);  // of the current device
Code Free(void* memory);
Code HostAlloc(size_t bytes, void** out);
Code HostFree(void* memory);
Code HostDevicePointer(void* host, void** out);

// An asynchronous copy between any two memories.
Code CopyAsync(void* dst, const void* src, size_t bytes, Stream* stream);

// Fails a check unless [at, at + bytes) is inside memory that the device may touch.
bool DeviceMayTouch(const void* at, size_t bytes, int device, const char* what);

// Around the device's own work, where device memory is hidden from the host.
void ShowDeviceMemory(bool show);

void ForgetMemory();
// Checks what is left: allocations, and canaries of those alive.
void CheckLeftMemory();
void InstallFaultHandler();

}  // namespace fake_gpu

#endif  // RANKFEED_TESTS_FAKE_GPU_MEMORY_H_
