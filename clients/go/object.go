package millrace

import (
	"encoding/json"
	"fmt"
	"regexp"
)

// Object is the JSON object that an answer was read from. Every answer has one.
type Object struct {
	raw string
}

// RawJSON returns the object as the service sent it, with the fields that this version does not know.
// It is nil for one that did not come from the service.
func (o Object) RawJSON() json.RawMessage {
	if o.raw == "" {
		return nil
	}
	return json.RawMessage(o.raw)
}

// Field returns a field by its name in JSON, also one that this version does not know. It is nil when the field
// was not sent.
func (o Object) Field(name string) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(o.raw), &fields) != nil {
		return nil
	}
	return fields[name]
}

// String returns the JSON object.
func (o Object) String() string {
	return o.raw
}

var secretInJSON = regexp.MustCompile(`"secret"\s*:\s*"[^"]*"`)

// String returns the JSON object without the secret.
func (r WebhookWithSecret) String() string {
	return secretInJSON.ReplaceAllString(r.raw, `"secret":"`+mask+`"`)
}

// MarshalJSON writes the JSON object without the secret, which logs would show.
func (r WebhookWithSecret) MarshalJSON() ([]byte, error) {
	type plain WebhookWithSecret
	masked := plain(r)
	if masked.Secret != "" {
		masked.Secret = mask
	}
	return json.Marshal(masked)
}

// Format prints the webhook without its secret, whatever the verb.
func (r WebhookWithSecret) Format(state fmt.State, _ rune) {
	_, _ = fmt.Fprint(state, r.String())
}

// Ptr returns a pointer to a value: for the numbers and booleans of parameters, which are sent when they are not nil.
func Ptr[T any](value T) *T {
	return &value
}
