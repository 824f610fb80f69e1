/* SPDX-License-Identifier: Apache-2.0 */
/* Frames as a window's raw stacks hold them, before symbols: eight bytes that
 * stay true when the process has gone.
 *
 *   kernel address          as it is (the top bit is set, top byte 0xff)
 *   file:  0xC in the top four bits, 20 bits of image, 40 bits of file offset
 *   vdso:  0xD in the top four bits, offset
 *   cut                     the stack goes on, but nobody knows where
 *   other user address      as it is: JIT code, or nothing mapped there
 *
 * A frame that is a return address has been moved one byte back, into the call
 * it returns from, which may be the last instruction of its function. */
#ifndef GPC_SOURCE_FRAMES_H
#define GPC_SOURCE_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "proc/space.h"
#include "sym/images.h"

#define GPC_RAW_KIND (UINT64_C(0xF) << 60)
#define GPC_RAW_FILE (UINT64_C(0xC) << 60)
#define GPC_RAW_VDSO (UINT64_C(0xD) << 60)
/* Beside the collectors' frames, GPC_FRAME_TAG | number. */
#define GPC_RAW_CUT         (UINT64_C(0xE1) << 56)
#define GPC_RAW_KERNEL      (UINT64_C(0xF) << 60)
#define GPC_RAW_OFFSET_BITS 40
#define GPC_RAW_OFFSET_MAX  ((UINT64_C(1) << GPC_RAW_OFFSET_BITS) - 1)
#define GPC_RAW_IMAGE_MAX   GPC_IMAGES_MAX

static inline uint64_t gpc_raw_of(const struct gpc_area *area, uint64_t address)
{
	uint64_t offset;

	if (!area)
		return address;
	offset = address - area->start + area->offset;
	if (offset > GPC_RAW_OFFSET_MAX)
		return address;
	if (area->kind == GPC_AREA_VDSO)
		return GPC_RAW_VDSO | offset;
	if (area->kind != GPC_AREA_FILE || !area->image || area->image > GPC_RAW_IMAGE_MAX)
		return address;
	return GPC_RAW_FILE | (uint64_t)area->image << GPC_RAW_OFFSET_BITS | offset;
}

static inline uint32_t gpc_raw_image(uint64_t raw)
{
	return (uint32_t)(raw >> GPC_RAW_OFFSET_BITS) & GPC_RAW_IMAGE_MAX;
}

static inline uint64_t gpc_raw_offset(uint64_t raw)
{
	return raw & GPC_RAW_OFFSET_MAX;
}

#endif
