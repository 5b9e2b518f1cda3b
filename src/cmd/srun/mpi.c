/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/mpi.h"

#include <stdio.h>
#include <string.h>

#define MPI_DEFAULT "pmi2" /* costs a task nothing that does not use it */

static const char *const kinds[] = {"none", "pmi1", "pmi2"};
#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

int mpi_choose(const char *given, const char **kind, struct err *err)
{
    if (given == NULL)
        given = MPI_DEFAULT;
    for (size_t i = 0; i < KIND_COUNT; i++)
        if (strcmp(given, kinds[i]) == 0) {
            *kind = kinds[i];
            return 0;
        }
    return err_set(err, -ERR_PARSE, "Invalid MPI type '%s', --mpi=list for acceptable types",
                   given);
}

void mpi_list(void)
{
    puts("MPI plugin types are...");
    for (size_t i = 0; i < KIND_COUNT; i++)
        printf("\t%s\n", kinds[i]);
}
