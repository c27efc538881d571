/* file_attributes.h - what a file that replaces another takes over from it. */
#ifndef FORMATS_FILE_ATTRIBUTES_H
#define FORMATS_FILE_ATTRIBUTES_H

#include "formats/output_path.h"

/* Gives `file`, which nobody else has yet, what belongs to the file that was found: user.*
 * attributes, SELinux label, owner, ACL and mode, as far as the system lets us. At no moment has
 * anybody more access than to the file that was found: where the group or the ACL cannot be kept,
 * those whom it concerns lose access. setuid and setgid stay where a write into the file would
 * leave them: root's write, to a file of the same owner. False with errno. */
bool file_attributes_copy(const struct output_path *found, int file);

#endif
