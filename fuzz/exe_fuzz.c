/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Input: a program for srun --mpi=doctor. For any input, reading it terminates. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "launch/exe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct exe e = {0};
    int fd = memfd_create("exe", MFD_CLOEXEC);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    if (exe_read_fd(fd, &e, NULL) == 0)
        for (size_t i = 0; i < e.needed.len; i++)
            if (strlen(e.needed.data[i]) > size)
                abort();
    exe_done(&e);
    close(fd);
    return 0;
}
