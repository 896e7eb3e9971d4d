//go:build linux || darwin

package jobs

import (
	"reflect"
	"unsafe"

	"github.com/charmbracelet/x/vt"
)

// longestSequence bounds a control string (a title, a clipboard, a picture), in bytes.
const longestSequence = 64 << 10

// bound limits what an emulator keeps where it offers no way to: it reserves 4 MiB for control strings, and remembers 10,000 rows that
// left the alternate screen, which nobody can see.
func bound(em *vt.Emulator) {
	v := reflect.ValueOf(em).Elem()
	if screens := v.FieldByName("scrs"); screens.IsValid() && screens.Kind() == reflect.Array && screens.Len() == 2 && screens.Index(1).Type() == reflect.TypeFor[vt.Screen]() {
		(*vt.Screen)(unsafe.Pointer(screens.Index(1).UnsafeAddr())).SetScrollback(nil)
	}
	if p := v.FieldByName("parser"); p.IsValid() {
		p = reflect.NewAt(p.Type(), unsafe.Pointer(p.UnsafeAddr())).Elem()
		if m := p.MethodByName("SetDataSize"); m.IsValid() {
			m.Call([]reflect.Value{reflect.ValueOf(longestSequence)})
		}
	}
}
