package millrace

import (
	"fmt"
	"net/url"
	"reflect"
	"strings"
)

// longestQuery is the number of characters above which a search is sent as a body.
const longestQuery = 4000

// segment encodes a value for a path, slashes too.
func segment(value string) string {
	return strings.ReplaceAll(url.QueryEscape(value), "+", "%20")
}

// queryOf writes the fields of a struct that are not empty. A list is a parameter for each of its items.
func queryOf(params any) string {
	var pairs []string
	value := reflect.ValueOf(params)
	for i := range value.NumField() {
		name, _, _ := strings.Cut(value.Type().Field(i).Tag.Get("json"), ",")
		for _, text := range textsOf(value.Field(i)) {
			pairs = append(pairs, name+"="+url.QueryEscape(text))
		}
	}
	return strings.Join(pairs, "&")
}

func textsOf(value reflect.Value) []string {
	switch value.Kind() {
	case reflect.Slice:
		var texts []string
		for i := range value.Len() {
			texts = append(texts, value.Index(i).String())
		}
		return texts
	case reflect.Pointer:
		if value.IsNil() {
			return nil
		}
		return []string{fmt.Sprint(value.Elem().Interface())}
	default:
		if value.IsZero() {
			return nil
		}
		return []string{value.String()}
	}
}
