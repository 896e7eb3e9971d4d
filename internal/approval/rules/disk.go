package rules

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
)

func diskRaw() Row {
	return Row{
		ID: "disk.raw", Key: "raw write to a device", Family: "disk", Floor: true,
		Matches:  "a copy, a redirect, a download or a wipe onto a storage device, by any program that writes",
		Programs: slices.Concat(slices.DeleteFunc(writing(), func(n string) bool { return slices.Contains(unraw, n) }), slices.Sorted(maps.Keys(sectorWriters()))),
		Writes:   true, Match: matchDiskRaw,
		Examples: []string{"dd if=/dev/zero of=/dev/sda", "echo x > /dev/nvme0n1", "cat img | sudo tee /dev/sdb", "cp disk.img /dev/vda",
			"shred /dev/sdc", "dd of=/dev/disk2 if=x", "cat x >> /dev/sda1", "curl -o /dev/sdb http://h/img", "gunzip -c x.gz > /dev/mmcblk0",
			"badblocks -wsv /dev/sdb",
			"dd if=x of=/dev/mapper/vg-root", "ddrescue /dev/sda /dev/sdb", "qemu-img convert -O raw a.qcow2 /dev/sdb", "dcfldd if=x of=/dev/sda",
			"dd if=/dev/urandom of=/dev/disk/by-id/x", "wipe /dev/sda", "dd if=x of=/dev/vg0/root", "pv x > /dev/sdb", "truncate -s 0 /dev/sda",
			"cp /dev/zero /dev/sd?"},
		LookAlikes: []string{"echo x > /dev/null", "dd if=/dev/sda of=backup.img", "echo hi > /dev/tty", "cat /dev/sda1 > part.img",
			"echo 'dd of=/dev/sda'", "ls > /dev/stderr", "echo x > /dev/ttyUSB0", "ln -s /dev/sda disk", "badblocks -sv /dev/sdb",
			"dd if=/dev/zero of=/dev/shm/x",
			"echo x > /dev/tcp/h/80", "echo x > /dev/kmsg", "dd if=x of=dev/sda", "touch /dev/sda"},
	}
}

func diskRows() []Row {
	return []Row{diskFormat(),
		{
			ID: "disk.copy", Key: "disk copy", Family: "disk", Remember: RememberAll, Smart: true,
			Matches:  "dd with an output file, and reading a whole device",
			Programs: []string{"dd", "dcfldd", "dc3dd", "cat", "cp", "pv", "gzip", "zstd", "xz", "ddrescue", "tee"}, Reads: true, Match: diskCopy,
			Examples: []string{"dd if=/dev/zero of=test.img bs=1M count=10", "dd if=/dev/sda of=backup.img", "sudo dd of=x.iso",
				"dd if=/dev/sda | gzip",
				"cat /dev/sda > disk.img", "cp /dev/nvme0n1 disk.img", "gzip -c < /dev/sdb > b.gz", "dcfldd if=/dev/sdb of=x",
				"ddrescue /dev/sdb x.img map"},
			LookAlikes: []string{"dd if=/dev/zero of=/dev/null count=1", "dd --help", "echo dd of=x", "add of=x", "cat /dev/null", "cp a b",
				"dd if=x bs=1 count=4",
				"head -c 16 /dev/urandom", "ls /dev/sda", "lsblk /dev/sda"},
		},
	}
}

var sectorWriters = sync.OnceValue(func() map[string][]*compiled { return compile(sectors) })

// unraw are writers that put a name, a mark or a file system's entry in the place of a device's name, and no bytes on the device.
var unraw = []string{"ln", "gln", "link", "touch", "gtouch", "git", "setfattr", "gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "lzma",
	"ssh-keygen", "unzip"}

// storage are the names of devices that hold data, below /dev.
var storage = []string{"sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "mapper/", "md", "dm-", "loop", "nbd", "zd", "sr", "ada", "da",
	"block/", "mem", "kmem", "port", "pmem", "mtd", "ram", "bcache", "rbd", "drbd", "ubi", "fd0", "fd1", "cdrom", "dvd", "sg", "dasd", "nda", "vbd",
	"zvol/"}

