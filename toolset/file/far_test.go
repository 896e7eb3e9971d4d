//go:build unix

package file_test

import (
	"context"
	"io"
	"maps"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hermes-runtime/hermes/backend/ssh"
	"github.com/hermes-runtime/hermes/backend/ssh/sshtest"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/resident"
	"github.com/hermes-runtime/hermes/internal/engine/resident/residenttest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	residenttest.Done()
	os.Exit(code)
}

// The places that the tests below are done in again. Their files are this machine's, which the tests look at.
const (
	pipeTest = "TestFar_OverAPipeFilesAreAsHere"
	hostTest = "TestFar_OnAHostFilesAreAsHere"
)

func init() {
	environment.Register(environment.Backend{Name: pipeTest, Namespace: environment.NamespaceOwn, Open: func(ctx context.Context, o environment.OpenOptions) (environment.Environment, error) {
		near, there := net.Pipe()
		go func() { _ = resident.Serve(context.Background(), there, resident.ServeOptions{Environ: o.Environ()}) }() // ends with the other end
		return resident.Connect(ctx, near, environment.Info{Backend: "pipe", ID: "t", Namespace: environment.NamespaceOwn}, resident.Options{
			Settings: resident.Settings{Home: o.Getenv("HOME"), Grace: o.KillGrace}})
	}})
	backends[pipeTest] = pipeTest
	backends[hostTest] = "ssh"
	configs[hostTest] = func() any { c := server.config; return &c }
}

// server is the host of hostTest, as that was set up.
var server struct {
	config ssh.Config
}

