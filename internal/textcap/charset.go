package textcap

import (
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
)

// charsetName brings the many spellings of a name together: only letters and digits count, in one case; a year, and what IANA (cs) and
// WHATWG (x-) put in front of some aliases, don't.
func charsetName(name string) string {
	name, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(name)), ":")
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, name)
	return strings.TrimLeft(strings.TrimPrefix(name, "cs"), "x")
}

// charset gives the encoding of a name that charsetName has treated, nil if there is none. Names that both WHATWG and IANA have mean what
// they do to WHATWG, which takes the Latin ones for their Windows supersets. It is code, for the indexes of x/text are large maps that
// every process would fill.
func charset(name string) encoding.Encoding {
	switch name {
	case "utf16be", "unicodefffe":
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	case "utf16le", "utf16", "unicode", "unicodefeff", "ucs2", "iso10646ucs2":
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)

	case "eucjp", "eucpkdfmtjapanese", "extendedunixcodepackedformatforjapanese":
		return japanese.EUCJP
	case "iso2022jp":
		return japanese.ISO2022JP
	case "shiftjis", "sjis", "ms932", "mskanji", "windows31j":
		return japanese.ShiftJIS
	case "euckr", "korean", "isoir149", "ksc5601", "ksc56011987", "ksc56011989", "windows949":
		return korean.EUCKR
	case "gbk", "gb2312", "gb231280", "chinese", "isoir58", "iso58gb231280", "cp936", "ms936", "windows936":
		return simplifiedchinese.GBK
	case "gb18030":
		return simplifiedchinese.GB18030
	case "hzgb2312":
		return simplifiedchinese.HZGB2312
	case "big5", "big5hkscs", "cnbig5":
		return traditionalchinese.Big5
	}
	if e := latin(name); e != nil {
		return e
	}
	return codePage(name)
}

// latin gives the alphabets that a standard or Unix has a byte for each letter of.
func latin(name string) encoding.Encoding {
	switch name {
	case "iso88591", "l1", "latin1", "isolatin1", "isoir100", "ibm819", "cp819", "ascii", "usascii", "us", "iso646us", "iso646irv", "isoir6",
		"ansix341968", "ansix341986", "ibm367", "cp367":
		return charmap.Windows1252
	case "iso88592", "l2", "latin2", "isolatin2", "isoir101":
		return charmap.ISO8859_2
	case "iso88593", "l3", "latin3", "isolatin3", "isoir109":
		return charmap.ISO8859_3
	case "iso88594", "l4", "latin4", "isolatin4", "isoir110":
		return charmap.ISO8859_4
	case "iso88595", "cyrillic", "isolatincyrillic", "isoir144":
		return charmap.ISO8859_5
	case "iso88596", "iso88596e", "iso88596i", "arabic", "isolatinarabic", "asmo708", "ecma114", "isoir127":
		return charmap.ISO8859_6
	case "iso88597", "greek", "greek8", "isolatingreek", "ecma118", "elot928", "suneugreek", "isoir126":
		return charmap.ISO8859_7
	case "iso88598", "iso88598e", "hebrew", "visual", "isolatinhebrew", "isoir138":
		return charmap.ISO8859_8
	case "iso88598i", "logical":
		return charmap.ISO8859_8I
	case "iso88599", "l5", "latin5", "isolatin5", "isoir148":
		return charmap.Windows1254
	case "iso885910", "l6", "latin6", "isolatin6", "isoir157":
		return charmap.ISO8859_10
	case "iso885911", "tis620":
		return charmap.Windows874
	case "iso885913":
		return charmap.ISO8859_13
	case "iso885914", "l8", "latin8", "isoceltic", "isoir199":
		return charmap.ISO8859_14
	case "iso885915", "l9", "latin9", "isolatin9":
		return charmap.ISO8859_15
	case "iso885916", "l10", "latin10", "isoir226":
		return charmap.ISO8859_16
	case "koi8r", "koi8", "koi":
		return charmap.KOI8R
	case "koi8u", "koi8ru":
		return charmap.KOI8U
	case "userdefined":
		return charmap.XUserDefined
	}
	return nil
}

// codePage gives the alphabets of DOS, Windows, the Macintosh and mainframes.
func codePage(name string) encoding.Encoding {
	switch name {
	case "windows874", "dos874":
		return charmap.Windows874
	case "windows1250", "cp1250":
		return charmap.Windows1250
	case "windows1251", "cp1251":
		return charmap.Windows1251
	case "windows1252", "cp1252":
		return charmap.Windows1252
	case "windows1253", "cp1253":
		return charmap.Windows1253
	case "windows1254", "cp1254":
		return charmap.Windows1254
	case "windows1255", "cp1255":
		return charmap.Windows1255
	case "windows1256", "cp1256":
		return charmap.Windows1256
	case "windows1257", "cp1257":
		return charmap.Windows1257
	case "windows1258", "cp1258":
		return charmap.Windows1258
	case "macintosh", "mac", "macroman":
		return charmap.Macintosh
	case "maccyrillic", "macukrainian":
		return charmap.MacintoshCyrillic
	case "ibm437", "cp437", "437", "pc8codepage437":
		return charmap.CodePage437
	case "ibm850", "cp850", "850", "pc850multilingual":
		return charmap.CodePage850
	case "ibm852", "cp852", "852", "pcp852":
		return charmap.CodePage852
	case "ibm855", "cp855", "855":
		return charmap.CodePage855
	case "ibm00858", "ccsid00858", "cp00858", "cp858", "pcmultilingual850euro":
		return charmap.CodePage858
	case "ibm860", "cp860", "860":
		return charmap.CodePage860
	case "ibm862", "cp862", "862", "pc862latinhebrew":
		return charmap.CodePage862
	case "ibm863", "cp863", "863":
		return charmap.CodePage863
	case "ibm865", "cp865", "865":
		return charmap.CodePage865
	case "ibm866", "cp866", "866":
		return charmap.CodePage866
	case "ibm037", "cp037", "ebcdiccpus", "ebcdiccpca", "ebcdiccpwt", "ebcdiccpnl":
		return charmap.CodePage037
	case "ibm1047":
		return charmap.CodePage1047
	case "ibm01140", "ccsid01140", "cp01140", "ebcdicus37euro":
		return charmap.CodePage1140
	}
	return nil
}
