package sqlproc

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/dolthub/vitess/go/vt/sqlparser"

	"github.com/shoaldb/shoal/engine"
)

// Table options of the tree that CREATE TABLE is made from, beyond the grammar's.
const (
	optPartitionBy   = "shoal_partition_by"  // comma list of columns
	optTblProperties = "shoal_tblproperties" // JSON object of strings
	optLocation      = "shoal_location"      // path of an existing table
)

// noColumns is the one column, or the key's, of the carrier statement when the text names none.
const noColumns = "shoal_no_columns"

// carrier holds the clauses of a Spark CREATE TABLE that MySQL has no words for. It travels as
// CONNECTION='…', an option that the grammar takes and no table here has.
type carrier struct {
	PartitionBy []string          `json:"partitionBy,omitempty"`
	Properties  map[string]string `json:"properties,omitempty"`
	Location    string            `json:"location,omitempty"`
	NoColumns   bool              `json:"noColumns,omitempty"`
}

func (c carrier) clause() string {
	b, err := json.Marshal(c)
	if err != nil { // strings and a bool: there is nothing that could fail
		return ""
	}
	return "CONNECTION='" + carrierMark + base64.StdEncoding.EncodeToString(b) + "'"
}

// sparkTypes are Spark's column types that MySQL lacks, or gives another meaning.
var sparkTypes = map[string]string{
	"string": "LONGTEXT", "long": "BIGINT", "short": "SMALLINT", "byte": "TINYINT", "real": "FLOAT",
	"binary": "LONGBLOB", "timestamp": "TIMESTAMP(6)", "timestamp_ltz": "TIMESTAMP(6)", "timestamp_ntz": "DATETIME(6)",
}

// commonTypes are types of both.
var commonTypes = map[string]bool{
	"int": true, "integer": true, "bigint": true, "smallint": true, "tinyint": true, "double": true, "float": true,
	"boolean": true, "date": true, "decimal": true, "dec": true, "numeric": true, "varchar": true, "char": true,
}

// create rewrites CREATE TABLE with Spark's clauses; false when the statement is another.
func (r *rewriter) create(tokens []token) bool {
	i := 1
	if r.isAt(tokens, i, "EXTERNAL") {
		i++
	}
	if !r.isAt(tokens, i, "TABLE") {
		return false
	}
	external := i == 2
	if i++; r.isAt(tokens, i, "IF") && r.isAt(tokens, i+1, "NOT") && r.isAt(tokens, i+2, "EXISTS") {
		i += 3
	}
	if i >= len(tokens) {
		return false
	}
	if _, ok := r.name(tokens[i]); !ok {
		return false
	}
	if i++; r.isAt(tokens, i, ".") {
		i += 2
	}
	w := &rewriter{text: r.text} // edits of a statement that may turn out to be another
	if external {
		w.replace(tokens[1].from, tokens[1].to, "")
	}
	hasColumns := r.isAt(tokens, i, "(")
	if hasColumns {
		end := closing(r, tokens, i)
		if end < 0 {
			return false
		}
		w.columnTypes(tokens[i+1 : end])
		i = end + 1
	}
	if !w.clauses(tokens, i, hasColumns) {
		return false
	}
	r.edits = append(r.edits, w.edits...)
	return true
}

