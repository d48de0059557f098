package timeline

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/twmb/avro"
	"github.com/twmb/avro/ocf"
)

// The timeline's Avro files are object container files that hold one record each. They are read
// by the schema in their own header, so fields that a release lacks or adds do no harm.

var avroMagic = []byte("Obj\x01")

// maxAvroBytes bounds the one block of such a file when unpacked. Plans of a million files stay
// below it.
const maxAvroBytes = 1 << 30

// encodeRecord makes a container of one record, not compressed. what names it in errors.
func encodeRecord(what string, schema *avro.Schema, record any) ([]byte, error) {
	var b bytes.Buffer
	w, err := ocf.NewWriter(&b, schema)
	if err == nil {
		err = w.Encode(record)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return b.Bytes(), nil
}

// decodeRecord reads the one record of a container; nil for an empty file.
func decodeRecord[T any](what string, data []byte) (*T, error) {
	if len(data) == 0 {
		return nil, nil
	}
	record := new(T)
	if err := decodeAvro(data, record); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return record, nil
}

func decodeAvro(data []byte, record any) error {
	r, err := ocf.NewReader(bytes.NewReader(data),
		// No block is longer than its file: one that claims to be is refused before memory is
		// taken for it.
		ocf.WithMaxBlockBytes(int64(len(data))), ocf.WithMaxDecompressedBlockBytes(maxAvroBytes),
		ocf.WithDecodeOpts(avro.SkipUnknown()))
	if err != nil {
		return err
	}
	defer r.Close()
	if err := r.Decode(record); errors.Is(err, io.EOF) {
		return errors.New("the file holds no record")
	} else if err != nil {
		return err
	}
	return nil
}

// Pieces of the schemas' JSON. Hudi's classes want strings and map keys marked as java.lang.String.
const avroString = `{"type":"string","avro.java.string":"String"}`

func avroArray(items string) string { return `{"type":"array","items":` + items + `}` }

func avroMap(values string) string {
	return `{"type":"map","values":` + values + `,"avro.java.string":"String"}`
}

func avroField(name, typ string) string { return fmt.Sprintf(`{"name":%q,"type":%s}`, name, typ) }

func avroFieldDefault(name, typ, def string) string {
	return fmt.Sprintf(`{"name":%q,"type":%s,"default":%s}`, name, typ, def)
}

// avroOptional is a field that may be null, and is by default.
func avroOptional(name, typ string) string {
	return avroFieldDefault(name, `["null",`+typ+`]`, "null")
}

// avroVersion is the field "version" of most records.
func avroVersion(def string) string {
	return avroFieldDefault("version", `["int","null"]`, def)
}

// avroRecord is a record inside the namespace of avroSchema.
func avroRecord(name string, fields ...string) string {
	b := []byte(fmt.Sprintf(`{"type":"record","name":%q,"fields":[`, name))
	for i, f := range fields {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, f...)
	}
	return string(append(b, `]}`...))
}

// avroSchema is the schema of a file.
func avroSchema(name string, fields ...string) *avro.Schema {
	record := avroRecord(name, fields...)
	head := fmt.Sprintf(`{"type":"record","name":%q,`, name)
	return avro.MustParse(head + `"namespace":"org.apache.hudi.avro.model",` + record[len(head):])
}
