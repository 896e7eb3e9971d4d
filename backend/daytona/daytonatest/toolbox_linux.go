package daytonatest

import (
	"encoding/json"
	"io"
	"log"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

var quiet = log.New(io.Discard, "", 0)

// toolbox hands a request on to the service within a sandbox («Sandboxes»: the toolbox proxy; using it is activity).
func (s *Server) toolbox(w http.ResponseWriter, r *http.Request) {
	if !s.authorized(w, r) {
		return
	}
	id, below, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/toolbox/"), "/")
	s.mu.Lock()
	i := slices.IndexFunc(s.boxes, func(b *Sandbox) bool { return b.ID == id })
	if i < 0 {
		s.mu.Unlock()
		Refuse(w, r, http.StatusNotFound, "Not Found", "Sandbox with ID or name "+id+" not found")
		return
	}
	b := s.boxes[i]
	if b.State != "started" {
		s.mu.Unlock()
		answer(w, http.StatusBadRequest, map[string]any{"statusCode": 400, "code": "BAD_REQUEST", "timestamp": time.Now(), "path": r.URL.Path, "method": r.Method,
			"message": "bad request: failed to resolve container IP after 3 attempts: no IP address found. Is the Sandbox started?"})
		return
	}
	b.Active = s.now()
	proxy := b.machine.proxy
	s.mu.Unlock()
	r.URL.Path = "/" + below
	proxy.ServeHTTP(w, r)
}

// service is the toolbox within a sandbox.
type service struct {
	mu       sync.Mutex
	sessions map[string]*session
	ptys     map[string]*pty
}

// serveToolbox serves it on the descriptor 3.
func serveToolbox() error {
	l, err := net.FileListener(os.NewFile(3, "listener"))
	if err != nil {
		return err
	}
	s := &service{sessions: map[string]*session{}, ptys: map[string]*pty{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /process/session", s.createSession)
	mux.HandleFunc("DELETE /process/session/{session}", s.deleteSession)
	mux.HandleFunc("POST /process/session/{session}/exec", s.exec)
	mux.HandleFunc("GET /process/session/{session}/command/{command}", s.command)
	mux.HandleFunc("POST /process/session/{session}/command/{command}/input", s.input)
	mux.HandleFunc("GET /process/session/{session}/command/{command}/logs", s.logs)
	mux.HandleFunc("POST /process/pty", s.createPTY)
	mux.HandleFunc("GET /process/pty/{pty}/connect", s.connectPTY)
	mux.HandleFunc("POST /files/bulk-upload", upload)
	server := &http.Server{Handler: mux, ErrorLog: quiet} //nolint:gosec // of a test
	return server.Serve(l)
}

// problem answers with an error, in the form of the toolbox («toolbox»: ErrorResponse).
func problem(w http.ResponseWriter, r *http.Request, status int, code, message string) {
	answer(w, status, map[string]any{"statusCode": status, "message": message, "code": code, "timestamp": time.Now(), "path": r.URL.Path, "method": r.Method})
}

// body reads JSON, or says that there is none.
func body(w http.ResponseWriter, r *http.Request, into any) bool {
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		problem(w, r, http.StatusBadRequest, "INVALID_REQUEST_BODY", "invalid request body: "+err.Error())
		return false
	}
	return true
}

// upload takes files[N].path and files[N].file («toolbox»: bulk-upload). They have the mode 0644 afterwards.
func upload(w http.ResponseWriter, r *http.Request) {
	parts, err := r.MultipartReader()
	if err != nil {
		answer(w, http.StatusBadRequest, map[string]any{"errors": []string{"invalid multipart form"}})
		return
	}
	to := map[string]string{}
	var errs []string
	var files []map[string]any
	for {
		p, err := parts.NextPart()
		if err != nil {
			if err != io.EOF { //nolint:errorlint // as it comes
				errs = append(errs, "reading part: "+err.Error())
			}
			break
		}
		number, kind, _ := strings.Cut(strings.TrimPrefix(p.FormName(), "files["), "]")
		switch kind {
		case ".path":
			b, _ := io.ReadAll(p)
			to[number] = strings.TrimSpace(string(b))
		case ".file":
			n, err := take(p, to[number])
			if err != nil {
				errs = append(errs, to[number]+": "+err.Error())
				continue
			}
			files = append(files, map[string]any{"path": to[number], "bytes": n})
		}
	}
	if len(errs) > 0 {
		answer(w, http.StatusBadRequest, map[string]any{"errors": errs, "files": files})
		return
	}
	answer(w, http.StatusOK, map[string]any{"files": files})
}

func take(p *multipart.Part, to string) (int64, error) {
	dir := filepath.Dir(to)
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // as the toolbox does
		return 0, err
	}
	f, err := os.CreateTemp(dir, ".daytona-upload-*")
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(f, p)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		_ = os.Chmod(f.Name(), 0o644) //nolint:gosec // as the toolbox does
		err = os.Rename(f.Name(), to)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return n, err
}
