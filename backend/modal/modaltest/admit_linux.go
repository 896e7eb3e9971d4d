//go:build modal

package modaltest

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// ID and Secret are the credentials that the server takes.
const (
	ID     = "ak-0123456789abcdefABCDEF"
	Secret = "as-0123456789abcdefABCDEF"
)

const (
	everything  = "account"        // what an auth token is for; the others are for one task
	authLife    = 20 * time.Minute // «auth_token_manager.go», DefaultExpiryOffset
	defaultLife = 10 * time.Minute // of tokens for routers, whose life isn't documented
)

// claims are what a token says: «task_command_router_client.go», parseJwtExpiration, and «auth_token_manager.go» read the end.
type claims struct {
	Until  int64  `json:"exp"`
	For    string `json:"sub"`
	Number int64  `json:"jti"`
}

// token makes a JWT, which has three parts. The server is locked.
func (s *Server) token(to string, life time.Duration) string {
	s.issued++
	c, _ := json.Marshal(claims{s.clock(to).Add(life).Unix(), to, s.issued})
	b64 := base64.RawURLEncoding.EncodeToString
	said := b64([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + b64(c)
	return said + "." + b64(s.sign(said))
}

func (s *Server) sign(said string) []byte {
	h := hmac.New(sha256.New, s.key)
	_, _ = h.Write([]byte(said))
	return h.Sum(nil)
}

// valid tells whether a token counts now, and what it is for. The server is locked.
func (s *Server) valid(token string) (to string, ok bool) {
	at := strings.LastIndexByte(token, '.')
	if at < 0 {
		return "", false
	}
	signed, err := base64.RawURLEncoding.DecodeString(token[at+1:])
	if err != nil || !hmac.Equal(signed, s.sign(token[:at])) {
		return "", false
	}
	_, middle, _ := strings.Cut(token[:at], ".")
	text, err := base64.RawURLEncoding.DecodeString(middle)
	var c claims
	if err != nil || json.Unmarshal(text, &c) != nil {
		return "", false
	}
	p := Tasks
	if c.For == everything {
		p = Control
	}
	return c.For, c.Number >= s.oldest[p] && s.clock(c.For).Unix() < c.Until
}

// clock is what a token's time is told by. The one for the account keeps to that of the client, so that the clock of sandboxes can be put
// forward without it.
func (s *Server) clock(to string) time.Time {
	if to == everything {
		return time.Now()
	}
	return s.now().Add(s.skew)
}

// Expire has all tokens for a service be refused that were given until now, whatever they say of their end.
func (s *Server) Expire(p Plane) { s.mu.Lock(); defer s.mu.Unlock(); s.oldest[p] = s.issued + 1 }

// Skew sets by how much the clock that tokens for routers are told by is ahead of the client's, beside what Later does. Tokens that were
// given before keep what they say.
func (s *Server) Skew(by time.Duration) { s.mu.Lock(); defer s.mu.Unlock(); s.skew = by }

// admits checks credentials: «client.go», injectRequiredHeaders and authTokenInterceptor; «task_command_router_client.go», authContext.
func (s *Server) admits(ctx context.Context, full string, unary bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.Contains(full, "TaskCommandRouter") {
		if _, ok := s.valid(strings.TrimPrefix(first(ctx, "authorization"), "Bearer ")); !ok {
			return status.Error(codes.Unauthenticated, "JWT is expired or invalid")
		}
		return nil
	}
	if first(ctx, "x-modal-token-id") != ID || first(ctx, "x-modal-token-secret") != Secret {
		return status.Error(codes.Unauthenticated, "Token ID or secret is invalid: "+first(ctx, "x-modal-token-secret")) // what no server should say
	}
	if !unary || methodOf(full) == "AuthTokenGet" {
		return nil
	}
	if to, ok := s.valid(first(ctx, "x-modal-auth-token")); !ok || to != everything {
		return status.Error(codes.Unauthenticated, "auth token is expired or invalid")
	}
	return nil
}

func first(ctx context.Context, key string) string {
	md, _ := metadata.FromIncomingContext(ctx)
	if v := md.Get(key); len(v) > 0 {
		return v[0]
	}
	return ""
}

// AuthTokenGet gives the token that all other requests carry: «auth_token_manager.go».
func (a *api) AuthTokenGet(context.Context, *pb.AuthTokenGetRequest) (*pb.AuthTokenGetResponse, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	return pb.AuthTokenGetResponse_builder{Token: a.s.token(everything, authLife)}.Build(), nil
}

// SandboxGetCommandRouterAccess tells where programs of a sandbox are run: «task_command_router_client.go», getCommandRouterAccess.
func (a *api) SandboxGetCommandRouterAccess(_ context.Context, r *pb.SandboxGetCommandRouterAccessRequest) (*pb.SandboxGetCommandRouterAccessResponse, error) {
	jwt, url, err := a.s.access(r.GetSandboxId())
	return pb.SandboxGetCommandRouterAccessResponse_builder{Jwt: jwt, Url: url}.Build(), err
}

// TaskGetCommandRouterAccess is the same for the first version.
func (a *api) TaskGetCommandRouterAccess(_ context.Context, r *pb.TaskGetCommandRouterAccessRequest) (*pb.TaskGetCommandRouterAccessResponse, error) {
	jwt, url, err := a.s.access(r.GetTaskId())
	return pb.TaskGetCommandRouterAccessResponse_builder{Jwt: jwt, Url: url}.Build(), err
}

func (s *Server) access(id string) (jwt, url string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := s.find(id)
	if err != nil {
		return "", "", err
	}
	jwt, url = s.reach(b)
	return jwt, url, nil
}

// reach gives a token for a sandbox's router, and its address. That is of https, which isn't spoken where the control plane is on this
// machine: «task_command_router_client.go», initTaskCommandRouterClient. The server is locked.
func (s *Server) reach(b *box) (jwt, url string) {
	life := s.TokenLife
	if life == 0 {
		life = defaultLife
	}
	return s.token(b.task, life), "https://" + s.tasks.Addr().String()
}
