package access

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

// Issuer is an identity provider that speaks OpenID Connect, whose access tokens
// prove who a request is from.
type Issuer struct {
	// URL is the provider's, exactly as its tokens name it in iss.
	URL string
	// ClientID and ClientSecret are those with which the provider is asked about
	// each token (RFC 7662), so that a revoked one is refused at once and tokens
	// need not be JWTs. Empty: tokens are JWTs, which are checked by the provider's
	// keys and are valid until they expire.
	ClientID, ClientSecret string

	mu            sync.Mutex
	keys          oidc.KeySet // nil until the provider has answered
	introspection string      // where it is asked about tokens
	err           error       // of the last attempt
	retry         time.Time
}

// ErrToken is the error for a token that proves nothing. Other errors are those
// of the provider.
var ErrToken = errors.New("the token is not valid")

const (
	// issuerTimeout bounds a request to the provider, and issuerPause is how long
	// it is left alone after it has failed.
	issuerTimeout = 5 * time.Second
	issuerPause   = 5 * time.Second
	// keysPause is how long the keys are not fetched again: anyone can send a token
	// with another key. One that is new is accepted that much later, at most.
	keysPause = 10 * time.Second
	// maxAccessToken bounds a token, and maxIssuerAnswer what the provider says of it,
	// and its keys, in bytes.
	maxAccessToken  = 16 << 10
	maxIssuerAnswer = 1 << 20
)

var issuerClient = &http.Client{Timeout: issuerTimeout}

// Claims returns what an access token says, if the provider issued it for this
// audience and it is valid now.
func (i *Issuer) Claims(ctx context.Context, token, audience string) (map[string]any, error) {
	if token == "" || len(token) > maxAccessToken {
		return nil, ErrToken
	}
	keys, introspection, err := i.discover()
	if err != nil {
		return nil, fmt.Errorf("the identity provider %s: %w", i.URL, err)
	}
	var claims map[string]any
	if i.ClientID != "" {
		claims, err = i.introspect(ctx, introspection, token, audience)
	} else {
		claims, err = i.verifyJWT(ctx, keys, token, audience)
	}
	if err != nil {
		return nil, err
	}
	if claims["cnf"] != nil {
		return nil, fmt.Errorf("%w: it is bound to its client's key (DPoP or mTLS), which is not supported here", ErrToken)
	}
	return claims, nil
}

// keysFetcher fetches the keys, and returns those that it has for keysPause.
type keysFetcher struct {
	mu   sync.Mutex
	keys []byte // nil for none
	at   time.Time
}

func (f *keysFetcher) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.keys == nil || time.Since(f.at) >= keysPause {
		response, err := issuerClient.Do(r)
		if err != nil {
			return nil, err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(io.LimitReader(response.Body, maxIssuerAnswer))
		if err != nil {
			return nil, err
		}
		if response.StatusCode != http.StatusOK {
			response.Body = io.NopCloser(bytes.NewReader(body))
			return response, nil
		}
		f.keys, f.at = body, time.Now()
	}
	header := http.Header{"Content-Type": {"application/json"}}
	return &http.Response{StatusCode: http.StatusOK, Header: header, Body: io.NopCloser(bytes.NewReader(f.keys)), Request: r}, nil
}

// fetchedKeys keeps the error of a provider whose keys can't be fetched, which
// the verifier makes one of the token.
type fetchedKeys struct {
	oidc.KeySet
	err error
}

func (k *fetchedKeys) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	payload, err := k.KeySet.VerifySignature(ctx, jwt)
	if cause := errors.Unwrap(err); cause != nil { // errors of tokens have none
		k.err = cause
	}
	return payload, err
}

