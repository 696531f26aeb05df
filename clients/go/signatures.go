package millrace

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// WebhookEvent is a delivery whose signature is right.
type WebhookEvent struct {
	// ID is the same at each attempt to deliver the event: store the ids that you have seen.
	ID        string
	Type      EventName
	Timestamp string
	// Data is a pointer to the record of the type, such as *Signal for EventNameFundingRound; *WebhookTestEvent of a
	// test; json.RawMessage of a type that this version does not know.
	Data any
	// RawData is the JSON of Data.
	RawData json.RawMessage
}

// WebhookSignatureError is a delivery that must not be trusted.
type WebhookSignatureError struct {
	reason string
}

// Error says which check failed. It shows no secret and no signature.
func (e *WebhookSignatureError) Error() string {
	return e.reason
}

// VerifyWebhook returns the event of a delivery that the service signed within the last five minutes, by Standard
// Webhooks. Any other delivery is a *WebhookSignatureError. Without a usable secret or a body no delivery can be checked:
// that is an error of another type.
//
// Body is the exact bytes that came, not parsed. Secrets are one "whsec_...", or several while a secret is replaced.
func VerifyWebhook(body []byte, header http.Header, secrets ...string) (*WebhookEvent, error) {
	return VerifyWebhookWithTolerance(body, header, 5*time.Minute, secrets...)
}

// VerifyWebhookWithTolerance is VerifyWebhook with another difference between the clocks.
func VerifyWebhookWithTolerance(
	body []byte, header http.Header, tolerance time.Duration, secrets ...string,
) (*WebhookEvent, error) {
	keys, err := keysOf(secrets)
	if err != nil {
		return nil, err
	}
	id, err := required(header, "webhook-id")
	if err != nil {
		return nil, err
	}
	timestamp, err := required(header, "webhook-timestamp")
	if err != nil {
		return nil, err
	}
	signatures, err := required(header, "webhook-signature")
	if err != nil {
		return nil, err
	}
	if !areDigits(timestamp, 12) {
		return nil, &WebhookSignatureError{"webhook-timestamp is not a whole number of seconds"}
	}
	sent, _ := strconv.ParseInt(timestamp, 10, 64)
	if time.Since(time.Unix(sent, 0)).Abs() > tolerance {
		return nil, &WebhookSignatureError{fmt.Sprintf("webhook-timestamp is more than %v away from now", tolerance)}
	}
	if len(body) == 0 {
		return nil, errors.New("millrace: no body: pass the bytes as they came; a framework that has read them leaves none")
	}
	signed := append([]byte(id+"."+timestamp+"."), body...)
	if err := anyFits(strings.Fields(signatures), keys, signed); err != nil {
		return nil, err
	}
	return readEvent(id, body)
}

// required returns a header by its name in any case: a map that was filled by hand may have it in lower case.
func required(header http.Header, name string) (string, error) {
	for given, values := range header {
		if strings.EqualFold(given, name) && len(values) > 0 && values[0] != "" {
			return values[0], nil
		}
	}
	return "", &WebhookSignatureError{"the delivery has no header " + name}
}

func keysOf(secrets []string) ([][]byte, error) {
	if len(secrets) == 0 {
		return nil, errors.New("millrace: the secret is empty")
	}
	var keys [][]byte
	for _, secret := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil {
			return nil, errors.New("millrace: the secret is not whsec_ and Base64")
		}
		if len(key) == 0 {
			return nil, errors.New("millrace: the secret is empty")
		}
		keys = append(keys, key)
	}
	return keys, nil
}

func anyFits(signatures []string, keys [][]byte, signed []byte) error {
	fits := false
	for _, key := range keys {
		hash := hmac.New(sha256.New, key)
		hash.Write(signed)
		wanted := "v1," + base64.StdEncoding.EncodeToString(hash.Sum(nil))
		for _, signature := range signatures {
			fits = hmac.Equal([]byte(signature), []byte(wanted)) || fits
		}
	}
	if !fits {
		return &WebhookSignatureError{"no signature of the delivery fits its body and the secret"}
	}
	return nil
}

func readEvent(id string, body []byte) (*WebhookEvent, error) {
	var sent struct {
		Type      EventName       `json:"type"`
		Timestamp string          `json:"timestamp"`
		Data      json.RawMessage `json:"data"`
	}
	if json.Unmarshal(body, &sent) != nil || sent.Type == "" || sent.Data == nil {
		return nil, &WebhookSignatureError{"the body of the delivery is not an event"}
	}
	event := &WebhookEvent{ID: id, Type: sent.Type, Timestamp: sent.Timestamp, Data: sent.Data, RawData: sent.Data}
	var test WebhookTestEvent
	if json.Unmarshal(sent.Data, &test) == nil && test.Test {
		event.Data = &test
	} else if known := newEventData(sent.Type); known != nil {
		if json.Unmarshal(sent.Data, known) != nil {
			return nil, &WebhookSignatureError{"the data of the delivery is not that of " + string(sent.Type)}
		}
		event.Data = known
	}
	return event, nil
}