// same are the tests that files elsewhere pass as they do here.
var same = map[string]func(t *testing.T){
	"Patch_TwoHardLinksOfOneFile_V4A3":               TestPatch_TwoHardLinksOfOneFile_V4A3,
	"Patch_DeletesAndMovesAreTakenBack_V4A5":         TestPatch_DeletesAndMovesAreTakenBack_V4A5,
	"Patch_MovesAcrossFileSystems_V4A6":              TestPatch_MovesAcrossFileSystems_V4A6,
	"Patch_ReplacesAndShowsTheDiff":                  TestPatch_ReplacesAndShowsTheDiff,
	"Patch_ArgumentsThatMeanNothing_PAT7":            TestPatch_ArgumentsThatMeanNothing_PAT7,
	"Patch_TheThirdFailureAdvisesAnotherWay_PAT8":    TestPatch_TheThirdFailureAdvisesAnotherWay_PAT8,
	"Patch_UndecodableBytesStay_ENC2":                TestPatch_UndecodableBytesStay_ENC2,
	"Patch_V4ADoesAllOrNothing_V4A5":                 TestPatch_V4ADoesAllOrNothing_V4A5,
	"Patch_V4AInvalidWritesNothing_V4A3_V4A5":        TestPatch_V4AInvalidWritesNothing_V4A3_V4A5,
	"Patch_V4AHalfWayIsTakenBack_V4A5":               TestPatch_V4AHalfWayIsTakenBack_V4A5,
	"Patch_V4AHintsAndOrder_V4A2_V4A4":               TestPatch_V4AHintsAndOrder_V4A2_V4A4,
	"Patch_EditsOfOneFileAtOnceAllTakePlace":         TestPatch_EditsOfOneFileAtOnceAllTakePlace,
	"Patch_WhatAnotherProcessChangesMeanwhileStays":  TestPatch_WhatAnotherProcessChangesMeanwhileStays,
	"Read_ShowsNumberedLines_RDF1":                   TestRead_ShowsNumberedLines_RDF1,
	"Read_PagesMeetWithoutGap_RDF2":                  TestRead_PagesMeetWithoutGap_RDF2,
	"Read_KeepsWithinItsBudget_RDF3":                 TestRead_KeepsWithinItsBudget_RDF3,
	"Read_EmptyDirectoryMissing_RDF4_RDF7_RDF8":      TestRead_EmptyDirectoryMissing_RDF4_RDF7_RDF8,
	"Read_BinaryAndImages_RDF9_ENC6":                 TestRead_BinaryAndImages_RDF9_ENC6,
	"Read_EncodingsAreShownAsText_ENC1_ENC2":         TestRead_EncodingsAreShownAsText_ENC1_ENC2,
	"Read_NotebooksAreText_RDF10":                    TestRead_NotebooksAreText_RDF10,
	"Read_ControlCharactersAreShownEscaped_RDF11":    TestRead_ControlCharactersAreShownEscaped_RDF11,
	"Read_ScriptsGetTheText_XT3_STL5":                TestRead_ScriptsGetTheText_XT3_STL5,
	"Read_RepeatsAreAnsweredOnce_STL3_STL2":          TestRead_RepeatsAreAnsweredOnce_STL3_STL2,
	"Read_GuardsHold_GRD1_GRD7":                      TestRead_GuardsHold_GRD1_GRD7,
	"Read_LargeFilesInPages_RDF5_RDF6":               TestRead_LargeFilesInPages_RDF5_RDF6,
	"RoundTrip_AnEditChangesExactlyItsBytes":         TestRoundTrip_AnEditChangesExactlyItsBytes,
	"Search_PathsWorkAsPathsOfTheOthers_FIL2":        TestSearch_PathsWorkAsPathsOfTheOthers_FIL2,
	"Search_PagesAndModes_SRC6_SRC11":                TestSearch_PagesAndModes_SRC6_SRC11,
	"Search_GuardedFilesAreNotNamed_SRC10":           TestSearch_GuardedFilesAreNotNamed_SRC10,
	"Search_FaultsAreNamed_SRC4_SRC9":                TestSearch_FaultsAreNamed_SRC4_SRC9,
	"Search_RepeatsEnd_STL4":                         TestSearch_RepeatsEnd_STL4,
	"Write_WarnsThatTheDirectoryMoved_STL1":          TestWrite_WarnsThatTheDirectoryMoved_STL1,
	"Search_AtItsTimeLimitGivesWhatItHas_SRC8":       TestSearch_AtItsTimeLimitGivesWhatItHas_SRC8,
	"Search_EndsWithItsCall_SRC8":                    TestSearch_EndsWithItsCall_SRC8,
	"Lint_ByProgramsOfThePlace_LNT1_LNT3":            TestLint_ByProgramsOfThePlace_LNT1_LNT3,
	"Lint_AProgramThatIsMissingOrBrokenIsNamed_LNT3": TestLint_AProgramThatIsMissingOrBrokenIsNamed_LNT3,
	"Write_CreatesWithParents_WRI4":                  TestWrite_CreatesWithParents_WRI4,
	"Write_KeepsTheFormOfTheFile_ENC1_ENC2_ENC3":     TestWrite_KeepsTheFormOfTheFile_ENC1_ENC2_ENC3,
	"Write_TheSameContentWritesNothing_WRI8":         TestWrite_TheSameContentWritesNothing_WRI8,
	"Write_RefusedChangesNothing_GRD":                TestWrite_RefusedChangesNothing_GRD,
	"Write_OwnAnswersAndMarksAreRefused_GRD5_RED3":   TestWrite_OwnAnswersAndMarksAreRefused_GRD5_RED3,
	"Write_WarnsOfWhatTheTaskDoesNotKnow_STL1":       TestWrite_WarnsOfWhatTheTaskDoesNotKnow_STL1,
	"Lint_OnlyNewFaultsAreTold_LNT1_LNT2":            TestLint_OnlyNewFaultsAreTold_LNT1_LNT2,
	"Write_LinksStay_WRI2_WRI3":                      TestWrite_LinksStay_WRI2_WRI3,
	"Write_OutsideOfTheWorkspaceIsSaid_FIL6":         TestWrite_OutsideOfTheWorkspaceIsSaid_FIL6,
	"Write_AFileThatCanOnlyBeWrittenIsWritten_WRF":   TestWrite_AFileThatCanOnlyBeWrittenIsWritten_WRF,
}

