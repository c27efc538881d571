/* SPDX-License-Identifier: Apache-2.0 */
/* formats.c - the table of file formats; see format.h. docs/extending.md lists what a new format
 * needs. */
#include "formats/array/format.h"

#include "formats/codec/codec.h"

#include <stdint.h>
#include <string.h>

const struct format *const formats[] = {&format_raw, &format_npy, &format_text};
const size_t format_count = sizeof formats / sizeof formats[0];

const struct format *format_find(const char *name)
{
    for (size_t i = 0; i < format_count; i++)
        if (strcmp(formats[i]->name, name) == 0)
            return formats[i];
    return NULL;
}

/* Returns the key type with the name of the extension (".f64", ".float64"), or NULL. */
static const struct key_type *type_of_extension(const char *extension)
{
    for (size_t i = 0; i < KEY_TYPE_COUNT; i++)
        if (strcmp(key_types[i].name, extension + 1) == 0 ||
            strcmp(key_types[i].numpy_name, extension + 1) == 0)
            return &key_types[i];
    return NULL;
}

const struct format *format_find_by_name(const char *name, const struct key_type **type)
{
    size_t stem_length;
    codec_find_by_name(name, &stem_length);
    *type = NULL;
    for (size_t i = 0; i < format_count; i++)
        for (const char *const *extension = formats[i]->extensions; *extension; extension++)
            if (file_name_has_extension(name, stem_length, *extension)) {
                *type = type_of_extension(*extension);
                return formats[i];
            }
    return NULL;
}

/* ---- Foreign files ----
 *
 * A magic has at least 4 bytes, so that numbers rarely begin with it by chance; only gzip has 3. A
 * format with a shorter magic, or one of four letters after arbitrary bytes (DuckDB, DICOM), is
 * recognised only by its name. In a magic, '?' means any byte, and '~' a NUL. Pickles before
 * protocol 4 have a magic of 2 bytes; after it, the name of a module is recognised.
 */

