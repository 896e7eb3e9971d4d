// Package payload reads the programs inside commands: texts in languages other than the shell's. It reads tokens, so that strings
// and comments of the language never count as acts. It does no input or output.
package payload

import "strings"

// SQLAct is what a statement does that can't be undone.
type SQLAct string

// The acts that a scan reports.
const (
	SQLDrop     SQLAct = "drop"
	SQLTruncate SQLAct = "truncate"
	SQLDelete   SQLAct = "delete" // of every row
	SQLUpdate   SQLAct = "update" // of every row
)

// SQLFinding is one act and the statement's first words.
type SQLFinding struct {
	Act  SQLAct
	Text string
}

// maxSQLDepth bounds procedural bodies inside each other.
const maxSQLDepth = 4

// SQL lists the destructive statements of a text. A DELETE or UPDATE counts when it has no WHERE of its own, or one in which no
// column takes part.
func SQL(text string, d SQLDialect) []SQLFinding {
	return scanSQL(sqlScanner{text: text, dialect: d}, 0)
}

// SQLDialect says how a server reads strings.
type SQLDialect uint8

// The dialects.
const (
	SQLStandard  SQLDialect = iota // a backslash in a string is a character
	SQLBackslash                   // as in MySQL: it escapes the next one, # begins a comment, and " a string
	SQLBatch                       // as in SQL Server: a statement may begin on any line, and names stand in [brackets]
)

func scanSQL(s sqlScanner, depth int) []SQLFinding {
	var found []SQLFinding
	stmt := make([]sqlToken, 0, len(s.text)+1) // a statement may be all of the text
	body := 0                                  // BEGINs that are open in a CREATE
	flush := func() {
		found = append(found, judgeAll(stmt)...)
		for _, text := range executed(stmt) {
			if depth < maxSQLDepth {
				found = append(found, scanSQL(sqlScanner{text: text, dialect: s.dialect}, depth+1)...)
			}
		}
		stmt, body = stmt[:0], 0
	}
	for {
		t, ok := s.next()
		if !ok {
			flush()
			return found
		}
		first := len(stmt) == 0
		switch {
		case first && (t.word == "." || t.word == "\\"): // a command of the client, to the line's end
			s.skipTo("\n")
		case first && t.word == "USE": // MySQL's client needs no semicolon behind it
			s.skipTo(";\n")
		case first && t.word == "DELIMITER":
			s.newDelimiter()
		case t.word == ";" && (s.parens == 0 || depth == 0 && t.line) && body == 0:
			s.parens = 0
			flush()
		case t.line && (t.word == "GO" || t.word == "/") && s.alone():
			flush()
		case t.line && s.dialect == SQLBatch && !first && t.parens == 0 && body == 0 && verbs[t.word] && stmt[0].word != "CREATE":
			flush()
			stmt = append(stmt, t)
		case !first && stmt[0].word == "CREATE" && t.word == "BEGIN" && routine(stmt):
			body++
		case body > 0 && t.word == "CASE":
			body++
		case body > 0 && t.word == "END":
			body--
		case body > 0:
		case first && (t.word == "BEGIN" || t.word == "TRAN" || t.word == "TRANSACTION" || t.word == "WORK" || t.word == "THEN" || t.word == "LOOP" || t.word == "ELSE"):
		case !first && stmt[0].word != "CREATE" && (t.word == "BEGIN" || depth > 0 && (t.word == "THEN" || t.word == "LOOP" || t.word == "ELSE")):
			flush()
		default:
			stmt = append(stmt, t)
		}
	}
}

// verbs begin statements that destroy.
var verbs = map[string]bool{"DROP": true, "TRUNCATE": true, "DELETE": true, "UPDATE": true, "ALTER": true}

// routine tells whether a CREATE has a body.
func routine(stmt []sqlToken) bool {
	for _, t := range stmt[:min(len(stmt), 12)] {
		switch t.word {
		case "TRIGGER", "PROCEDURE", "FUNCTION", "EVENT", "PROC":
			return true
		}
	}
	return false
}

