/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/sbatch/input.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define CHUNK 65536

int input_read(int fd, const char *name, size_t max, struct str *text, struct err *err)
{
    for (;;) {
        str_reserve(text, CHUNK);
        ssize_t n = read(fd, text->data + text->len, CHUNK - 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(err, -errno, "Unable to read %s: %s", name, strerror(errno));
        if (n == 0 || text->len > max)
            return 0;
        text->len += (size_t)n;
        text->data[text->len] = 0;
    }
}