// verifyJWT checks a token by the provider's keys.
func (i *Issuer) verifyJWT(ctx context.Context, keys oidc.KeySet, token, audience string) (claims map[string]any, err error) {
	// RFC 9068 has at+jwt, and most providers JWT or nothing. Other types are for
	// other purposes, such as logout+jwt.
	head, _, _ := strings.Cut(token, ".")
	var header struct {
		Type string `json:"typ"`
	}
	data, err := base64.RawURLEncoding.DecodeString(head)
	if err != nil || json.Unmarshal(data, &header) != nil {
		return nil, fmt.Errorf("%w: it is not a JWT", ErrToken)
	}
	kind := strings.TrimPrefix(strings.ToLower(header.Type), "application/")
	if !slices.Contains([]string{"", "jwt", "at+jwt"}, kind) {
		return nil, fmt.Errorf("%w: it is a %q, not an access token", ErrToken, kind)
	}
	fetched := &fetchedKeys{KeySet: keys}
	// Algorithms with a public key: with HS256 it could be used as the secret.
	verified, err := oidc.NewVerifier(i.URL, fetched, &oidc.Config{ClientID: audience, SupportedSigningAlgs: []string{
		oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
	}}).Verify(ctx, token)
	if fetched.err != nil {
		return nil, fmt.Errorf("the keys of the identity provider %s: %w", i.URL, fetched.err)
	}
	if err == nil {
		err = verified.Claims(&claims)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrToken, err)
	}
	if claims["typ"] == "ID" { // as Keycloak marks ID tokens
		return nil, fmt.Errorf("%w: it is an ID token", ErrToken)
	}
	return claims, nil
}

// introspect asks the provider about a token.
func (i *Issuer) introspect(ctx context.Context, endpoint, token, audience string) (claims map[string]any, err error) {
	if endpoint == "" {
		return nil, fmt.Errorf("the identity provider %s has no introspection_endpoint; leave out introspect", i.URL)
	}
	form := url.Values{"token": {token}, "token_type_hint": {"access_token"}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth(url.QueryEscape(i.ClientID), url.QueryEscape(i.ClientSecret)) // RFC 6749, section 2.3.1
	response, err := issuerClient.Do(r)
	if err != nil {
		return nil, fmt.Errorf("asking the identity provider about a token: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("asking the identity provider about a token: %s", response.Status)
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxIssuerAnswer)).Decode(&claims); err != nil {
		return nil, fmt.Errorf("asking the identity provider about a token: %w", err)
	}
	if claims["active"] != true {
		return nil, fmt.Errorf("%w: it has expired, was revoked or was not issued by the provider", ErrToken)
	}
	if exp, ok := claims["exp"].(float64); ok && time.Unix(int64(exp), 0).Before(time.Now()) {
		return nil, fmt.Errorf("%w: it has expired", ErrToken)
	}
	if iss, ok := claims["iss"]; ok && iss != i.URL {
		return nil, fmt.Errorf("%w: it is from another issuer", ErrToken)
	}
	list, _ := claims["aud"].([]any)
	if claims["aud"] != audience && !slices.Contains(list, any(audience)) {
		return nil, fmt.Errorf("%w: it is not for %s", ErrToken, audience)
	}
	return claims, nil
}

// discover reads the provider's metadata, once.
func (i *Issuer) discover() (keys oidc.KeySet, introspection string, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.keys != nil {
		return i.keys, i.introspection, nil
	}
	if time.Now().Before(i.retry) {
		return nil, "", i.err
	}
	ctx := oidc.ClientContext(context.Background(), issuerClient)
	provider, err := oidc.NewProvider(ctx, i.URL)
	var found struct {
		Keys          string `json:"jwks_uri"`
		Introspection string `json:"introspection_endpoint"`
	}
	if err == nil {
		err = provider.Claims(&found)
	}
	for _, endpoint := range []string{found.Keys, found.Introspection} {
		if err == nil && endpoint != "" && strings.HasPrefix(i.URL, "https:") && !strings.HasPrefix(endpoint, "https:") {
			err = fmt.Errorf("its metadata has %s, which is not https", endpoint)
		}
	}
	if err != nil {
		i.err, i.retry = err, time.Now().Add(issuerPause)
		return nil, "", err
	}
	ctx = oidc.ClientContext(context.Background(), &http.Client{Transport: new(keysFetcher)})
	i.keys, i.introspection = oidc.NewRemoteKeySet(ctx, found.Keys), found.Introspection
	return i.keys, i.introspection, nil
}
