/* SPDX-License-Identifier: Apache-2.0 */
/* simt_symbols.cc - see simt_symbols.h.
 *
 * A __shared__ variable is a `static` variable of a function here. To poison it before each block,
 * it must be found. It cannot have a section of its own: GCC refuses to put the variables of
 * templates and of plain functions into one section. But its symbol identifies it. In the Itanium
 * C++ ABI the name of a function's variable begins with _ZZ. A variable without an initial value is
 * in .bss. And device functions have their scope in their names: thread_, warp_, block_ or _kernel.
 * So such a function must not have other zero-initialized static variables.
 */
#include "simt_symbols.h"

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

int take_base(struct dl_phdr_info *info, size_t, void *base)
{
    *(uintptr_t *)base = info->dlpi_addr;
    return 1; /* the first one is the program */
}

bool is_shared_variable(const char *name)
{
    /* The standard library may be part of the program, and has names with "thread" too. */
    for (const char *library : {"_ZZNSt", "_ZZNKSt", "_ZZSt", "_ZZN9__gnu_cxx", "_ZZNK9__gnu_cxx"})
        if (strncmp(name, library, strlen(library)) == 0)
            return false;
    for (const char *scope : {"_kernel", "block_", "warp_", "thread_"})
        if (strstr(name, scope) != nullptr)
            return strncmp(name, "_ZZ", 3) == 0;
    return false;
}

/* A 64-bit ELF file whose sections were checked to lie inside it. Names point into it. */
class elf_file
{
  public:
    explicit elf_file(const char *path);
    ~elf_file()
    {
        if (map_ != nullptr)
            munmap(map_, bytes_);
    }
    elf_file(const elf_file &) = delete;
    elf_file &operator=(const elf_file &) = delete;

    /* Calls use(symbol, name) for each symbol of the type (STT_FUNC, STT_OBJECT). */
    template <class Use>
    void for_each_symbol(unsigned type, Use use) const;
    bool in_bss(const Elf64_Sym &symbol) const
    {
        const Elf64_Shdr *where = section(symbol.st_shndx);
        return where != nullptr && where->sh_type == SHT_NOBITS &&
               strcmp(text(section(name_section_), where->sh_name), ".bss") == 0;
    }

  private:
    template <class T>
    const T *at(size_t offset, size_t count) const
    {
        if (map_ == nullptr || offset > bytes_ || count > (bytes_ - offset) / sizeof(T))
            return nullptr;
        return (const T *)((const char *)map_ + offset);
    }
    const Elf64_Shdr *section(size_t index) const
    {
        return sections_ != nullptr && index < section_count_ ? sections_ + index : nullptr;
    }
    const char *text(const Elf64_Shdr *strings, size_t offset) const
    {
        const char *table =
            strings == nullptr ? nullptr : at<char>(strings->sh_offset, strings->sh_size);
        const bool ends = table != nullptr && offset < strings->sh_size &&
                          memchr(table + offset, 0, strings->sh_size - offset) != nullptr;
        return ends ? table + offset : "";
    }

    void *map_ = nullptr;
    size_t bytes_ = 0;
    const Elf64_Shdr *sections_ = nullptr;
    size_t section_count_ = 0, name_section_ = 0;
};

elf_file::elf_file(const char *path)
{
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (descriptor < 0)
        return;
    if (fstat(descriptor, &status) == 0 && status.st_size > 0) {
        bytes_ = (size_t)status.st_size;
        map_ = mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (map_ == MAP_FAILED)
            map_ = nullptr;
    }
    close(descriptor);
    const Elf64_Ehdr *header = at<Elf64_Ehdr>(0, 1);
    if (header == nullptr || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64)
        return;
    sections_ = at<Elf64_Shdr>(header->e_shoff, header->e_shnum);
    section_count_ = header->e_shnum;
    name_section_ = header->e_shstrndx;
}

template <class Use>
void elf_file::for_each_symbol(unsigned type, Use use) const
{
    for (size_t s = 0; sections_ != nullptr && s < section_count_; s++) {
        if (sections_[s].sh_type != SHT_SYMTAB)
            continue;
        const size_t count = sections_[s].sh_size / sizeof(Elf64_Sym);
        const Elf64_Sym *table = at<Elf64_Sym>(sections_[s].sh_offset, count);
        const Elf64_Shdr *strings = section(sections_[s].sh_link);
        for (size_t i = 0; table != nullptr && i < count; i++)
            if (ELF64_ST_TYPE(table[i].st_info) == type)
                use(table[i], text(strings, table[i].st_name));
    }
}

uintptr_t program_base()
{
    uintptr_t base = 0;
    dl_iterate_phdr(take_base, &base);
    return base;
}

const char program_path[] = "/proc/self/exe";

std::vector<simt_variable> find_shared_variables()
{
    const uintptr_t base = program_base();
    const class elf_file program(program_path);
    std::vector<simt_variable> found;
    program.for_each_symbol(STT_OBJECT, [&](const Elf64_Sym &symbol, const char *name) {
        if (is_shared_variable(name) && program.in_bss(symbol))
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
    const uintptr_t base = program_base();
    elf_file(program_path)
        .for_each_symbol(STT_FUNC, [&](const Elf64_Sym &symbol, const char *name) {
            if (base + symbol.st_value != (uintptr_t)address)
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
