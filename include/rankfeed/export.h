/* SPDX-License-Identifier: MIT
 * rankfeed/export.h: symbol visibility and C linkage for every public header. */
#ifndef RANKFEED_EXPORT_H_
#define RANKFEED_EXPORT_H_

#if defined(__GNUC__) || defined(__clang__)
#define RANKFEED_API __attribute__((visibility("default")))
#else
#define RANKFEED_API
#endif

#ifdef __cplusplus
#define RANKFEED_BEGIN_C extern "C" {
#define RANKFEED_END_C }
#else
#define RANKFEED_BEGIN_C
#define RANKFEED_END_C
#endif

#endif /* RANKFEED_EXPORT_H_ */