// closing is the index of the ) of the ( at i, or -1.
func closing(r *rewriter, tokens []token, i int) int {
	depth := 0
	for ; i < len(tokens); i++ {
		switch {
		case r.is(tokens[i], "("):
			depth++
		case r.is(tokens[i], ")"):
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// columnTypes turns Spark's types in a column list into MySQL's, and quotes the names of columns
// so that words of MySQL's grammar can be names as they can in Spark.
func (r *rewriter) columnTypes(tokens []token) {
	start, depth := true, 0
	for i, t := range tokens {
		if start && i+1 < len(tokens) && tokens[i+1].kind == tokWord {
			typ := strings.ToLower(r.at(tokens[i+1]))
			mysql, spark := sparkTypes[typ]
			if (spark || commonTypes[typ]) && t.kind == tokWord {
				r.replace(t.from, t.to, quoteName(r.at(t)))
			}
			if spark && !r.isAt(tokens, i+2, "(") {
				r.replace(tokens[i+1].from, tokens[i+1].to, mysql)
			}
		}
		switch {
		case r.is(t, "("):
			depth++
		case r.is(t, ")"):
			depth--
		}
		start = depth == 0 && r.is(t, ",")
	}
}

// clauses replaces Spark's clauses after the column list by one carrier. Others stay where they
// are. It reports false when there is nothing of Spark's in the statement (USING hudi may be left
// out, as all tables are Hudi's here), another format is named, or a clause cannot be read.
func (r *rewriter) clauses(tokens []token, i int, hasColumns bool) bool {
	c := carrier{Properties: map[string]string{}}
	first := len(r.edits)
	ours, query := false, false
	begin := i
	for i < len(tokens) && !query {
		from, ok := i, true
		switch {
		case r.is(tokens[i], "USING"):
			i, ok = r.using(tokens, i+1)
			ours = true
		case r.is(tokens[i], "PARTITIONED") && r.isAt(tokens, i+1, "BY"):
			c.PartitionBy, i, ok = r.nameList(tokens, i+2)
			ours = true
		case r.is(tokens[i], "TBLPROPERTIES"), r.is(tokens[i], "OPTIONS"):
			ours = ours || r.is(tokens[i], "TBLPROPERTIES")
			i, ok = r.properties(tokens, i+1, c.Properties)
		case r.is(tokens[i], "LOCATION") && i+1 < len(tokens) && tokens[i+1].kind == tokString:
			c.Location = unquote(r.at(tokens[i+1]))
			i += 2
		case r.is(tokens[i], "AS"), r.is(tokens[i], "SELECT"), r.is(tokens[i], "WITH"), r.is(tokens[i], "("):
			query = true
			continue
		default:
			i++
			continue
		}
		if !ok {
			return false
		}
		r.replace(tokens[from].from, tokens[i-1].to, "")
	}
	if !ours {
		return false
	}
	text := ""
	if !hasColumns {
		switch {
		case query:
			text = "(PRIMARY KEY (" + noColumns + ")) "
		case c.Location != "":
			text = "(" + noColumns + " INT) "
		default:
			return false
		}
		c.NoColumns = true
		if r.edits[first].from != tokens[begin].from { // the carrier is not right behind the name
			r.edits = append(r.edits[:first], append([]edit{{tokens[begin].from, tokens[begin].from, text}}, r.edits[first:]...)...)
			first++
			text = ""
		}
	}
	r.edits[first].text = text + c.clause()
	return true
}

// using reads the format after USING; only hudi is ours.
func (r *rewriter) using(tokens []token, i int) (next int, ok bool) {
	if i >= len(tokens) {
		return i, false
	}
	from := i
	for i++; i+1 < len(tokens) && r.is(tokens[i], "."); i += 2 {
	}
	format := strings.Trim(strings.ToLower(r.text[tokens[from].from:tokens[i-1].to]), "`'\"")
	return i, format == "hudi" || format == "org.apache.hudi"
}

// nameList reads (a, b).
func (r *rewriter) nameList(tokens []token, i int) (names []string, next int, ok bool) {
	if !r.isAt(tokens, i, "(") {
		return nil, i, false
	}
	for i++; i+1 < len(tokens); i += 2 {
		name, ok := r.name(tokens[i])
		if !ok {
			return nil, i, false
		}
		names = append(names, name)
		if r.is(tokens[i+1], ")") {
			return names, i + 2, true
		}
		if !r.is(tokens[i+1], ",") {
			return nil, i, false
		}
	}
	return nil, i, false
}

// properties reads (key = value, …) into props. Keys and values may be quoted or not.
func (r *rewriter) properties(tokens []token, i int, props map[string]string) (next int, ok bool) {
	if !r.isAt(tokens, i, "(") {
		return i, false
	}
	end := closing(r, tokens, i)
	if end < 0 {
		return i, false
	}
	for i++; i < end; i++ {
		from := i
		for i < end && !r.is(tokens[i], "=") {
			i++
		}
		key, ok := r.propertyText(tokens[from:i])
		if !ok || key == "" || i == end {
			return i, false
		}
		i++
		for from = i; i < end && !r.is(tokens[i], ","); i++ {
		}
		value, ok := r.propertyText(tokens[from:i])
		if !ok {
			return i, false
		}
		props[key] = value
	}
	return end + 1, true
}

// propertyText is a key or a value: one quoted token, or the text of bare ones.
func (r *rewriter) propertyText(tokens []token) (string, bool) {
	if len(tokens) == 0 {
		return "", false
	}
	if len(tokens) == 1 && tokens[0].kind != tokWord && tokens[0].kind != tokPunct {
		return unquote(r.at(tokens[0])), true
	}
	for i, t := range tokens {
		if t.kind != tokWord && !(t.kind == tokPunct && strings.Contains(".-+/:", r.at(t))) || i > 0 && t.from != tokens[i-1].to {
			return "", false
		}
	}
	return r.text[tokens[0].from:tokens[len(tokens)-1].to], true
}

// adaptCreate turns the carrier and PARTITION BY, which the planner drops, into table options.
func adaptCreate(ddl *sqlparser.DDL) error {
	spec := ddl.TableSpec
	if spec == nil {
		return nil
	}
	kept := spec.TableOpts[:0:0]
	var c carrier
	for _, o := range spec.TableOpts {
		text, ok := strings.CutPrefix(o.Value, carrierMark)
		if !ok || !strings.EqualFold(o.Name, "CONNECTION") {
			kept = append(kept, o)
			continue
		}
		b, err := base64.StdEncoding.DecodeString(text)
		if err == nil {
			err = json.Unmarshal(b, &c)
		}
		if err != nil {
			return fmt.Errorf("%w: CONNECTION: %w", engine.ErrBadArgument, err)
		}
	}
	by, err := partitionColumns(spec.PartitionOpt)
	if err != nil {
		return err
	}
	if len(by) > 0 && len(c.PartitionBy) > 0 {
		return fmt.Errorf("%w: table %s has both PARTITIONED BY and PARTITION BY", engine.ErrBadArgument, ddl.Table.Name.String())
	}
	if len(by) == 0 {
		by = c.PartitionBy
	}
	if len(by) > 0 {
		kept = append(kept, &sqlparser.TableOption{Name: optPartitionBy, Value: strings.Join(by, ",")})
	}
	if len(c.Properties) > 0 {
		b, err := json.Marshal(c.Properties)
		if err != nil {
			return err
		}
		kept = append(kept, &sqlparser.TableOption{Name: optTblProperties, Value: string(b)})
	}
	if c.Location != "" {
		kept = append(kept, &sqlparser.TableOption{Name: optLocation, Value: c.Location})
	}
	if c.NoColumns && ddl.OptSelect != nil {
		spec.Indexes = nil
	}
	spec.TableOpts = kept
	return nil
}

// partitionColumns are the columns that PARTITION BY names. A Hudi table has one partition for
// each combination of their values, which KEY, HASH and LIST say and RANGE contradicts.
func partitionColumns(p *sqlparser.PartitionOption) ([]string, error) {
	if p == nil {
		return nil, nil
	}
	refuse := func(what string) error {
		return &engine.UnsupportedError{What: what, Why: "a partition holds the rows with the same values of its columns",
			Hint: "use PARTITION BY KEY (column, …)"}
	}
	switch {
	case strings.EqualFold(p.PartitionType, "RANGE"):
		return nil, refuse("PARTITION BY RANGE")
	case p.SubPartition != nil:
		return nil, refuse("SUBPARTITION BY")
	}
	var by []string
	for _, c := range p.ColList {
		by = append(by, c.String())
	}
	if p.Expr != nil {
		c, ok := p.Expr.(*sqlparser.ColName)
		if !ok {
			return nil, refuse("PARTITION BY " + strings.ToUpper(p.PartitionType) + " of an expression")
		}
		by = append(by, c.Name.String())
	}
	return by, nil
}
