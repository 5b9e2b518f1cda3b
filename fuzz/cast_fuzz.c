/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Input: a compressed block of a file as another node sends it: the claimed length, then the bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cast/block.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *out = NULL;
    uint32_t said;

    if (size < sizeof(said))
        return 0;
    memcpy(&said, data, sizeof(said));
    if (said > CAST_BLOCK_MAX)
        return 0;
    out = mem_alloc(said ? said : 1);
    cast_block_unpack(data + sizeof(said), size - sizeof(said), out, said, NULL);
    return 0;
}
