/* SPDX-License-Identifier: Apache-2.0 */
/* simt_symbols.cc - see simt_launch.h.
 *
 * A __shared__ variable is a `static` variable of a function here. To poison it before each block,
 * it must be found. It cannot have a section of its own: GCC refuses to put the variables of
 * templates and of plain functions into one section. But its symbol identifies it. In the Itanium
 * C++ ABI the name of a function's variable begins with _ZZ. A variable without an initial value is
 * in .bss. And device functions have their scope in their names: thread_, warp_, block_ or _kernel.
 * So such a function must not have other zero-initialized static variables.
 */
#include "simt_launch.h"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace
{

uintptr_t program_base()
{
    uintptr_t base = 0;
    const auto take = [](struct dl_phdr_info *info, size_t, void *to) {
        *(uintptr_t *)to = info->dlpi_addr;
        return 1; /* the first one is the program */
    };
    dl_iterate_phdr(take, &base);
    return base;
}

/* True for a function of namespace std, or of one that begins with two underscores. Libraries that
 * are part of the program have names with "thread" too, those of sanitizers among them. */
bool is_of_library(const char *name)
{
    name += strncmp(name, "_ZZN", 4) == 0 ? 4 : 3;
    name += *name == 'K';
    return strncmp(name, "St", 2) == 0 || strncmp(name + strspn(name, "0123456789"), "__", 2) == 0;
}

bool is_shared_variable(const char *name)
{
    if (strncmp(name, "_ZZ", 3) != 0 || is_of_library(name))
        return false;
    for (const char *scope : {"_kernel", "block_", "warp_", "thread_"})
        if (strstr(name, scope) != nullptr)
            return true;
    return false;
}

/* Returns the program's file in memory, where it stays. */
const char *map_program()
{
    struct stat status;
    const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    void *map = MAP_FAILED;
    if (fstat(file, &status) == 0)
        map = mmap(nullptr, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (map == MAP_FAILED) {
        perror("simt: /proc/self/exe");
        abort();
    }
    close(file);
    return (const char *)map;
}

/* Calls use(symbol, name, section) for each symbol of the type (STT_FUNC, STT_OBJECT). `section` is
 * the name of the section that it is in. */
template <class Use>
void for_each_symbol(unsigned type, Use use)
{
    static const char *const file = map_program();
    const Elf64_Ehdr *const header = (const Elf64_Ehdr *)file;
    const Elf64_Shdr *const sections = (const Elf64_Shdr *)(file + header->e_shoff);
    const char *const section_names = file + sections[header->e_shstrndx].sh_offset;
    for (size_t s = 0; s < header->e_shnum; s++) {
        if (sections[s].sh_type != SHT_SYMTAB)
            continue;
        const Elf64_Sym *const symbols = (const Elf64_Sym *)(file + sections[s].sh_offset);
        const char *const names = file + sections[sections[s].sh_link].sh_offset;
        for (size_t i = 0; i < sections[s].sh_size / sizeof *symbols; i++)
            if (ELF64_ST_TYPE(symbols[i].st_info) == type && symbols[i].st_shndx < header->e_shnum)
                use(symbols[i], names + symbols[i].st_name,
                    section_names + sections[symbols[i].st_shndx].sh_name);
    }
}

std::vector<simt_variable> find_shared_variables()
{
    const uintptr_t base = program_base();
    std::vector<simt_variable> found;
    for_each_symbol(
        STT_OBJECT, [&](const Elf64_Sym &symbol, const char *name, const char *section) {
            if (is_shared_variable(name) && strcmp(section, ".bss") == 0)
                found.push_back({(unsigned char *)(base + symbol.st_value), symbol.st_size});
        });
    return found;
}

} // namespace

std::string simt_function_name(const void *address)
{
    char text[32];
    snprintf(text, sizeof(text), "%p", address);
    std::string found = text;
    const uintptr_t offset = (uintptr_t)address - program_base();
    for_each_symbol(STT_FUNC, [&](const Elf64_Sym &symbol, const char *name, const char *) {
        if (symbol.st_value != offset)
            return;
        char *plain = abi::__cxa_demangle(name, nullptr, nullptr, nullptr);
        found = plain != nullptr ? plain : name;
        free(plain);
    });
    return found;
}

/* Searched when the first kernel starts, because most runs of the program start none. */
const std::vector<simt_variable> &simt_shared_variables()
{
    static const std::vector<simt_variable> variables = find_shared_variables();
    return variables;
}