func TestFar_OverAPipeFilesAreAsHere(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(same)) {
		t.Run(name, same[name])
	}
}

func TestFar_OnAHostFilesAreAsHere(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "config")
	sshtest.Write(t, file, strings.Join([]string{"Host there", "HostName 127.0.0.1", "Port " + strconv.Itoa(s.Port), "User " + me.Username, "IdentityFile " + s.User.File,
		"IdentitiesOnly yes", "IdentityAgent none", "UserKnownHostsFile " + file + "-known", "GlobalKnownHostsFile none"}, "\n")+"\n")
	b, _ := environment.Lookup("ssh")
	server.config = *b.Config().(*ssh.Config)
	server.config.Host, server.config.ResidentPath, server.config.SSHConfig = "there", residenttest.Binary(t), file
	for _, name := range slices.Sorted(maps.Keys(same)) {
		if elsewhere[name] == "" {
			t.Run(name, same[name])
		}
	}
}

// elsewhere are the tests that aren't done on a host, and why.
var elsewhere = map[string]string{
	"RoundTrip_AnEditChangesExactlyItsBytes":         "hundreds of edits, which take the same way as all others",
	"Write_RefusedChangesNothing_GRD":                "sets the home directory of the place",
	"Lint_ByProgramsOfThePlace_LNT1_LNT3":            "sets the PATH of the place",
	"Lint_AProgramThatIsMissingOrBrokenIsNamed_LNT3": "sets the PATH of the place",
}

// counting is a place that counts the bytes of files that travel.
type counting struct {
	environment.Environment
	read, written *atomic.Int64
}

func (c counting) Files() environment.FS { return countingFS{c.Environment.Files(), c} }

type countingFS struct {
	environment.FS
	c counting
}

func (f countingFS) Guarded(g environment.Guard) environment.FS {
	return countingFS{f.FS.(environment.Guarder).Guarded(g), f.c}
}

func (f countingFS) Read(ctx context.Context, p environment.Path, off, n int64) (io.ReadCloser, error) {
	r, err := f.FS.Read(ctx, p, off, n)
	return counter{r, f.c.read}, err
}

func (f countingFS) Replace(ctx context.Context, p environment.Path, content io.Reader, o environment.ReplaceOptions) (environment.FileInfo, error) {
	return f.FS.Replace(ctx, p, counter{io.NopCloser(content), f.c.written}, o)
}

type counter struct {
	io.ReadCloser
	n *atomic.Int64
}

func (c counter) Read(b []byte) (int, error) {
	n, err := c.ReadCloser.Read(b)
	c.n.Add(int64(n))
	return n, err
}

func TestFar_ALargeFileTravelsNoMoreThanItMust(t *testing.T) {
	h := here(t)
	c := counting{read: &atomic.Int64{}, written: &atomic.Int64{}}
	h.around = func(e environment.Environment) environment.Environment { c.Environment = e; return c }
	const line = "0123456789 abcdefghijklmnopqrstuvwxyz\n"
	text := strings.Repeat(line, 8<<20/len(line))
	size := int64(len(text)) + 6
	p := h.put("large.txt", "first\n"+text)
	for _, row := range []struct {
		tool          string
		args          m
		read, written int64
	}{
		{"read_file", m{"path": p, "offset": 100, "limit": 10}, size, 0},
		{"patch", m{"path": p, "old_string": "first", "new_string": "FIRST"}, 2 * size, size}, // and once more, to see that nobody has changed it meanwhile
		{"write_file", m{"path": h.path("new.txt"), "content": text}, 0, size},
	} {
		c.read.Store(0)
		c.written.Store(0)
		h.do(row.tool, row.args)
		const little = 300 << 10 // the beginning, to see what it is, and the end of a page
		if r, w := c.read.Load(), c.written.Load(); r > row.read+little || w > row.written+little {
			t.Errorf("%s: %d bytes read and %d written of a file of %d", row.tool, r, w, size)
		}
	}
}