// executed lists the texts that a statement runs: the body of DO, the strings behind EXECUTE and its like.
func executed(stmt []sqlToken) []string {
	var texts []string
	for i, t := range stmt {
		switch {
		case t.word == "EXECUTE", t.word == "EXEC", t.word == "IMMEDIATE", t.word == "SP_EXECUTESQL", t.word == "FROM" && stmt[0].word == "PREPARE", t.word == "DO" && i == 0:
			text := ""
			for _, n := range stmt[i+1 : min(len(stmt), i+24)] {
				if n.word != "'" && n.word != "|" && n.word != "+" && n.word != "(" && n.word != "CONCAT" && n.word != "," && n.word != "FORMAT" {
					break
				}
				text += n.body
			}
			if text != "" {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// judgeAll tells what a statement does, and the statements in it: those of WITH, and what stands behind IF.
func judgeAll(stmt []sqlToken) []SQLFinding {
	if len(stmt) == 0 {
		return nil
	}
	var found []SQLFinding
	try := func(part []sqlToken) {
		if act, ok := judge(part); ok {
			found = append(found, SQLFinding{act, headline(part)})
		}
	}
	try(stmt)
	switch stmt[0].word {
	case "WITH", "EXPLAIN":
		if stmt[0].word == "EXPLAIN" && !analyzed(stmt) {
			return found
		}
		for i, n := 1, 0; i < len(stmt) && n < maxBrackets; i++ {
			if stmt[i-1].word == "(" && (stmt[i].word == "DELETE" || stmt[i].word == "UPDATE") {
				end := i + 1
				for end < len(stmt) && stmt[end].parens >= stmt[i].parens {
					end++
				}
				try(stmt[i:end])
				n++
			}
		}
	case "IF":
		for i := 1; i < len(stmt); i++ {
			if verbs[stmt[i].word] && stmt[i].parens == stmt[0].parens && !stmt[i].quoted {
				try(stmt[i:])
				break
			}
		}
	}
	return found
}

// analyzed tells whether EXPLAIN runs its statement.
func analyzed(stmt []sqlToken) bool {
	for _, t := range stmt[1:min(len(stmt), 12)] {
		switch t.word {
		case "ANALYZE", "ANALYSE":
			return true
		case "SELECT", "DELETE", "UPDATE", "INSERT", "WITH":
			return false
		}
	}
	return false
}

type sqlToken struct {
	word   string // upper case for names; the text of other tokens
	name   bool   // an identifier or keyword
	quoted bool   // a quoted identifier
	body   string // a string's
	line   bool   // first of its line
	parens int
}

type sqlScanner struct {
	text    string
	dialect SQLDialect
	at      int
	parens  int
	delim   string // what ends a statement besides the semicolon
}

// newDelimiter reads the rest of a DELIMITER line.
func (s *sqlScanner) newDelimiter() {
	from := s.at
	s.skipTo("\n")
	if s.delim = strings.TrimSpace(s.text[from:s.at]); s.delim == ";" {
		s.delim = ""
	}
}

// alone tells whether nothing else stands on the line behind the last token.
func (s *sqlScanner) alone() bool {
	rest := strings.TrimLeft(s.text[s.at:], " \t\r")
	return rest == "" || rest[0] == '\n'
}

func (s *sqlScanner) skipTo(chars string) {
	if i := strings.IndexAny(s.text[s.at:], chars); i >= 0 {
		s.at += i
		return
	}
	s.at = len(s.text)
}

// lineStart tells whether only blanks stand in front of the scanner on its line: there # begins a comment in MySQL, and elsewhere it
// may be an operator.
func (s *sqlScanner) lineStart() bool {
	before := strings.TrimRight(s.text[:s.at], " \t")
	return before == "" || before[len(before)-1] == '\n'
}

func nameByte(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// next returns the next token; comments are skipped.
func (s *sqlScanner) next() (sqlToken, bool) {
	for s.at < len(s.text) {
		rest := s.text[s.at:]
		c := rest[0]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			s.at++
		case s.delim != "" && strings.HasPrefix(rest, s.delim):
			s.at += len(s.delim)
			return sqlToken{word: ";", line: true}, true
		case strings.HasPrefix(rest, "--") && (s.dialect != SQLBackslash || len(rest) == 2 || strings.IndexByte(" \t\r\n", rest[2]) >= 0),
			c == '#' && (s.dialect == SQLBackslash || s.lineStart()):
			s.at += lineEnd(rest)
		case strings.HasPrefix(rest, "/*!"): // MySQL runs what stands in these
			s.at += 3
			for s.at < len(s.text) && s.text[s.at] >= '0' && s.text[s.at] <= '9' {
				s.at++
			}
		case strings.HasPrefix(rest, "*/"):
			s.at += 2
		case strings.HasPrefix(rest, "/*"):
			s.at += blockEnd(rest)
		default:
			return s.token(rest, c), true
		}
	}
	return sqlToken{}, false
}

func lineEnd(rest string) int {
	if i := strings.IndexByte(rest, '\n'); i >= 0 {
		return i + 1
	}
	return len(rest)
}

func blockEnd(rest string) int {
	if i := strings.Index(rest[2:], "*/"); i >= 0 {
		return i + 4
	}
	return len(rest)
}

func (s *sqlScanner) token(rest string, c byte) sqlToken {
	t := sqlToken{parens: s.parens, line: s.lineStart()}
	switch {
	case c == '\'' || c == '"' && s.dialect == SQLBackslash:
		n := quoteEnd(rest, c, s.dialect)
		s.at += n
		t.word, t.body = "'", inner(rest[:n], c)
	case (c == 'E' || c == 'e' || c == 'N' || c == 'n') && len(rest) > 1 && rest[1] == '\'':
		d := s.dialect
		if c == 'E' || c == 'e' {
			d = SQLBackslash
		}
		n := 1 + quoteEnd(rest[1:], '\'', d)
		s.at += n
		t.word, t.body = "'", inner(rest[1:n], '\'')
	case c == '[' && s.dialect == SQLBatch:
		n := strings.IndexByte(rest, ']') + 1
		if n == 0 {
			n = len(rest)
		}
		s.at += n
		t.word, t.name, t.quoted = rest[:n], true, true
	case c == '"' || c == '`':
		n := quoteEnd(rest, c, s.dialect)
		s.at += n
		t.word, t.name, t.quoted = rest[:n], true, true
	case c == '$' && dollarTag(rest) != "":
		tag := dollarTag(rest)
		end := strings.Index(rest[len(tag):], tag)
		if end < 0 {
			end = len(rest) - len(tag)
		}
		t.word, t.body = "'", rest[len(tag):len(tag)+end]
		s.at = min(len(s.text), s.at+2*len(tag)+end)
	case nameByte(c):
		n := 1
		for n < len(rest) && nameByte(rest[n]) {
			n++
		}
		s.at += n
		t.word, t.name = strings.ToUpper(rest[:n]), c < '0' || c > '9'
	default:
		s.at++
		t.word = rest[:1]
		if c == '(' {
			s.parens++
		} else if c == ')' {
			s.parens = max(0, s.parens-1)
			t.parens = s.parens
		}
	}
	return t
}

// inner is a quoted text without its quotes.
func inner(quoted string, quote byte) string {
	if len(quoted) < 2 {
		return ""
	}
	q := string(quote)
	return strings.ReplaceAll(strings.TrimSuffix(quoted[1:], q), q+q, q)
}

// quoteEnd returns the length of a quoted token; a doubled quote stays inside.
func quoteEnd(rest string, quote byte, d SQLDialect) int {
	for i := 1; i < len(rest); i++ {
		switch {
		case rest[i] == '\\' && d == SQLBackslash && quote != '`':
			i++
		case rest[i] == quote:
			if i+1 < len(rest) && rest[i+1] == quote {
				i++
				continue
			}
			return i + 1
		}
	}
	return len(rest)
}

func dollarTag(rest string) string {
	end := strings.IndexByte(rest[1:], '$')
	if end < 0 {
		return ""
	}
	tag := rest[:end+2]
	for i := 1; i < len(tag)-1; i++ {
		if !nameByte(tag[i]) || tag[i] == '$' || i == 1 && tag[i] >= '0' && tag[i] <= '9' {
			return ""
		}
	}
	return tag
}

// harmlessDrops are objects that a DROP may name without loss of stored data.
var harmlessDrops = map[string]bool{"TEMPORARY": true, "TEMP": true, "PREPARE": true}

// judge tells what a statement does.
func judge(stmt []sqlToken) (SQLAct, bool) {
	if len(stmt) == 0 {
		return "", false
	}
	if stmt = verbOf(stmt); len(stmt) == 0 {
		return "", false
	}
	switch stmt[0].word {
	case "DROP":
		return SQLDrop, len(stmt) > 1 && !harmlessDrops[stmt[1].word]
	case "ALTER":
		for i, t := range stmt[1:] {
			if t.quoted || t.parens != stmt[0].parens || i == 0 {
				continue
			}
			switch t.word {
			case "DROP":
				if !dropsRule(stmt[i+2:]) {
					return SQLDrop, true
				}
			case "DELETE", "UPDATE": // ClickHouse's mutations
				act := map[string]SQLAct{"DELETE": SQLDelete, "UPDATE": SQLUpdate}[t.word]
				return act, hasWord(stmt[i+1:], "WHERE") && !restricted(stmt[i+1:])
			}
		}
	case "TRUNCATE":
		return SQLTruncate, len(stmt) > 1 && stmt[1].word != "("
	case "MERGE":
		return SQLDelete, mergeDeletes(stmt)
	case "DELETE":
		return SQLDelete, len(stmt) > 1 && !restricted(stmt)
	case "UPDATE":
		return SQLUpdate, hasWord(stmt, "SET") && !restricted(stmt)
	}
	return "", false
}

// dropsRule tells whether ALTER … DROP takes a default or a constraint away: no data is lost.
func dropsRule(after []sqlToken) bool {
	if len(after) == 0 {
		return false
	}
	switch after[0].word {
	case "DEFAULT", "NOT", "IDENTITY", "EXPRESSION":
		return true
	}
	return false
}

// verbOf skips what may stand in front of the verb: client commands, EXPLAIN ANALYZE, WITH … AS (…).
func verbOf(stmt []sqlToken) []sqlToken {
	if stmt[0].word == "EXPLAIN" && analyzed(stmt) {
		for i, t := range stmt {
			if t.parens == stmt[0].parens && (verbs[t.word] || t.word == "WITH") {
				stmt = stmt[i:]
				break
			}
		}
	}
	if len(stmt) == 0 || stmt[0].word != "WITH" {
		return stmt
	}
	for i, t := range stmt {
		if t.parens == stmt[0].parens && !t.quoted && (t.word == "DELETE" || t.word == "UPDATE" || t.word == "SELECT" || t.word == "INSERT") {
			return stmt[i:]
		}
	}
	return nil
}

// headline returns a statement's first words, for people.
func headline(stmt []sqlToken) string {
	words := make([]string, 0, 5)
	for _, t := range stmt[:min(5, len(stmt))] {
		words = append(words, t.word)
	}
	return strings.Join(words, " ")
}
