package engine

import (
	"maps"
	"sort"
	"strconv"
	"strings"
)

// Config resolves Hudi's configuration keys through layers; the first layer that has a key
// wins: statement options, session, table properties, server configuration. The zero Config
// has no layers. A Config is immutable.
type Config struct {
	layers []map[string]string
}

// NewConfig makes a Config from layers, the most specific first. Nil layers are skipped.
func NewConfig(layers ...map[string]string) Config {
	var c Config
	for _, l := range layers {
		if len(l) > 0 {
			c.layers = append(c.layers, l)
		}
	}
	return c
}

// Over returns the Config with one more specific layer on top.
func (c Config) Over(layer map[string]string) Config {
	if len(layer) == 0 {
		return c
	}
	return Config{layers: append([]map[string]string{layer}, c.layers...)}
}

// Lookup returns the value of the first of keys (a key and its alternatives) that is set.
// Values are trimmed; an empty value counts as set.
func (c Config) Lookup(keys ...string) (string, bool) {
	for _, l := range c.layers {
		for _, k := range keys {
			if v, ok := l[k]; ok {
				return strings.TrimSpace(v), true
			}
		}
	}
	return "", false
}

// String returns the value of a key, or def.
func (c Config) String(key, def string) string {
	if v, ok := c.Lookup(key); ok {
		return v
	}
	return def
}

// Bool returns a true/false value (any case), or def when unset.
func (c Config) Bool(key string, def bool) (bool, error) {
	v, ok := c.Lookup(key)
	if !ok || v == "" {
		return def, nil
	}
	switch strings.ToLower(v) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, &OptionError{Key: key, Value: v, Allowed: "true or false"}
}

// Int64 returns a whole number between lo and hi (inclusive), or def when unset.
func (c Config) Int64(key string, def, lo, hi int64) (int64, error) {
	v, ok := c.Lookup(key)
	if !ok || v == "" {
		return def, nil
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < lo || n > hi {
		return 0, &OptionError{Key: key, Value: v,
			Allowed: "a whole number from " + strconv.FormatInt(lo, 10) + " to " + strconv.FormatInt(hi, 10)}
	}
	return n, nil
}

// Float returns a number, or def when unset.
func (c Config) Float(key string, def, lo, hi float64) (float64, error) {
	v, ok := c.Lookup(key)
	if !ok || v == "" {
		return def, nil
	}
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || f < lo || f > hi {
		return 0, &OptionError{Key: key, Value: v, Allowed: "a number from " +
			strconv.FormatFloat(lo, 'g', -1, 64) + " to " + strconv.FormatFloat(hi, 'g', -1, 64)}
	}
	return f, nil
}

// Enum returns one of the allowed values, matched without regard to case, or def when unset.
func (c Config) Enum(key, def string, allowed ...string) (string, error) {
	v, ok := c.Lookup(key)
	if !ok || v == "" {
		return def, nil
	}
	for _, a := range allowed {
		if strings.EqualFold(a, v) {
			return a, nil
		}
	}
	return "", &OptionError{Key: key, Value: v, Allowed: "one of " + strings.Join(allowed, ", ")}
}

// List returns a comma-separated value as trimmed, non-empty pieces.
func (c Config) List(key string) []string {
	v, _ := c.Lookup(key)
	var out []string
	for _, p := range strings.Split(v, ",") {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return out
}

// Map flattens the layers into one map.
func (c Config) Map() map[string]string {
	out := map[string]string{}
	for i := len(c.layers) - 1; i >= 0; i-- {
		maps.Copy(out, c.layers[i])
	}
	return out
}

// Keys lists the set keys, sorted.
func (c Config) Keys() []string {
	m := c.Map()
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// ParseOptions parses `k1=v1,k2=v2` as Hudi's procedures take it. A comma piece that does not
// begin with a key (`hoodie.` or `shoal.` up to a `=`) belongs to the value before it, so that
// values may hold commas and equals signs. A newline separates too.
func ParseOptions(text string) (map[string]string, error) {
	out := map[string]string{}
	last := ""
	for _, piece := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '\n' }) {
		t := strings.TrimSpace(piece)
		if t == "" {
			continue
		}
		k, v, ok := strings.Cut(t, "=")
		k = strings.TrimSpace(k)
		if ok && (strings.HasPrefix(k, "hoodie.") || strings.HasPrefix(k, "shoal.")) {
			last = k
			out[k] = strings.TrimSpace(v)
			continue
		}
		if last == "" {
			return nil, &OptionError{Key: "options", Value: text, Allowed: "hoodie.key=value pairs separated by commas"}
		}
		out[last] += "," + t
	}
	return out, nil
}
