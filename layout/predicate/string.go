package predicate

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/shoaldb/shoal/layout/column"
)

var opText = [...]string{Eq: "=", NullSafeEq: "<=>", Ne: "<>", Lt: "<", Le: "<=", Gt: ">", Ge: ">="}

// String returns the predicate as an SQL condition, for people to read.
func (p *Predicate) String() string {
	var sb strings.Builder
	p.write(&sb, false)
	return sb.String()
}

// write writes p, in parentheses when it is an operand and has operands itself.
func (p *Predicate) write(sb *strings.Builder, operand bool) {
	if p == nil {
		sb.WriteString("TRUE")
		return
	}
	switch p.Op {
	case And, Or:
		p.writeList(sb, operand)
		return
	case Not:
		if len(p.Args) == 1 && p.Args[0] != nil {
			switch a := p.Args[0]; a.Op {
			case IsNull, In, Prefix:
				a.writeLeaf(sb, true)
				return
			}
		}
		sb.WriteString("NOT ")
		for _, a := range p.Args {
			sb.WriteByte('(')
			a.write(sb, false)
			sb.WriteByte(')')
		}
		return
	}
	p.writeLeaf(sb, false)
}

func (p *Predicate) writeList(sb *strings.Builder, operand bool) {
	word, empty := " AND ", "TRUE"
	if p.Op == Or {
		word, empty = " OR ", "FALSE"
	}
	switch len(p.Args) {
	case 0:
		sb.WriteString(empty)
		return
	case 1:
		p.Args[0].write(sb, operand)
		return
	}
	if operand {
		sb.WriteByte('(')
	}
	for i, a := range p.Args {
		if i > 0 {
			sb.WriteString(word)
		}
		a.write(sb, true)
	}
	if operand {
		sb.WriteByte(')')
	}
}

// writeLeaf writes an operator on a column, negated when it has a word for that.
func (p *Predicate) writeLeaf(sb *strings.Builder, not bool) {
	sb.WriteString(quoteName(p.Column))
	no := ""
	if not {
		no = "NOT "
	}
	switch p.Op {
	case IsNull:
		sb.WriteString(" IS " + no + "NULL")
	case In:
		sb.WriteString(" " + no + "IN (")
		for i, v := range p.Values {
			if i > 0 {
				sb.WriteString(", ")
			}
			sb.WriteString(v.String())
		}
		sb.WriteByte(')')
	case Prefix:
		sb.WriteString(" " + no + "LIKE ")
		if len(p.Values) == 1 {
			pattern := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(string(p.Values[0].B))
			sb.WriteString(quoteText(pattern + "%"))
		}
	default:
		if int(p.Op) < len(opText) {
			sb.WriteString(" " + opText[p.Op] + " ")
		} else {
			fmt.Fprintf(sb, " operator %d ", p.Op)
		}
		for _, v := range p.Values {
			sb.WriteString(v.String())
		}
	}
}

// String returns the value as an SQL literal.
func (v Value) String() string {
	if v.Null {
		return "NULL"
	}
	switch v.Kind {
	case column.Bool:
		if v.I != 0 {
			return "TRUE"
		}
		return "FALSE"
	case column.Int32, column.Int64:
		return strconv.FormatInt(v.I, 10)
	case column.Float32:
		return strconv.FormatFloat(v.F, 'g', -1, 32)
	case column.Float64:
		return strconv.FormatFloat(v.F, 'g', -1, 64)
	case column.Decimal:
		return string(column.AppendDecimal(nil, v.D, v.Scale))
	case column.String:
		return quoteText(string(v.B))
	case column.Binary:
		return fmt.Sprintf("x'%x'", v.B)
	case column.Date:
		if v.I >= math.MinInt32 && v.I <= math.MaxInt32 {
			return "'" + string(column.AppendDate(nil, int32(v.I))) + "'"
		}
	case column.Time:
		return time.UnixMicro(v.I).UTC().Format("'15:04:05.000000'")
	case column.Timestamp, column.TimestampMilli:
		return time.UnixMicro(v.I).UTC().Format("'2006-01-02 15:04:05.000000'")
	}
	return fmt.Sprintf("%s(%d)", v.Kind, v.I)
}

func quoteText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func quoteName(s string) string {
	plain := s != ""
	for i := 0; i < len(s); i++ {
		c := s[i]
		plain = plain && (c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || i > 0 && c >= '0' && c <= '9')
	}
	if plain {
		return s
	}
	return "`" + strings.ReplaceAll(s, "`", "``") + "`"
}
