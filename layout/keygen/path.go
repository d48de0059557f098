package keygen

import (
	"strconv"
	"strings"

	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/predicate"
)

// escaped are the characters that Hive's path escaping replaces, beside control characters
// (docs/format.md: partition paths).
const escaped = "\"#%'*/:=?\\{[]^\x7f"

// escapePath appends a value with Hive's escaping: %XX in upper-case hex.
func escapePath(dst []byte, value string) []byte {
	const hex = "0123456789ABCDEF"
	for i := range len(value) {
		c := value[i]
		if c < 0x20 || strings.IndexByte(escaped, c) >= 0 {
			dst = append(dst, '%', hex[c>>4], hex[c&15])
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

// unescapePath undoes escapePath; a % that begins no escape stands for itself.
func unescapePath(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				out = append(out, byte(n))
				i += 2
				continue
			}
		}
		out = append(out, s[i])
	}
	return string(out)
}

// PartitionValues says which value each partition column has in all rows of a partition. It is
// false where the path does not determine that: formatted times, values with slashes or with escapes
// that the configuration does not have, types whose text is not unique.
func PartitionValues(cfg Config, s *column.Schema, path string) (map[string]predicate.Value, bool) {
	class, err := resolveClass(cfg)
	if err != nil || class == TimestampBased {
		return nil, false
	}
	if class == Nonpartitioned || len(cfg.Partition) == 0 {
		return map[string]predicate.Value{}, path == ""
	}
	segments := strings.Split(path, "/")
	if len(segments) != len(cfg.Partition) {
		return nil, false
	}
	out := make(map[string]predicate.Value, len(segments))
	for k, p := range cfg.Partition {
		name, kind, _ := strings.Cut(p, ":")
		i := s.IndexFold(name)
		if i < 0 || strings.EqualFold(kind, "TIMESTAMP") {
			return nil, false
		}
		text := segments[k]
		if cfg.HiveStyle {
			field, value, ok := strings.Cut(text, "=")
			if !ok || !strings.EqualFold(field, name) {
				return nil, false
			}
			text = value
		}
		switch plain := unescapePath(text); {
		case cfg.URLEncode:
			text = plain
		case plain != text: // Spark SQL escapes some values whatever the configuration says
			return nil, false
		}
		v, ok := parseValue(text, s.Fields[i].Type)
		if !ok {
			return nil, false
		}
		out[s.Fields[i].Name] = v
	}
	return out, true
}

// parseValue reads the text of a partition value back. The placeholder of null also stands for
// an empty string, so that a string column's is not determined by it.
func parseValue(text string, t column.Type) (predicate.Value, bool) {
	v := predicate.Value{Kind: t.Kind}
	if text == defaultPartition || text == "default" {
		v.Null = true
		return v, t.Kind != column.String && t.Kind != column.Binary && text == defaultPartition
	}
	switch t.Kind {
	case column.String:
		v.B = []byte(text)
		return v, true
	case column.Int32, column.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		v.I = n
		return v, err == nil && strconv.FormatInt(n, 10) == text
	case column.Bool:
		if text == "true" {
			v.I = 1
		}
		return v, text == "true" || text == "false"
	case column.Date:
		d, err := column.ParseDate(text)
		v.I = int64(d)
		return v, err == nil && string(column.AppendDate(nil, d)) == text
	}
	return v, false
}
