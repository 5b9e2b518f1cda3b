/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs every file of the directories in the arguments through a fuzz target once, for builds
 * without libFuzzer. It uses no code of the project, so that it cannot share its defects. A target
 * fails by aborting; the driver fails if it finds no input.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *path)
{
    struct stat st;
    FILE *file = fopen(path, "rb");
    if (!file || fstat(fileno(file), &st) < 0) {
        perror(path);
        exit(1);
    }
    if (!S_ISREG(st.st_mode)) {
        fclose(file);
        return 0;
    }
    /* Allocates exactly the size of the input, so that a sanitizer detects a read past its end. */
    size_t size = (size_t)st.st_size;
    uint8_t *data = malloc(size ? size : 1);
    if (!data || fread(data, 1, size, file) != size) {
        perror(path);
        exit(1);
    }
    fclose(file);
    fprintf(stderr, "%s\n", path);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 1;
}

static int run_folder(const char *folder)
{
    struct dirent **entries;
    int runs = 0, count = scandir(folder, &entries, NULL, alphasort);
    if (count < 0) {
        perror(folder);
        exit(1);
    }
    for (int i = 0; i < count; i++) {
        char path[4096];
        int len = snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
        if (len > 0 && (size_t)len < sizeof(path))
            runs += run_file(path);
        free(entries[i]);
    }
    free(entries);
    return runs;
}

int main(int argc, char **argv)
{
    int runs = 0;
    LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    for (int i = 1; i < argc; i++)
        runs += run_folder(argv[i]);
    fprintf(stderr, "%d inputs\n", runs);
    return runs ? 0 : 1;
}
