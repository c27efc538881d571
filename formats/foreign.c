/* foreign.c - the table of foreign files; see foreign.h.
 *
 * A magic has at least 4 bytes, so that numbers hardly begin so by chance; only gzip has 3. A file
 * whose magic is shorter, as that of pickle, is known by its name alone.
 */
#include "formats/foreign.h"

#include "formats/file_name.h"

#include <stdint.h>
#include <string.h>

static const struct foreign foreigners[] = {
    {"gzip", {".gz", ".tgz"}, "\x1f\x8b\x08", 0, "gzip -dc", true},
    {"bzip2", {".bz2", ".tbz2"}, "1AY&SY", 4, "bzip2 -dc", true},
    {"xz", {".xz", ".txz"}, "\3757zXZ", 0, "xz -dc", true},
    {"lzma", {".lzma"}, NULL, 0, "xz -dc --format=lzma", true},
    {"LZ4", {".lz4"}, "\x04\x22\x4d\x18", 0, "lz4 -dc", true},
    {"lzip", {".lz"}, "LZIP", 0, "lzip -dc", true},
    {"lzop", {".lzo"}, "\x89LZO", 0, "lzop -dc", true},
    {"Brotli", {".br"}, NULL, 0, "brotli -dc", true},
    {"Snappy", {".sz", ".snappy"}, NULL, 0, "snzip -dc", true},
    {"compress", {".z"}, NULL, 0, "gzip -dc", true},
    {"zip", {".zip", ".npz"}, "PK\x03\x04", 0, "unzip, for .npz too", false},
    {"7-Zip", {".7z"}, "7z\xbc\xaf\x27\x1c", 0, "7z x", false},
    {"RAR", {".rar"}, "Rar!\x1a\x07", 0, "unrar x", false},
    {"tar", {".tar"}, "ustar", 257, "tar -x", false},
    {"Parquet", {".parquet", ".pq"}, "PAR1", 0, NULL, false},
    {"Arrow", {".arrow", ".feather", ".ipc"}, "ARROW1", 0, NULL, false},
    {"Feather", {NULL}, "FEA1", 0, NULL, false},
    {"ORC", {".orc"}, NULL, 0, NULL, false},
    {"Avro", {".avro"}, "Obj\x01", 0, NULL, false},
    {"HDF5", {".h5", ".hdf5", ".hdf", ".nc"}, "\x89HDF\r\n\x1a\n", 0, NULL, false},
    {"NetCDF", {NULL}, "CDF\x01", 0, NULL, false},
    {"NetCDF", {NULL}, "CDF\x02", 0, NULL, false},
    {"MATLAB", {".mat"}, "MATLAB 5.0 MAT-file", 0, NULL, false},
    {"FITS", {".fits"}, "SIMPLE  =", 0, NULL, false},
    {"SQLite", {".sqlite", ".sqlite3", ".db"}, "SQLite format 3", 0, NULL, false},
    {"Excel", {".xls", ".xlsx", ".ods"}, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 0, NULL, false},
    {"pickle", {".pkl", ".pickle", ".joblib"}, NULL, 0, NULL, false},
    {"PyTorch", {".pt", ".pth", ".safetensors"}, NULL, 0, NULL, false},
    {"R", {".rds", ".rda", ".rdata"}, NULL, 0, NULL, false},
    {"JSON", {".json"}, NULL, 0, NULL, false},
    {"XML", {".xml", ".html"}, NULL, 0, NULL, false},
    {"YAML", {".yaml", ".yml"}, NULL, 0, NULL, false},
    {"PDF", {".pdf"}, "%PDF-", 0, NULL, false},
    {"PNG", {".png"}, "\x89PNG\r\n\x1a\n", 0, NULL, false},
    {"JPEG", {".jpg", ".jpeg"}, "JFIF", 6, NULL, false},
    {"JPEG", {NULL}, "Exif", 6, NULL, false},
    {"GIF", {".gif"}, "GIF8", 0, NULL, false},
    {"TIFF", {".tif", ".tiff"}, NULL, 0, NULL, false},
    {"RIFF", {".wav", ".avi", ".webp"}, "RIFF", 0, NULL, false},
    {"ELF",
     {NULL},
     "\x7f"
     "ELF",
     0,
     NULL,
     false},
};
static const size_t foreign_count = sizeof foreigners / sizeof foreigners[0];

bool foreign_begins_so(const struct foreign *foreign, const unsigned char *head, size_t bytes)
{
    const size_t length = foreign->magic ? strlen(foreign->magic) : SIZE_MAX;
    return bytes >= foreign->magic_offset && bytes - foreign->magic_offset >= length &&
           memcmp(head + foreign->magic_offset, foreign->magic, length) == 0;
}

const struct foreign *foreign_find_by_magic(const unsigned char *head, size_t bytes)
{
    for (size_t i = 0; i < foreign_count; i++)
        if (foreign_begins_so(&foreigners[i], head, bytes))
            return &foreigners[i];
    return NULL;
}

const struct foreign *foreign_find_by_name(const char *name, size_t length)
{
    for (size_t i = 0; i < foreign_count; i++)
        for (const char *const *extension = foreigners[i].extensions; *extension; extension++)
            if (file_name_has_extension(name, length, *extension))
                return &foreigners[i];
    return NULL;
}
