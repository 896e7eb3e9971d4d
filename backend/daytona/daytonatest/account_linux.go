package daytonatest

import (
	"encoding/json"
	"net/http"
	"path"
	"slices"
	"strconv"
)

// create makes a sandbox («API»: createSandbox; it answers 200, and the sandbox is on its way).
func (s *Server) create(w http.ResponseWriter, r *http.Request) {
	b := &Sandbox{AutoStop: 15, AutoDelete: -1, CPU: 1, Memory: 1, Disk: 3, Target: "us"} // «Sandboxes»: what is used where nothing is said
	if err := json.NewDecoder(r.Body).Decode(b); err != nil {
		Refuse(w, r, http.StatusBadRequest, "Bad Request", err.Error())
		return
	}
	running := 0
	for _, o := range s.boxes {
		if o.State == "started" || o.State == "creating" {
			running++
		}
	}
	switch {
	case b.Snapshot != "" && r.ContentLength > 0 && b.CPU > 1:
		Refuse(w, r, http.StatusBadRequest, "Bad Request", "Cannot specify Sandbox resources when using a snapshot")
	case slices.ContainsFunc(s.boxes, func(o *Sandbox) bool { return o.Name == b.Name }):
		Refuse(w, r, http.StatusConflict, "Conflict", "Sandbox with name "+b.Name+" already exists")
	case s.Quota > 0 && running >= s.Quota:
		Refuse(w, r, http.StatusForbidden, "Forbidden", "Total CPU quota exceeded. Maximum allowed: "+strconv.Itoa(s.Quota))
	case b.Disk > 10:
		Refuse(w, r, http.StatusForbidden, "Forbidden", "Disk request "+strconv.Itoa(b.Disk)+"GB exceeds maximum allowed per sandbox (10GB)")
	default:
		b.ID, b.Org, b.Created, b.Active, b.looks, b.Desired = uuid(), "org", s.now(), s.now(), s.Slow, "started"
		if b.Name == "" {
			b.Name = b.ID
		}
		b.State = "creating"
		if b.Build != nil {
			b.State = "pending_build"
		}
		var err error
		if b.machine, err = newMachine(path.Join(s.dir, b.ID[:8])); err != nil {
			Refuse(w, r, http.StatusInternalServerError, "Internal Server Error", err.Error())
			return
		}
		s.boxes = append(s.boxes, b)
		s.made++
		if !s.NoURL {
			b.Toolbox = s.http.URL + "/toolbox"
		}
		answer(w, http.StatusOK, b)
	}
}

// list gives a page of sandboxes («API»: listSandboxes: labels as JSON, limit up to 100, a cursor for the next page).
func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	limit, err := strconv.Atoi(q.Get("limit"))
	if err != nil || limit < 1 || limit > 100 {
		Refuse(w, r, http.StatusBadRequest, "Bad Request", "limit must not be greater than 100")
		return
	}
	if s.Pieces > 0 {
		limit = min(limit, s.Pieces)
	}
	want := map[string]string{}
	_ = json.Unmarshal([]byte(q.Get("labels")), &want)
	from, _ := strconv.Atoi(q.Get("cursor"))
	items, next := []*Sandbox{}, any(nil)
	for i, b := range s.boxes {
		matches := i >= from
		for k, v := range want {
			matches = matches && b.Labels[k] == v
		}
		if matches && len(items) == limit {
			next = strconv.Itoa(i)
			break
		}
		if matches {
			items = append(items, b)
		}
	}
	answer(w, http.StatusOK, map[string]any{"items": items, "nextCursor": next})
}

// one does something with one sandbox.
func (s *Server) one(w http.ResponseWriter, r *http.Request, b *Sandbox, what string) {
	switch what {
	case "GET":
		s.proceed(b)
		answer(w, http.StatusOK, b)
	case "DELETE": // «API»: deleteSandbox answers with the sandbox, on its way out
		s.drop(b.ID)
		b.State, b.Desired = "destroying", "destroyed"
		answer(w, http.StatusOK, b)
	case "POST/start":
		if b.State != "stopped" && b.State != "archived" {
			Refuse(w, r, http.StatusBadRequest, "Bad Request", "Sandbox is not in valid state")
			return
		}
		b.State, b.Desired, b.looks = "starting", "started", s.Slow
		answer(w, http.StatusOK, b)
	case "POST/stop":
		if b.State != "started" {
			Refuse(w, r, http.StatusBadRequest, "Bad Request", "Sandbox is not started")
			return
		}
		b.halt(s.now())
		if b.AutoDelete == 0 { // «Sandboxes»: an ephemeral sandbox is deleted once it stops
			s.drop(b.ID)
		}
		answer(w, http.StatusOK, b)
	case "POST/last-activity":
		b.Active = s.now()
		w.WriteHeader(http.StatusCreated)
	case "GET/toolbox-proxy-url":
		answer(w, http.StatusOK, map[string]string{"url": s.http.URL + "/toolbox"})
	default:
		Refuse(w, r, http.StatusNotFound, "Not Found", "Cannot "+r.Method+" "+r.URL.Path)
	}
}
