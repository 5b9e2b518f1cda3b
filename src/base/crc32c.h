/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CRC-32C (Castagnoli), which protects stored records against silent damage. Start with 0. */
#pragma once

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(uint32_t crc, const void *data, size_t len);

/* The same without the processor's CRC instruction. */
uint32_t crc32c_portable(uint32_t crc, const void *data, size_t len);
