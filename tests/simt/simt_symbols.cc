/* simt_symbols.cc - see simt_symbols.h.
 *
 * A __shared__ variable is a `static` one of a function here. To poison it before each block it
 * must be found; a section of its own cannot be had, as GCC refuses to put the variables of
 * templates and of plain functions into one section. But its symbol shows what it is: the Itanium
 * C++ ABI begins the name of a variable of a function with _ZZ, one without an initial value lies
 * in .bss, and device functions carry their scope in their names: thread_, warp_, block_ or
 * _kernel. So such a function must not keep other zero-initialised static variables.
 */
#include "simt_symbols.h"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <mutex>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace
{

struct function {
    uintptr_t address;
    std::string name;
};

struct symbols {
    std::vector<function> functions;
    std::vector<simt_variable> shared;
    symbols();
};

int take_base(struct dl_phdr_info *info, size_t, void *base)
{
    *(uintptr_t *)base = info->dlpi_addr;
    return 1; /* the first one is the program */
}

bool is_shared_variable(const char *name)
{
    /* The standard library may be part of the program, and speaks of threads, too. */
    for (const char *library : {"_ZZNSt", "_ZZNKSt", "_ZZSt", "_ZZN9__gnu_cxx", "_ZZNK9__gnu_cxx"})
        if (strncmp(name, library, strlen(library)) == 0)
            return false;
    for (const char *scope : {"_kernel", "block_", "warp_", "thread_"})
        if (strstr(name, scope) != nullptr)
            return strncmp(name, "_ZZ", 3) == 0;
    return false;
}

/* A file of 64-bit ELF, the sections of which were checked to lie inside it. */
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

    void read_symbols(uintptr_t base, struct symbols *symbols) const;

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
    bool in_bss(const Elf64_Sym &symbol) const
    {
        const Elf64_Shdr *where = section(symbol.st_shndx);
        return where != nullptr && where->sh_type == SHT_NOBITS &&
               strcmp(text(section(name_section_), where->sh_name), ".bss") == 0;
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

void elf_file::read_symbols(uintptr_t base, struct symbols *symbols) const
{
    for (size_t s = 0; sections_ != nullptr && s < section_count_; s++) {
        if (sections_[s].sh_type != SHT_SYMTAB)
            continue;
        const size_t count = sections_[s].sh_size / sizeof(Elf64_Sym);
        const Elf64_Sym *table = at<Elf64_Sym>(sections_[s].sh_offset, count);
        const Elf64_Shdr *strings = section(sections_[s].sh_link);
        for (size_t i = 0; table != nullptr && i < count; i++) {
            const char *name = text(strings, table[i].st_name);
            const unsigned type = ELF64_ST_TYPE(table[i].st_info);
            const uintptr_t address = base + table[i].st_value;
            if (type == STT_FUNC)
                symbols->functions.push_back({address, name});
            else if (type == STT_OBJECT && is_shared_variable(name) && in_bss(table[i]))
                symbols->shared.push_back({(unsigned char *)address, table[i].st_size});
        }
    }
}

symbols::symbols()
{
    uintptr_t base = 0;
    dl_iterate_phdr(take_base, &base);
    elf_file("/proc/self/exe").read_symbols(base, this);
}

std::once_flag program_read;
const struct symbols *program_symbols = nullptr;

/* Read when the first kernel starts: most runs of the program start none. */
const struct symbols &program()
{
    std::call_once(program_read, [] { program_symbols = new struct symbols(); });
    return *program_symbols;
}

} // namespace

std::string simt_function_name(const void *address)
{
    for (const function &function : program().functions) {
        if (function.address != (uintptr_t)address)
            continue;
        char *plain = abi::__cxa_demangle(function.name.c_str(), nullptr, nullptr, nullptr);
        const std::string name = plain != nullptr ? plain : function.name;
        free(plain);
        return name;
    }
    char text[32];
    snprintf(text, sizeof(text), "%p", address);
    return text;
}

const std::vector<simt_variable> &simt_shared_variables()
{
    return program().shared;
}
