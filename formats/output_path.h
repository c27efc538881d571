/* output_path.h - what the path of an output stands for. */
#ifndef FORMATS_OUTPUT_PATH_H
#define FORMATS_OUTPUT_PATH_H

/* The descriptor that a path of /dev or /proc names, or -1. */
int output_path_descriptor(const char *path);

/* The absolute path of the file that `path` names, which need not exist, with symbolic links
 * followed, malloc'd; NULL with errno. */
char *output_path_resolve(const char *path);

/* What keeps rename(2) from replacing the file of the resolved path, which is there and may be
 * written: "it is a mount point"; NULL if nothing is known to. */
const char *output_path_obstacle(const char *path);

#endif
