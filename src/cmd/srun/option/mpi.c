/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "cmd/srun/option/mpi.h"
#include "cmd/srun/option/names.h"
#include "cmd/srun/option/say.h"
#include "launch/libs.h"

#define MPI_VERSION_MAX 32

extern char **environ;

static const char *const kinds[] = {"none", "pmi1", "pmi2", "pmix", "pmix_v4", "pmix_v5"};
#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))
#define EVERYWHERE 3 /* number of kinds that every host supports */

int mpi_choose(const char *given, const char *by_default, const char **kind, struct err *err)
{
    const char *wanted = given != NULL ? given : by_default != NULL ? by_default : "none";

    for (size_t i = 0; i < KIND_COUNT; i++)
        if (strcmp(wanted, kinds[i]) == 0) {
            *kind = kinds[i];
            return 0;
        }
    return err_set(err, -ERR_PARSE, "Invalid MPI type '%s', --mpi=list for acceptable types",
                   wanted);
}

/* Gets the first line of the program's output with this operand; false: the program failed. */
static bool ask_program(const char *path, const char *word, char *line, size_t size)
{
    char *const argv[] = {(char *)path, (char *)word, NULL};
    posix_spawn_file_actions_t actions;
    int ends[2], status = -1;
    ssize_t n = 0;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (posix_spawn(&pid, path, &actions, NULL, argv, environ) != 0)
        pid = -1;
    close(ends[1]);
    if (pid > 0) {
        n = read(ends[0], line, size - 1);
        waitpid(pid, &status, 0);
    }
    close(ends[0]);
    posix_spawn_file_actions_destroy(&actions);
    line[n > 0 ? n : 0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    return pid > 0 && status == 0 && *line != '\0';
}

/* The version of the libpmix that slurmstepd-pmix finds on this host, such as "4.2.2"; false: none.
 */
static bool find_pmix_version(char version[MPI_VERSION_MAX])
{
    _cleanup_free_ char *prefix = path_prefix();
    _cleanup_free_ char *path = mem_printf("%s/sbin/slurmstepd-pmix", prefix != NULL ? prefix : "");

    return ask_program(path, "--libpmix", version, MPI_VERSION_MAX);
}

void mpi_list(void)
{
    char version[MPI_VERSION_MAX];

    puts("MPI plugin types are...");
    for (size_t i = 0; i < EVERYWHERE; i++)
        printf("\t%s\n", kinds[i]);
    if (!find_pmix_version(version))
        return;
    puts("\tpmix");
    printf("specific pmix plugin versions available: pmix_v%.*s\n", (int)strcspn(version, "."),
           version);
}

#define SCAN_MAX (1ull << 30) /* maximum bytes of a file that are searched */
#define MISSING_TOLD 5

enum pmi { PMI_NONE, PMI_ONE, PMI_TWO, PMI_X, PMI_SLURM, PMI_MPIRUN };

static const struct {
    const char *looks_for;
    const char *kind; /* value of --mpi; NULL: unsupported */
} pmis[] = {
    [PMI_NONE] = {"nothing", "none"},
    [PMI_ONE] = {"PMI-1", "pmi2"},
    [PMI_TWO] = {"PMI-2", "pmi2"},
    [PMI_X] = {"PMIx", "pmix"},
    [PMI_SLURM] = {"Slurm's own PMI-1, by libpmi.so", NULL},
    [PMI_MPIRUN] = {"mpirun: it is older than PMIx", NULL},
};

/* One MPI implementation: recognised by a library's name, and by a text in it if others use that
 * name. */
struct family {
    const char *name, *library, *text;
    const char *with; /* another library that it then needs; NULL: none */
    enum pmi pmi;
};

static const struct family families[] = {
    {"Open MPI 5", "libmpi.so.40", NULL, "libopen-pal.so.80", PMI_X},
    {"Open MPI 4", "libmpi.so.40", NULL, NULL, PMI_X},
    {"Open MPI 2", "libmpi.so.20", NULL, NULL, PMI_X},
    {"Open MPI 1", "libmpi.so.12", NULL, "libopen-rte.so.", PMI_MPIRUN},
    {"Intel MPI", "libmpi.so.12", "Intel(R) MPI Library", NULL, PMI_ONE},
    {"MVAPICH", "libmpi.so.", "MVAPICH", NULL, PMI_ONE},
    {"MVAPICH", "libmpich.so.", "MVAPICH", NULL, PMI_ONE},
    {"Cray MPICH", "libmpi_", "CRAY MPICH", NULL, PMI_ONE},
    {"MPICH", "libmpi.so.", "MPICH Version", NULL, PMI_ONE},
    {"MPICH", "libmpich.so.", NULL, NULL, PMI_ONE},
};

/* Texts in programs that are linked statically with MPI. The first letter is left out, so that
 * srun's own program does not contain the text. */
static const struct {
    struct family family;
    char first;
    const char *rest;
} built_in[] = {
    {{"Open MPI", NULL, NULL, NULL, PMI_X}, 'O', "pen MPI v%d.%d.%d"},
    {{"MVAPICH", NULL, NULL, NULL, PMI_ONE}, 'M', "VAPICH2 Version:"},
    {{"MPICH", NULL, NULL, NULL, PMI_ONE}, 'M', "PICH Version:\t%s"},
};

/* Whether the text is in the file. */
static bool has_text(const char *path, const char *text)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    static char chunk[1 << 16];
    size_t len = strlen(text), kept = 0;
    uint64_t total = 0;
    ssize_t n;

    while (fd >= 0 && total < SCAN_MAX && (n = read(fd, chunk + kept, sizeof(chunk) - kept)) > 0) {
        size_t filled = kept + (size_t)n;

        total += (size_t)n;
        if (memmem(chunk, filled, text, len) != NULL)
            return true;
        kept = filled < len ? filled : len - 1;
        memmove(chunk, chunk + filled - kept, kept);
    }
    return false;
}