static const struct foreign foreigners[] = {
    {"gzip", {".gz", ".tgz"}, "\x1f\x8b\x08", 0, "gzip -dc", FOREIGN_COMPRESSED},
    {"bzip2", {".bz2", ".tbz2"}, "BZh?1AY&SY", 0, "bzip2 -dc", FOREIGN_COMPRESSED},
    {"xz", {".xz", ".txz"}, "\3757zXZ", 0, "xz -dc", FOREIGN_COMPRESSED},
    {"lzma", {".lzma"}, NULL, 0, "xz -dc --format=lzma", FOREIGN_COMPRESSED},
    {"LZ4", {".lz4"}, "\x04\x22\x4d\x18", 0, "lz4 -dc", FOREIGN_COMPRESSED},
    {"lzip", {".lz"}, "LZIP", 0, "lzip -dc", FOREIGN_COMPRESSED},
    {"lzop", {".lzo"}, "\x89LZO", 0, "lzop -dc", FOREIGN_COMPRESSED},
    {"Brotli", {".br"}, NULL, 0, "brotli -dc", FOREIGN_COMPRESSED},
    {"Snappy", {".sz", ".snappy"}, "\xff\x06??sNaPpY", 0, "snzip -dc", FOREIGN_COMPRESSED},
    {"compress", {".z"}, NULL, 0, "gzip -dc", FOREIGN_COMPRESSED},
    {"zstd dictionary", {NULL}, "7\xa4\x30\xec", 0, NULL, FOREIGN_BINARY},
    {"zip", {".zip", ".npz"}, "PK\x03\x04", 0, "unzip, for .npz too", FOREIGN_BINARY},
    {"7-Zip", {".7z"}, "7z\xbc\xaf\x27\x1c", 0, "7z x", FOREIGN_BINARY},
    {"RAR", {".rar"}, "Rar!\x1a\x07", 0, "unrar x", FOREIGN_BINARY},
    {"tar", {".tar"}, "ustar", 257, "tar -x", FOREIGN_BINARY},
    {"Parquet", {".parquet", ".pq"}, "PAR1", 0, NULL, FOREIGN_BINARY},
    {"Arrow", {".arrow", ".arrows", ".feather", ".ipc"}, "ARROW1", 0, NULL, FOREIGN_BINARY},
    {"Arrow", {NULL}, "\xff\xff\xff\xff??~~\x10~~~~~\n~\f~", 0, NULL, FOREIGN_BINARY}, /* streams */
    {"Arrow", {NULL}, "\xff\xff\xff\xff??~~\4~~~\xf2\xff\xff\xff\x14~~~", 0, NULL, FOREIGN_BINARY},
    {"Feather", {NULL}, "FEA1", 0, NULL, FOREIGN_BINARY},
    {"ORC", {".orc"}, NULL, 0, NULL, FOREIGN_BINARY},
    {"Avro", {".avro"}, "Obj\x01", 0, NULL, FOREIGN_BINARY},
    {"HDF5", {".h5", ".hdf5", ".hdf", ".nc"}, "\x89HDF\r\n\x1a\n", 0, NULL, FOREIGN_BINARY},
    {"HDF5", {".jld2", ".h5ad", ".nc4"}, "HDF5-based Julia", 0, NULL, FOREIGN_BINARY},
    {"NetCDF", {NULL}, "CDF\x01", 0, NULL, FOREIGN_BINARY},
    {"NetCDF", {NULL}, "CDF\x02", 0, NULL, FOREIGN_BINARY},
    {"NetCDF", {NULL}, "CDF\x05", 0, NULL, FOREIGN_BINARY},
    {"GRIB", {".grib", ".grb", ".grib2"}, "GRIB", 0, NULL, FOREIGN_BINARY},
    {"MATLAB", {".mat"}, "MATLAB ?.? MAT-file", 0, NULL, FOREIGN_BINARY},
    {"FITS", {".fits"}, "SIMPLE  =", 0, NULL, FOREIGN_BINARY},
    {"SQLite", {".sqlite", ".sqlite3", ".db"}, "SQLite format 3", 0, NULL, FOREIGN_BINARY},
    {"Excel", {".xls", ".xlsx", ".ods"}, "\xd0\xcf\x11\xe0\xa1\xb1", 0, NULL, FOREIGN_BINARY},
    {"DuckDB", {".duckdb"}, NULL, 0, NULL, FOREIGN_BINARY},
    {"Stata", {".dta"}, "<stata_dta>", 0, NULL, FOREIGN_BINARY},
    {"SAS", {".sas7bdat"}, "\xc2\xea\x81\x60", 12, NULL, FOREIGN_BINARY},
    {"SAS", {".xpt"}, "HEADER RECORD*******", 0, NULL, FOREIGN_BINARY},
    {"SPSS", {".zsav"}, "$FL?@(#)", 0, NULL, FOREIGN_BINARY},
    {"ROOT", {".root"}, "root~", 0, NULL, FOREIGN_BINARY},
    {"BAM", {".bam", ".bcf", ".cram"}, NULL, 0, NULL, FOREIGN_BINARY},
    {"TFRecord", {".tfrecord", ".tfrecords"}, NULL, 0, NULL, FOREIGN_BINARY},
    {"MessagePack", {".msgpack"}, NULL, 0, NULL, FOREIGN_BINARY},
    {"DICOM", {".dcm"}, NULL, 0, NULL, FOREIGN_BINARY},
    {"NIfTI", {".nii"}, "n+1~", 344, NULL, FOREIGN_BINARY},
    {"NIfTI", {NULL}, "n+2~\r\n\x1a\n", 4, NULL, FOREIGN_BINARY},
    {"MRC", {".mrc"}, "MAP D?~~", 208, NULL, FOREIGN_BINARY},
    {"MRC", {NULL}, "MAP \x11\x11~~", 208, NULL, FOREIGN_BINARY},
    {"pickle", {".pkl", ".pickle", ".joblib"}, NULL, 0, NULL, FOREIGN_BINARY},
    {"pickle", {NULL}, "\200?cnumpy.", 0, NULL, FOREIGN_BINARY},
    {"pickle", {NULL}, "\200?cpandas.", 0, NULL, FOREIGN_BINARY},
    {"pickle", {NULL}, "\200\4\225?????~~~", 0, NULL, FOREIGN_BINARY}, /* a frame below 2^40 */
    {"pickle", {NULL}, "\200\5\225?????~~~", 0, NULL, FOREIGN_BINARY},
    {"PyTorch", {".pt", ".pth"}, NULL, 0, NULL, FOREIGN_BINARY},
    {"safetensors", {".safetensors"}, NULL, 0, NULL, FOREIGN_BINARY},
    {"GGUF", {".gguf"}, "GGUF", 0, NULL, FOREIGN_BINARY},
    {"R", {".rds", ".rda", ".rdata"}, NULL, 0, NULL, FOREIGN_BINARY},
    {"JSON", {".json"}, NULL, 0, NULL, FOREIGN_TEXT},
    {"XML", {".xml", ".html"}, NULL, 0, NULL, FOREIGN_TEXT},
    {"YAML", {".yaml", ".yml"}, NULL, 0, NULL, FOREIGN_TEXT},
    {"PDF", {".pdf"}, "%PDF-", 0, NULL, FOREIGN_BINARY},
    {"PNG", {".png"}, "\x89PNG\r\n\x1a\n", 0, NULL, FOREIGN_BINARY},
    {"JPEG", {".jpg", ".jpeg"}, "\xff\xd8\xff???JFIF", 0, NULL, FOREIGN_BINARY},
    {"JPEG", {NULL}, "\xff\xd8\xff???Exif", 0, NULL, FOREIGN_BINARY},
    {"Netpbm", {".pbm", ".pgm", ".ppm", ".pfm"}, NULL, 0, NULL, FOREIGN_BINARY},
    {"GIF", {".gif"}, "GIF8", 0, NULL, FOREIGN_BINARY},
    {"TIFF", {".tif", ".tiff"}, "II*~", 0, NULL, FOREIGN_BINARY},
    {"TIFF", {NULL}, "MM~*", 0, NULL, FOREIGN_BINARY},
    {"TIFF", {NULL}, "II+~\b~~~", 0, NULL, FOREIGN_BINARY},
    {"TIFF", {NULL}, "MM~+~\b~~", 0, NULL, FOREIGN_BINARY},
    {"LAS", {".las", ".laz"}, "LASF", 0, NULL, FOREIGN_BINARY},
    {"E57", {".e57"}, "ASTM-E57", 0, NULL, FOREIGN_BINARY},
    {"Shapefile", {".shp", ".shx"}, "~~\x27\n~~~~~~~~~~~~", 0, NULL, FOREIGN_BINARY},
    {"dBASE", {".dbf"}, NULL, 0, NULL, FOREIGN_BINARY},
    {"TrackVis", {".trk"}, "TRACK~", 0, NULL, FOREIGN_BINARY},
    {"BDF", {".bdf"}, "\377BIOSEMI", 0, NULL, FOREIGN_BINARY},
    {"EDF", {".edf"}, NULL, 0, NULL, FOREIGN_BINARY},
    {"miniSEED", {".mseed"}, NULL, 0, NULL, FOREIGN_BINARY},
    {"SAC", {".sac"}, NULL, 0, NULL, FOREIGN_BINARY},
    {"TDMS", {".tdms"}, "TDSm", 0, NULL, FOREIGN_BINARY},
    {"molecular trajectory", {".trr", ".xtc", ".dcd"}, NULL, 0, NULL, FOREIGN_BINARY},
    {"SEG-Y", {".sgy", ".segy"}, "\xc3@\xf1@", 0, NULL, FOREIGN_BINARY}, /* "C 1 " in EBCDIC */
    {"Ogg", {".ogg", ".oga", ".opus"}, "OggS~", 0, NULL, FOREIGN_BINARY},
    {"FLAC", {".flac"}, "fLaC", 0, NULL, FOREIGN_BINARY},
    {"RIFF", {".wav", ".avi", ".webp"}, "RIFF", 0, NULL, FOREIGN_BINARY},
    {"Sun audio", {".au"}, ".snd~~", 0, NULL, FOREIGN_BINARY},
    {"pcap", {".pcap"}, "\xd4\xc3\xb2\xa1", 0, NULL, FOREIGN_BINARY},
    {"pcap", {NULL}, "\xa1\xb2\xc3\xd4", 0, NULL, FOREIGN_BINARY},
    {"pcap", {NULL}, "\x4d\x3c\xb2\xa1", 0, NULL, FOREIGN_BINARY},
    {"pcap", {NULL}, "\xa1\xb2\x3c\x4d", 0, NULL, FOREIGN_BINARY},
    {"pcap", {".pcapng"}, "\n\r\r\n????\x4d\x3c\x2b\x1a", 0, NULL, FOREIGN_BINARY},
    {"ar", {NULL}, "!<arch>\n", 0, "ar x", FOREIGN_BINARY},
    {"wasm", {".wasm"}, "~asm\1~~~", 0, NULL, FOREIGN_BINARY},
    {"ELF", {NULL}, "\177ELF", 0, NULL, FOREIGN_BINARY},
};
static const size_t foreign_count = sizeof foreigners / sizeof foreigners[0];

bool foreign_begins_so(const struct foreign *foreign, const unsigned char *head, size_t bytes)
{
    const size_t length = foreign->magic ? strlen(foreign->magic) : SIZE_MAX;
    if (bytes < foreign->magic_offset || bytes - foreign->magic_offset < length)
        return false;
    for (size_t i = 0; i < length; i++)
        if (foreign->magic[i] != '?' &&
            (unsigned char)(foreign->magic[i] == '~' ? 0 : foreign->magic[i]) !=
                head[foreign->magic_offset + i])
            return false;
    return true;
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
