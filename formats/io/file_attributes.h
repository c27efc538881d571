/* SPDX-License-Identifier: Apache-2.0 */
/* file_attributes.h - copies owner, mode, ACL and attributes to a file that replaces another. */
#ifndef FORMATS_FILE_ATTRIBUTES_H
#define FORMATS_FILE_ATTRIBUTES_H

#include "formats/io/output_path.h"

/* Copies user.* attributes, SELinux label, owner, ACL and mode from found->file to the temporary
 * `file`, as far as the system allows it. No user has more access at any moment than to the file
 * that was found: if the group or the ACL cannot be kept, permissions are removed. setuid and
 * setgid stay where a write into the file would leave them: root's write, to a file of the same
 * owner. False with errno. */
bool file_attributes_copy(const struct output_path *found, int file);

#endif
