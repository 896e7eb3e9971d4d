// Package schema turns the parameters a tool declares, however they were written, into what model APIs accept and calls are checked against.
//
// One declaration becomes one immutable [Compiled] value in three steps, each on a copy of the step before:
//
//	declared ──mend──► own ──canonical──► parameters ──dialect──► definition for one API
//	                    └──► node tree (what calls are validated against)
//
// Mending only repairs what no JSON Schema 2020-12 reader would take (null keywords, draft-4 booleans, bare type names); it never changes which
// calls are right. The later steps may say less than the tool's own schema does, so calls are checked against the own schema alone.
package schema