static bool is_family(const struct family *f, const struct libs *libs, const struct lib **by)
{
    const struct lib *lib = libs_get(libs, f->library);

    if (lib == NULL || (f->with != NULL && libs_get(libs, f->with) == NULL) ||
        (f->text != NULL && (lib->path == NULL || !has_text(lib->path, f->text))))
        return false;
    *by = lib;
    return true;
}

static const struct family *find_family(const struct libs *libs, const struct lib **by)
{
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
        if (is_family(&families[i], libs, by))
            return &families[i];
    *by = libs->list.data;
    for (size_t i = 0; i < sizeof(built_in) / sizeof(built_in[0]); i++) {
        char text[64];

        snprintf(text, sizeof(text), "%c%s", built_in[i].first, built_in[i].rest);
        if (has_text((*by)->path, text))
            return &built_in[i].family;
    }
    return NULL;
}

/* A PMI library that the MPI is linked with says more than the MPI's name. */
static enum pmi find_pmi(const struct libs *libs, const struct family *f, const struct lib *mpi)
{
    if (libs_get(libs, "libpmix.so.") != NULL)
        return PMI_X;
    if (libs_get(libs, "libpmi2.so.") != NULL)
        return PMI_TWO;
    if (libs_get(libs, "libpmi.so.") != NULL)
        return libs_get(libs, "libslurm") != NULL ? PMI_SLURM : PMI_ONE;
    if (f == NULL)
        return PMI_NONE;
    if (f->pmi == PMI_ONE && mpi->path != NULL && has_text(mpi->path, "fullinit"))
        return PMI_TWO; /* a command of the PMI-2 protocol */
    return f->pmi;
}

/* Reports missing libraries; returns whether all were found. */
static bool tell_missing(const struct libs *libs)
{
    unsigned count = 0;

    for (size_t i = 0; i < libs->list.len; i++) {
        const struct lib *lib = &libs->list.data[i];

        if (lib->path == NULL && count++ < MISSING_TOLD)
            printf("missing: %s, which %s needs\n", lib->name, libs->list.data[lib->by].name);
    }
    if (count > MISSING_TOLD)
        printf("missing: %u more\n", count - MISSING_TOLD);
    return count == 0;
}

static bool tell_served(enum pmi pmi)
{
    char version[MPI_VERSION_MAX];

    if (pmi == PMI_NONE)
        return true;
    if (pmis[pmi].kind == NULL) {
        puts("served here: no");
        return false;
    }
    if (pmi != PMI_X) {
        puts("served here: yes");
        return true;
    }
    if (find_pmix_version(version)) {
        printf("served here: yes, by libpmix %s\n", version);
        return true;
    }
    puts("served here: no; it needs libpmix 4 or 5 (Debian: package libpmix2) here and on the "
         "nodes, and slurmstepd-pmix");
    return false;
}

static int print_findings(const char *program, const struct libs *libs)
{
    const struct lib *mpi = NULL;
    const struct family *f = find_family(libs, &mpi);
    enum pmi pmi = find_pmi(libs, f, mpi);
    bool fit;

    if (f == NULL)
        printf("%s: no MPI%s\n", program, pmi == PMI_NONE ? "" : ", but a library of PMI");
    else if (f->library != NULL)
        printf("%s: %s (%s)\n", program, f->name, mpi->path != NULL ? mpi->path : mpi->name);
    else
        printf("%s: %s, built in\n", program, f->name);
    printf("looks for: %s\n", pmis[pmi].looks_for);
    fit = tell_missing(libs);
    fit = tell_served(pmi) && fit;
    if (pmi == PMI_SLURM)
        puts("use: another library: build the MPI with PMI-2 or PMIx");
    else if (pmi == PMI_MPIRUN)
        puts("use: its own mpirun, inside an allocation");
    else
        printf("use: srun --mpi=%s %s\n", pmis[pmi].kind, program);
    return fit ? 0 : 1;
}

/* Reports why a file is not a program for this machine. */
static void tell_why_not(const char *path, const struct err *why)
{
    char head[2] = "";
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd >= 0 && read(fd, head, 2) == 2 && memcmp(head, "#!", 2) == 0)
        say_error("%s: a script: ask about the program that it runs, or about the library by "
                  "which its interpreter does MPI (of mpi4py: MPI.*.so)",
                  path);
    else
        say_error("%s: %s", path, why->text);
}

int doctor_run(const char *program)
{
    _cleanup_free_ char *path = program_find(program, NULL);
    struct libs libs = {0};
    struct err err = {0};
    int status = 1;

    if (libs_find(path, &libs, &err) < 0)
        tell_why_not(path, &err);
    else
        status = print_findings(program, &libs);
    libs_done(&libs);
    return status;
}