// wires are directories below /dev that hold no storage.
var wires = []string{"pts", "fd", "input", "snd", "usb", "bus", "char", "dri", "net", "cpu", "shm", "mqueue", "hugepages", "vfio", "serial", "v4l",
	"tcp", "udp",
	"infiniband", "dvb", "cgroup", "dma_heap", "inotify", "socket", "vboxusb", "accel", "binderfs", "nvidia-caps"}

// isDevice tells whether a place is a device of any kind.
func isDevice(t analysis.Target) bool { return t.Class == analysis.ClassDevice }

func isStorage(t analysis.Target) bool {
	rest, ok := strings.CutPrefix(t.Path, "/dev/")
	if !ok || t.Class != analysis.ClassDevice {
		return false
	}
	if dir, _, in := strings.Cut(rest, "/"); in { // a volume group, a directory of links
		return !slices.Contains(wires, dir)
	}
	return !analysis.Literal(rest[:min(1, len(rest))]) || slices.ContainsFunc(storage, func(s string) bool {
		return strings.HasPrefix(rest, s)
	})
}

func floor(hits []Hit) []Hit {
	for i := range hits {
		hits[i].Floor = true
	}
	return hits
}

// sectors are programs that write to a device by commands of its own.
var sectors = []deed{
	{names: "nvme", short: "nlsfadz", verbs: "write|write-zeroes"},
	{names: "hdparm", opts: "--write-sector --repair-sector"},
	{names: "sg_write_same sg_write_long sg_write_buffer sg_write_atomic", plain: true},
}

func matchDiskRaw(a *Act) []Hit {
	if byProgram := sectorWriters(); byProgram[a.Program] != nil {
		if !a.does(byProgram) {
			return nil
		}
		return floor(one("writes raw bytes to a device", a.each(a.Words[1:], isStorage)))
	}
	if slices.Contains(unraw, a.Program) { // only what it prints may get there
		var to []analysis.Word
		for _, r := range a.Redirects {
			if r.Write {
				to = append(to, r.Target)
			}
		}
		return floor(one("writes raw bytes to a device", a.each(to, isStorage)))
	}
	return floor(one("writes raw bytes to a device", a.wroteTo(isStorage)))
}

func (a *Act) ddOperand(name string) (analysis.Word, bool) {
	for _, w := range a.Words[min(1, len(a.Words)):] {
		if v, ok := strings.CutPrefix(w.Text, name+"="); ok {
			out := analysis.Word{Text: v, Span: w.Span, From: w.From}
			for _, alt := range w.Alts {
				if v, ok := strings.CutPrefix(alt, name+"="); ok {
					out.Alts = append(out.Alts, v)
				}
			}
			return out, true
		}
	}
	return analysis.Word{}, false
}

func diskCopy(a *Act) []Hit {
	var sources []analysis.Word
	for _, r := range a.Redirects {
		if r.Op == "<" {
			sources = append(sources, r.Target)
		}
	}
	switch a.Program {
	case "dd", "dcfldd", "dc3dd":
		if out, ok := a.ddOperand("of"); ok {
			if hits := one("overwrites a file", a.each([]analysis.Word{out}, func(t analysis.Target) bool {
				return !isStorage(t) && !strings.HasPrefix(t.Path, "/dev/")
			})); hits != nil {
				return hits
			}
		}
		if in, ok := a.ddOperand("if"); ok {
			sources = append(sources, in)
		}
	case "cat", "pv", "gzip", "zstd", "xz", "ddrescue", "cp":
		args := a.Args(analysis.Grammar{})
		n := len(args.Operands)
		if n > 1 && (a.Program == "cp" || a.Program == "ddrescue") {
			n = 1
		}
		sources = append(sources, args.Operands[:n]...)
	}
	return one("reads a whole device", a.each(sources, isStorage))
}
