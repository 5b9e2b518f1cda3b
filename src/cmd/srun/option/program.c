/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/option/program.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"

bool program_is_there(const char *path)
{
    struct stat st;

    return access(path, X_OK) == 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

char *program_find(const char *name, const char *work_dir)
{
    const char *path = getenv("PATH");

    if (strchr(name, '/') != NULL)
        return work_dir != NULL ? path_absolute(name, work_dir) : mem_strdup(name);
    while (path != NULL && *path != '\0') {
        size_t len = strcspn(path, ":");
        char *full = mem_printf("%.*s/%s", (int)len, path, name);

        if (program_is_there(full))
            return full;
        free(full);
        path += len + (path[len] == ':');
    }
    char *here = work_dir != NULL ? path_absolute(name, work_dir) : mem_strdup(name);
    if (program_is_there(here))
        return here;
    free(here);
    return mem_strdup(name);
}
