package file

import (
	"bytes"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hermes-runtime/hermes/toolset/file/text"
)

// headSize is how much of a file is looked at to tell text from binary.
const headSize = 4096

// headRunes is how many characters of it count, and maxUnprintable the part of them that may be unprintable.
const (
	headRunes      = 1000
	maxUnprintable = 0.30
)

// kind is what a file is beside text.
type kind struct {
	binary bool
	image  bool
	mime   string
}

// extensions are those of binary files.
var extensions = func() map[string]string {
	m := map[string]string{}
	for mime, list := range map[string]string{
		"application/zip": "zip jar war ear apk xpi whl egg", "application/x-tar": "tar", "application/gzip": "gz tgz",
		"application/x-bzip2": "bz2 tbz2", "application/x-xz": "xz txz", "application/zstd": "zst", "application/x-7z-compressed": "7z",
		"application/vnd.rar": "rar", "application/x-iso9660-image": "iso", "application/x-archive": "a lib deb", "application/x-rpm": "rpm",
		"application/x-lz4": "lz4", "application/x-lzma": "lzma", "application/x-apple-diskimage": "dmg", "application/vnd.ms-cab-compressed": "cab",
		"image/png": "png", "image/jpeg": "jpg jpeg", "image/gif": "gif", "image/bmp": "bmp", "image/webp": "webp", "image/tiff": "tif tiff",
		"image/x-icon": "ico", "image/heic": "heic heif", "image/avif": "avif", "image/vnd.adobe.photoshop": "psd",
		"audio/mpeg": "mp3", "audio/wav": "wav", "audio/flac": "flac", "audio/ogg": "ogg oga opus", "audio/mp4": "m4a aac", "audio/x-ms-wma": "wma", "audio/midi": "mid midi",
		"video/mp4": "mp4 m4v", "video/x-matroska": "mkv", "video/webm": "webm", "video/quicktime": "mov", "video/x-msvideo": "avi",
		"video/x-ms-wmv": "wmv", "video/x-flv": "flv", "video/mpeg": "mpg mpeg",
		"application/octet-stream": "exe dll so dylib bin o msi ko elf", "application/wasm": "wasm",
		"application/msword": "doc", "application/vnd.ms-excel": "xls", "application/vnd.ms-powerpoint": "ppt",
		"application/vnd.openxmlformats-officedocument.wordprocessingml.document":   "docx",
		"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":         "xlsx",
		"application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
		"application/vnd.oasis.opendocument.text":                                   "odt", "application/vnd.oasis.opendocument.spreadsheet": "ods",
		"application/vnd.oasis.opendocument.presentation": "odp",
		"font/ttf": "ttf", "font/otf": "otf", "font/woff": "woff", "font/woff2": "woff2", "application/vnd.ms-fontobject": "eot",
		"application/vnd.sqlite3": "db sqlite sqlite3", "application/x-msaccess": "mdb accdb",
		"application/x-python-bytecode": "pyc pyo", "application/java-vm": "class", "application/x-parquet": "parquet",
		"application/pdf": "pdf",
	} {
		for _, e := range strings.Fields(list) {
			m["."+e] = mime
		}
	}
	return m
}()

// magic are beginnings that say what a file is, whatever its name.
var magic = []struct{ head, mime string }{
	{"\x89PNG\r\n\x1a\n", "image/png"}, {"\xff\xd8\xff", "image/jpeg"}, {"GIF87a", "image/gif"}, {"GIF89a", "image/gif"},
	{"II*\x00", "image/tiff"}, {"MM\x00*", "image/tiff"}, {"\x00\x00\x01\x00", "image/x-icon"},
	{"PK\x03\x04", "application/zip"}, {"PK\x05\x06", "application/zip"}, {"\x1f\x8b", "application/gzip"},
	{"\xfd7zXZ\x00", "application/x-xz"}, {"\x28\xb5\x2f\xfd", "application/zstd"}, {"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"},
	{"Rar!\x1a\x07", "application/vnd.rar"}, {"\x7fELF", "application/octet-stream"}, {"MZ\x90\x00", "application/octet-stream"},
	{"\xcf\xfa\xed\xfe", "application/octet-stream"}, {"\xca\xfe\xba\xbe", "application/octet-stream"}, {"\x00asm", "application/wasm"},
	{"SQLite format 3\x00", "application/vnd.sqlite3"}, {"%PDF-", "application/pdf"}, {"OggS\x00", "audio/ogg"}, {"fLaC\x00", "audio/flac"},
	{"ID3\x03", "audio/mpeg"}, {"ID3\x04", "audio/mpeg"}, {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/msword"},
	{"wOFF", "font/woff"}, {"wOF2", "font/woff2"},
}

// textHeads are beginnings of files that are text, whatever their name.
var textHeads = []string{"#!", "<?xml", "<svg", "<!DOCTYPE", "<html"}

// inspect tells what a file is by its name and its first bytes.
func inspect(name string, head []byte) kind {
	if m := magicOf(head); m != "" {
		if named := extensions[strings.ToLower(path.Ext(name))]; named != "" && m == "application/zip" {
			m = named // an office document is an archive
		}
		return kind{binary: true, image: strings.HasPrefix(m, "image/"), mime: m}
	}
	if len(head) == 0 || text.Detect(head) != text.UTF8 {
		return kind{}
	}
	for _, h := range textHeads {
		if bytes.HasPrefix(head, []byte(h)) {
			return kind{}
		}
	}
	if m := extensions[strings.ToLower(path.Ext(name))]; m != "" {
		return kind{binary: true, image: strings.HasPrefix(m, "image/"), mime: m}
	}
	if unprintable(head) {
		return kind{binary: true, mime: "application/octet-stream"}
	}
	return kind{}
}

func magicOf(head []byte) string {
	for _, m := range magic {
		if bytes.HasPrefix(head, []byte(m.head)) {
			return m.mime
		}
	}
	if len(head) >= 12 && string(head[:4]) == "RIFF" {
		switch string(head[8:12]) {
		case "WEBP":
			return "image/webp"
		case "WAVE":
			return "audio/wav"
		case "AVI ":
			return "video/x-msvideo"
		}
	}
	if len(head) >= 12 && string(head[4:8]) == "ftyp" {
		switch string(head[8:12]) {
		case "avif":
			return "image/avif"
		case "heic", "heix", "mif1":
			return "image/heic"
		case "qt  ":
			return "video/quicktime"
		}
		return "video/mp4"
	}
	return ""
}

// unprintable reports whether too many of the first characters can't be shown. Bytes above 0x7F that are no UTF-8 may be letters of
// an old code page, and count as shown.
func unprintable(head []byte) bool {
	bad, all := 0, 0
	for i := 0; i < len(head) && all < headRunes; {
		r, n := utf8.DecodeRune(head[i:])
		i += n
		all++
		switch {
		case r == '\t' || r == '\n' || r == '\r':
		case r == utf8.RuneError && n == 1:
			if head[i-1] < 0xA0 {
				bad++ // a control character in nearly every code page
			}
		case !unicode.IsPrint(r) && r != '\u00A0' && !unicode.Is(unicode.Zs, r) && r != '\f' && r != '\x1b':
			bad++
		}
	}
	return float64(bad) > maxUnprintable*float64(all)
}
