//go:build modal

package modal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	sdk "github.com/modal-labs/modal-client/go"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/cloud"
)

// keyPrefix begins the keys of snapshots of one's own account.
const keyPrefix = "direct:"

// snapshotTime bounds taking a snapshot; it is the client's own default.
const snapshotTime = 55 * time.Second

// snapshots are the references to what the tasks of a HERMES_HOME have left.
func snapshots(home string) *cloud.Snapshots {
	return cloud.OpenSnapshots(home, "modal_snapshots.json")
}

// left tells people of them.
func left(home string) []string {
	refs, err := snapshots(home).All()
	if err != nil {
		return []string{err.Error()}
	}
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(refs)) {
		lines = append(lines, fmt.Sprintf("the files of task %s are kept as the image %s, which costs what its storage does", strings.TrimPrefix(key, keyPrefix), refs[key]))
	}
	return lines
}

// made stands for the image that sandboxes of this task are made from; nothing stands for the default.
func (s *service) made() string {
	if s.image == defaultImage {
		return ""
	}
	sum := sha256.Sum256([]byte(s.image))
	return hex.EncodeToString(sum[:4])
}

// key is under what the files of this task are recorded. What was made from another image has another one.
func (s *service) key() string { return filesKey(s.task, s.made()) }

func filesKey(task, made string) string {
	key := keyPrefix + task
	if made != "" {
		key += "@" + made
	}
	return key
}

// End ends a sandbox. Of one that is kept there is a snapshot of its files first. Nothing of it is left running, so that it is ErrGone.
func (s *service) End(ctx context.Context, r cloud.Record) error {
	if !r.Kept {
		return s.Remove(ctx, r)
	}
	sb, err := s.reach(ctx, r)
	if err != nil {
		return err
	}
	defer sb.Detach() //nolint:errcheck // it has no error
	tags, err := sb.GetTags(ctx, nil)
	if err != nil {
		return fmt.Errorf("ask what it was made from: %w", err)
	}
	old, err := s.keep(ctx, sb, filesKey(r.Task, tags[tagFiles]))
	switch {
	case errors.Is(err, environment.ErrGone) || err != nil && ctx.Err() != nil: // whoever comes next has another try
		return err
	case err != nil:
		s.warn(fmt.Sprintf("the files of sandbox %s can't be kept, and it is ended all the same; the task has those of the time before: %v", r.Name, s.told(err)))
	}
	err = s.terminate(ctx, sb)
	if old != "" { // however that went: nothing refers to it any more
		s.forget(ctx, old)
	}
	if err != nil {
		return err
	}
	return goneError(r.Name, "its files are kept, and it was ended")
}

// keep records a snapshot of a sandbox's files, and gives the one that it replaces.
func (s *service) keep(ctx context.Context, sb *sdk.Sandbox, key string) (old string, err error) {
	image, err := sb.SnapshotFilesystem(ctx, &sdk.SandboxSnapshotFilesystemParams{Timeout: snapshotTime, TTL: sdk.NoExpiryTTL})
	if err != nil {
		if gone := s.lives(ctx, sb); errors.Is(gone, environment.ErrGone) {
			return "", gone
		}
		return "", fmt.Errorf("take a snapshot: %w", err)
	}
	if old, err = s.files.Put(ctx, key, image.ImageID); err != nil {
		s.forget(ctx, image.ImageID) // nobody would ever find it
		return "", err
	}
	if old == image.ImageID {
		old = ""
	}
	return old, nil
}

// forget deletes a snapshot that nothing refers to any more.
func (s *service) forget(ctx context.Context, image string) {
	if err := s.client.Images.Delete(ctx, image, nil); err != nil && !isMissing(err) {
		s.log.Warn("a snapshot that is of no use any more can't be deleted; it costs what its storage does", "image", image, "error", s.told(err))
	}
}

// Forget deletes the files that a task has left.
func (s *service) Forget(ctx context.Context, r cloud.Record) error {
	key := filesKey(r.Task, s.made())
	ref, err := s.files.Get(key)
	if err != nil || ref == "" {
		return err
	}
	if err := s.client.Images.Delete(ctx, ref, nil); err != nil && !isMissing(err) {
		return fmt.Errorf("delete the snapshot %s: %w", ref, s.told(err))
	}
	return s.files.Drop(ctx, key, ref)
}

// warn tells a person, and the log.
func (s *service) warn(text string) {
	s.log.Warn(text)
	if s.say != nil {
		s.say(text)
	}
}
